// Reads single values of a document, and says what is wrong with them in the words of a job file:
// numbers with units, truth values, texts, lists of texts. Numbers may stand in quotes. No
// exceptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "wire/doc_tree.h"
#include "wire/problem_list.h"

namespace muster {

class ValueReader {
 public:
  explicit ValueReader(ProblemList& problems) : problems_(problems) {}

  // Each gives nothing after it has added a problem.
  std::optional<std::string> Text(DocRef value, const DocPath& path);
  // One text, or a list of them.
  std::optional<std::vector<std::string>> Texts(DocRef value, const DocPath& path);
  std::optional<bool> Truth(DocRef value, const DocPath& path);
  std::optional<int64_t> Whole(DocRef value, const DocPath& path, int64_t least, int64_t most);
  std::optional<Bytes> Size(DocRef value, const DocPath& path);
  std::optional<Duration> Time(DocRef value, const DocPath& path);
  std::optional<MilliCpu> Cpus(DocRef value, const DocPath& path);
  // A map of names and texts; also a list of {name: A, value: b}.
  std::optional<std::vector<std::pair<std::string, std::string>>> Pairs(DocRef value,
                                                                        const DocPath& path);
  // A map of names and numbers; sorted by name.
  std::optional<std::vector<std::pair<std::string, uint64_t>>> Amounts(DocRef value,
                                                                       const DocPath& path);

  // Adds a problem for each key that stands twice. False if there was one.
  bool CheckKeys(DocRef map, const DocPath& path);
  void UnknownKey(DocRef key, const DocPath& path, const std::vector<std::string>& known);

 private:
  // The scalar's text, or nothing after a problem that names `what`.
  std::optional<std::string_view> Scalar(DocRef value, const DocPath& path, std::string_view what);
  ProblemList& problems_;
};

// What a wrong size or time was meant to be: "256MB" -> "256M", "10 min" -> "10m", "01:30:00" ->
// "1h30m"; "" if that is not clear.
std::string GuessSize(std::string_view text);
std::string GuessTime(std::string_view text);

}  // namespace muster
