// Builds a DocTree from the events of a parser, and keeps it within its bounds.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wire/doc_tree.h"

namespace muster {

class DocBuilder {
 public:
  struct Place {
    int line = 0;
    int column = 0;
  };
  enum class Style { kPlain, kQuoted };
  // Each gives false, with problem() set, when a bound is passed or the text makes no sense; the
  // parser must then stop.
  bool Null(Place place, size_t anchor = 0);
  bool Scalar(Place place, std::string_view text, Style style, size_t anchor = 0);
  bool Begin(DocKind kind, Place place, size_t anchor = 0);
  bool End();
  bool Alias(Place place, size_t anchor);
  bool Fail(Place place, std::string message, std::string suggestion = "");

  const std::optional<SpecProblem>& problem() const { return problem_; }
  DocTree Finish() &&;

 private:
  struct Open {
    uint32_t node;
    uint32_t last_child = DocTree::kNone;
    bool expects_key = false;
    size_t anchor = 0;
    uint64_t nodes_before = 0;  // expanded sizes when it began
    uint64_t text_before = 0;
  };
  struct Anchored {
    uint32_t node;
    uint64_t nodes;
    uint64_t text;
  };
  bool Add(DocTree::Node node);

  DocTree tree_;
  std::vector<Open> open_;
  std::unordered_map<size_t, Anchored> anchors_;
  uint64_t expanded_nodes_ = 0;
  uint64_t expanded_text_ = 0;
  uint64_t alias_nodes_ = 0;
  uint64_t alias_text_ = 0;
  std::optional<SpecProblem> problem_;
};

}  // namespace muster
