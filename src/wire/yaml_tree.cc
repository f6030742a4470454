#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "wire/doc_builder.h"
#include "wire/yaml.h"

namespace muster {
namespace {

// Thrown through yaml-cpp to stop it; the builder holds the reason.
struct Stopped {};

class Events final : public YAML::EventHandler {
 public:
  explicit Events(DocBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      Check(builder_.Fail(PlaceOf(mark), "a second document starts here",
                          "write one job into one file"));
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(builder_.Null(PlaceOf(mark), anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(builder_.Alias(PlaceOf(mark), anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    auto style = tag == "?" || tag.empty() ? DocBuilder::Style::kPlain : DocBuilder::Style::kQuoted;
    last_scalar_ = PlaceOf(mark);
    Check(builder_.Scalar(PlaceOf(mark), value, style, anchor));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    CheckTag(mark, tag);
    Check(builder_.Begin(DocKind::kList, PlaceOf(mark), anchor));
  }
  void OnSequenceEnd() override { Check(builder_.End()); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    CheckTag(mark, tag);
    Check(builder_.Begin(DocKind::kMap, PlaceOf(mark), anchor));
  }
  void OnMapEnd() override { Check(builder_.End()); }

  DocBuilder::Place last_scalar() const { return last_scalar_; }

 private:
  static DocBuilder::Place PlaceOf(const YAML::Mark& mark) {
    return {mark.line + 1, mark.column + 1};
  }
  static void Check(bool go_on) {
    if (!go_on) throw Stopped();
  }
  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.size() <= 1 || tag.starts_with("tag:yaml.org,2002:")) return;
    Check(builder_.Fail(PlaceOf(mark), fmt::format("the tag {} has no meaning here", tag),
                        "put the value in quotes if it starts with !"));
  }

  DocBuilder& builder_;
  DocBuilder::Place last_scalar_;
  int documents_ = 0;
};

std::string_view LineAt(std::string_view text, int line) {
  for (; line > 1; --line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return text.substr(text.size());
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// yaml-cpp takes the end of the text for the end of a quoted value. True if the value at `place`,
// the last one, is in quotes that are never closed.
bool IsOpenQuote(std::string_view text, DocBuilder::Place place) {
  if (place.line == 0) return false;
  std::string_view line = LineAt(text, place.line);
  std::string_view rest = text.substr(static_cast<size_t>(line.data() - text.data()));
  rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(place.column - 1)));
  // Anchor and tag stand before the value.
  while (rest.starts_with('&') || rest.starts_with('!')) {
    rest.remove_prefix(std::min(rest.size(), rest.find_first_of(" \n")));
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \n")));
  }
  if (!rest.starts_with('"') && !rest.starts_with('\'')) return false;
  char quote = rest.front();
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\' && quote == '"') {
      ++i;
    } else if (rest[i] == quote) {
      if (quote == '"' || !rest.substr(i + 1).starts_with('\'')) return false;
      ++i;
    }
  }
  return true;
}

// What usually lies behind an error of the YAML parser at this place.
std::string SuggestFix(std::string_view text, const YAML::Mark& mark, std::string_view what) {
  std::string_view line = LineAt(text, mark.line + 1);
  size_t indent = line.find_first_not_of(' ');
  if (indent != std::string_view::npos && line[indent] == '\t') {
    return "a tab cannot indent YAML; use spaces";
  }
  auto at = static_cast<size_t>(std::max(mark.column, 0));
  if (at < line.size() && line[at] == '*') {
    return "a value that starts with * needs quotes: '*.txt'";
  }
  if (at < line.size() && (line[at] == '@' || line[at] == '`' || line[at] == '%')) {
    return fmt::format("a value that starts with {} needs quotes", line[at]);
  }
  if (what.find("map value") != std::string_view::npos) {
    return "a value that holds ': ' needs quotes; keys of one map need the same indentation";
  }
  if (line.find_first_of("{[") != std::string_view::npos) {
    return "a value that starts with { or [ needs quotes";
  }
  return "check indentation and quotes around here";
}

// yaml-cpp keeps every token of a flow collection until it is closed, 200 bytes for each '['.
// Counts how deep they nest before it is asked. Only values that start with a bracket are followed,
// so shell text is not.
std::optional<SpecProblem> FindDeepBrackets(std::string_view text) {
  constexpr int kLimit = 1000;
  int line = 1;
  int depth = 0;
  bool value_start = true;
  char quote = 0;
  size_t line_begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') {
      ++line;
      line_begin = i + 1;
      value_start = depth == 0;
      continue;
    }
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (depth == 0) {
      bool opens = value_start && (c == '[' || c == '{');
      if (c != ' ') value_start = c == ':' || c == '-' || c == '?';
      if (!opens) continue;
      depth = 1;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
    if (depth > kLimit) {
      SpecProblem problem;
      problem.message = fmt::format("nested deeper than {} levels", kMaxDocDepth);
      problem.suggestion = "a job file needs four or five";
      problem.line = line;
      problem.column = static_cast<int>(i - line_begin) + 1;
      return problem;
    }
  }
  return std::nullopt;
}

// Reads from a text without a copy of it.
class TextBuffer final : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // NOLINT: only ever read from
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

DocParse ParseYamlTree(std::string_view text) {
  DocParse result;
  result.error = FindForbiddenByte(text);
  if (!result.error) result.error = FindDeepBrackets(text);
  DocBuilder builder;
  if (!result.error) {
    try {
      TextBuffer buffer(text);
      std::istream stream(&buffer);
      YAML::Parser parser(stream);
      Events events(builder);
      while (parser.HandleNextDocument(events)) {
      }
      if (IsOpenQuote(text, events.last_scalar())) {
        builder.Fail(events.last_scalar(), "the quote that opens here is never closed",
                     "close it, and indent what follows");
        throw Stopped();
      }
    } catch (const Stopped&) {
      result.error = builder.problem();
    } catch (const YAML::Exception& error) {
      SpecProblem& problem = result.error.emplace();
      problem.message = fmt::format("this is not YAML: {}", error.msg);
      if (!error.mark.is_null()) {
        problem.line = error.mark.line + 1;
        problem.column = error.mark.column + 1;
        problem.suggestion = SuggestFix(text, error.mark, error.msg);
      }
    } catch (const std::exception& error) {
      result.error.emplace().message = fmt::format("this is not YAML: {}", error.what());
    }
  }
  if (!result.error) {
    result.tree = std::move(builder).Finish();
  } else {
    result.tree = DocBuilder().Finish();
  }
  return result;
}

}  // namespace muster
