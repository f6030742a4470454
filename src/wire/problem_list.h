// Collects what is wrong with a document: all of it, up to a bound, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/job_check.h"
#include "wire/doc_tree.h"

namespace muster {

// The way to a value, "tasks[3].env": a chain on the stack that is only written out for a problem.
class DocPath {
 public:
  DocPath() = default;
  DocPath Key(std::string_view key) const { return DocPath(this, key, 0); }
  DocPath Index(size_t index) const { return DocPath(this, {}, index); }
  std::string Text() const;

 private:
  DocPath(const DocPath* up, std::string_view key, size_t index)
      : up_(up), key_(key), index_(index) {}
  const DocPath* up_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
};

class ProblemList {
 public:
  static constexpr size_t kMost = 100;
  void Add(const DocPath& path, DocRef at, std::string message, std::string suggestion = "");
  void Add(SpecProblem problem);
  // Enough is known: what is costly to say need not be worked out any more.
  bool full() const { return problems_.size() >= kMost; }
  bool empty() const { return problems_.empty(); }
  // True if the value at `path`, or something inside it, has a problem already.
  bool Covers(std::string_view path) const;
  // In the order of the file; the last says how many more there were.
  std::vector<SpecProblem> Take() &&;

 private:
  std::vector<SpecProblem> problems_;
  size_t left_out_ = 0;
};

// "did you mean 'command'?", or "" if nothing known is close.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// `job.yaml:4:5: tasks[1].comand: unknown key; did you mean 'command'?`, always one line.
std::string Render(const SpecProblem& problem, std::string_view file_name);

// Where the value at `path` ("tasks[3].needs[0]") stands: the value's own place, or that of the
// closest thing around it that is there.
SpecProblem WithPlace(SpecProblem problem, DocRef root);

}  // namespace muster
