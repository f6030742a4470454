// A YAML or JSON text as a tree of scalars, lists and maps with their places in the text: what the
// readers of job files, configuration and API bodies walk. Order of keys is kept. No thread of its
// own; a DocRef is valid as long as its tree.
//
//     DocParse parsed = ParseYamlTree(text);
//     if (parsed.error) return ...;
//     parsed.tree.root().ForEachEntry([](DocRef key, DocRef value) { ... });
//
// Bounds, each an error and never a crash: kMaxDocDepth levels, kMaxDocNodes values with aliases
// expanded, kMaxDocText bytes with aliases expanded. Texts must be UTF-8 without control
// characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_check.h"

namespace muster {

inline constexpr int kMaxDocDepth = 64;
inline constexpr uint64_t kMaxDocNodes = 64'000'000;
inline constexpr uint64_t kMaxAliasNodes = 4'000'000;
inline constexpr uint64_t kMaxAliasText = 64ULL << 20;

enum class DocKind : uint8_t { kNull, kScalar, kList, kMap };

class DocRef;

class DocTree {
 public:
  // The whole text's value; kNull for an empty text.
  DocRef root() const;

 private:
  friend class DocRef;
  friend class DocBuilder;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    DocKind kind = DocKind::kNull;
    bool quoted = false;
    bool alias = false;  // first_child is the node it stands for
    int32_t line = 0;
    int32_t column = 0;
    uint32_t text_begin = 0;
    uint32_t text_size = 0;
    uint32_t first_child = kNone;  // of maps: key, value, key, value ...
    uint32_t next = kNone;
  };
  std::vector<Node> nodes_;
  std::string text_;
};

class DocRef {
 public:
  DocKind kind() const { return Target().kind; }
  bool is_null() const { return kind() == DocKind::kNull; }
  bool is_scalar() const { return kind() == DocKind::kScalar; }
  bool is_list() const { return kind() == DocKind::kList; }
  bool is_map() const { return kind() == DocKind::kMap; }
  // Written in quotes: never a number or a truth value by accident.
  bool quoted() const { return Target().quoted; }
  // Of a scalar; "" for all others.
  std::string_view text() const {
    const DocTree::Node& node = Target();
    return std::string_view(tree_->text_).substr(node.text_begin, node.text_size);
  }
  // From 1; 0 for JSON. An alias has the place where it stands, not that of its anchor.
  int line() const { return Own().line; }
  int column() const { return Own().column; }

  template <typename F>
  void ForEachItem(F&& f) const {
    if (!is_list()) return;
    for (uint32_t at = Target().first_child; at != DocTree::kNone; at = tree_->nodes_[at].next) {
      f(DocRef(tree_, at));
    }
  }
  template <typename F>
  void ForEachEntry(F&& f) const {
    if (!is_map()) return;
    for (uint32_t at = Target().first_child; at != DocTree::kNone;) {
      uint32_t value = tree_->nodes_[at].next;
      f(DocRef(tree_, at), DocRef(tree_, value));
      at = tree_->nodes_[value].next;
    }
  }
  // The value of `key`, the first of several; walks the map.
  std::optional<DocRef> Find(std::string_view key) const;
  // The i-th item from 0; walks the list.
  std::optional<DocRef> Item(size_t i) const;

 private:
  friend class DocTree;
  DocRef(const DocTree* tree, uint32_t at) : tree_(tree), at_(at) {}
  const DocTree::Node& Own() const { return tree_->nodes_[at_]; }
  const DocTree::Node& Target() const {
    const DocTree::Node& own = Own();
    return own.alias ? tree_->nodes_[own.first_child] : own;
  }
  const DocTree* tree_;
  uint32_t at_;
};

inline DocRef DocTree::root() const { return DocRef(this, 0); }

struct DocParse {
  DocTree tree;
  // What is wrong with the text itself; the tree is then only a null.
  std::optional<SpecProblem> error;
};

DocParse ParseYamlTree(std::string_view text);
// The error's message holds the byte position.
DocParse ParseJsonTree(std::string_view text);

// The first thing in `text` that no YAML may hold: a byte that is not UTF-8, a control character.
std::optional<SpecProblem> FindForbiddenByte(std::string_view text);
// Well-formed UTF-8 as Unicode 15 table 3-7 has it: no surrogates, nothing overlong.
bool IsUtf8(std::string_view text);

}  // namespace muster
