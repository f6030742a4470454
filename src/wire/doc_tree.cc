#include "wire/doc_tree.h"

#include <fmt/format.h>

#include "wire/doc_builder.h"

namespace muster {
namespace {

// Length of the well-formed UTF-8 sequence at the front of `text`, 0 if there is none.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto between = [&](size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return between(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) && between(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Eight ASCII bytes at a time.
    while (text.size() >= 8) {
      uint64_t word = 0;
      text.copy(reinterpret_cast<char*>(&word), 8);
      if ((word & 0x8080808080808080ULL) != 0) break;
      text.remove_prefix(8);
    }
    if (text.empty()) break;
    size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<SpecProblem> FindForbiddenByte(std::string_view text) {
  int line = 1;
  int column = 1;
  auto problem = [&](std::string message, std::string suggestion) {
    SpecProblem found;
    found.message = std::move(message);
    found.suggestion = std::move(suggestion);
    found.line = line;
    found.column = column;
    return found;
  };
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++line;
      column = 1;
      ++i;
      continue;
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F) {
      return problem(fmt::format("the control character 0x{:02x} may not stand in this file", byte),
                     "write it in double quotes as an escape, for example \"\\e\"");
    }
    size_t length = SequenceLength(text.substr(i));
    if (length == 0) {
      return problem(
          fmt::format("the file is not UTF-8: byte 0x{:02x}", byte),
          "convert it, for example with iconv -f latin1 -t utf-8; file names that are not"
          " UTF-8 come in with each: or lines:");
    }
    i += length;
    ++column;
  }
  return std::nullopt;
}

std::optional<DocRef> DocRef::Find(std::string_view key) const {
  std::optional<DocRef> found;
  ForEachEntry([&](DocRef name, DocRef value) {
    if (!found && name.text() == key) found = value;
  });
  return found;
}

std::optional<DocRef> DocRef::Item(size_t i) const {
  if (!is_list()) return std::nullopt;
  uint32_t at = Target().first_child;
  for (; at != DocTree::kNone && i > 0; --i) at = tree_->nodes_[at].next;
  if (at == DocTree::kNone) return std::nullopt;
  return DocRef(tree_, at);
}

bool DocBuilder::Fail(Place place, std::string message, std::string suggestion) {
  if (!problem_) {
    problem_.emplace();
    problem_->message = std::move(message);
    problem_->suggestion = std::move(suggestion);
    problem_->line = place.line;
    problem_->column = place.column;
  }
  return false;
}

bool DocBuilder::Add(DocTree::Node node) {
  Place place{node.line, node.column};
  if (problem_) return false;
  if (tree_.nodes_.size() >= kMaxDocNodes) {
    return Fail(place, fmt::format("more than {} values in one file", kMaxDocNodes));
  }
  auto at = static_cast<uint32_t>(tree_.nodes_.size());
  if (!open_.empty()) {
    Open& parent = open_.back();
    bool in_map = tree_.nodes_[parent.node].kind == DocKind::kMap;
    if (in_map && parent.expects_key &&
        (node.kind == DocKind::kList || node.kind == DocKind::kMap)) {
      return Fail(place, "a key must be a word, here it is a list or a map",
                  "put the value in quotes if it starts with { or [");
    }
    parent.expects_key = in_map && !parent.expects_key;
    if (parent.last_child == DocTree::kNone) {
      tree_.nodes_[parent.node].first_child = at;
    } else {
      tree_.nodes_[parent.last_child].next = at;
    }
    parent.last_child = at;
  }
  ++expanded_nodes_;
  expanded_text_ += node.text_size;
  tree_.nodes_.push_back(node);
  return true;
}

bool DocBuilder::Null(Place place, size_t anchor) {
  DocTree::Node node;
  node.line = place.line;
  node.column = place.column;
  if (!Add(node)) return false;
  if (anchor != 0) anchors_[anchor] = {static_cast<uint32_t>(tree_.nodes_.size() - 1), 1, 0};
  return true;
}

bool DocBuilder::Scalar(Place place, std::string_view text, Style style, size_t anchor) {
  if (tree_.text_.size() + text.size() > UINT32_MAX) {
    return Fail(place, "more than 4 GiB of text in one document");
  }
  DocTree::Node node;
  node.kind = DocKind::kScalar;
  node.quoted = style == Style::kQuoted;
  node.line = place.line;
  node.column = place.column;
  node.text_begin = static_cast<uint32_t>(tree_.text_.size());
  node.text_size = static_cast<uint32_t>(text.size());
  if (!Add(node)) return false;
  tree_.text_.append(text);
  if (anchor != 0) {
    anchors_[anchor] = {static_cast<uint32_t>(tree_.nodes_.size() - 1), 1, text.size()};
  }
  return true;
}

bool DocBuilder::Begin(DocKind kind, Place place, size_t anchor) {
  if (open_.size() >= static_cast<size_t>(kMaxDocDepth)) {
    return Fail(place, fmt::format("nested deeper than {} levels", kMaxDocDepth),
                "a job file needs four or five");
  }
  Open open;
  open.node = static_cast<uint32_t>(tree_.nodes_.size());
  open.expects_key = kind == DocKind::kMap;
  open.anchor = anchor;
  open.nodes_before = expanded_nodes_;
  open.text_before = expanded_text_;
  DocTree::Node node;
  node.kind = kind;
  node.line = place.line;
  node.column = place.column;
  if (!Add(node)) return false;
  open_.push_back(open);
  return true;
}

bool DocBuilder::End() {
  if (problem_ || open_.empty()) return false;
  const Open& closed = open_.back();
  if (closed.anchor != 0) {
    anchors_[closed.anchor] = {closed.node, expanded_nodes_ - closed.nodes_before,
                               expanded_text_ - closed.text_before};
  }
  open_.pop_back();
  return true;
}

bool DocBuilder::Alias(Place place, size_t anchor) {
  auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    return Fail(place, "the alias stands inside of what it names", "an anchor cannot hold itself");
  }
  Anchored target = found->second;
  alias_nodes_ += target.nodes;
  alias_text_ += target.text;
  if (alias_nodes_ > kMaxAliasNodes || alias_text_ > kMaxAliasText) {
    return Fail(place,
                fmt::format("the aliases (*name) stand for more than {} values or {} MiB",
                            kMaxAliasNodes, kMaxAliasText >> 20),
                "use fewer aliases; keys at the job are defaults for every task");
  }
  DocTree::Node node = tree_.nodes_[target.node];
  node.alias = true;
  node.first_child = target.node;
  node.next = DocTree::kNone;
  node.line = place.line;
  node.column = place.column;
  node.text_size = 0;
  if (!Add(node)) return false;
  expanded_nodes_ += target.nodes - 1;
  expanded_text_ += target.text;
  return true;
}

DocTree DocBuilder::Finish() && {
  if (problem_) tree_ = DocTree();
  if (tree_.nodes_.empty()) tree_.nodes_.emplace_back();
  return std::move(tree_);
}

}  // namespace muster
