// Reads what witnesses wrote (programs/witness.c): which tasks ran, how often, and when. Evidence
// that does not come from muster itself.
//
//     auto log = WitnessLog::Read(path);
//     EXPECT_EQ(log->Check({"j1.1", "j1.2"}).ToString(), "");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::test {

struct WitnessRun {
  std::string attempt;
  std::string host;
  int64_t pid = 0;
  int64_t start_us = 0;
  // Nothing: it never ended by itself (it was killed).
  std::optional<int64_t> end_us;
  int exit_code = -1;
  bool succeeded() const { return end_us.has_value() && exit_code == 0; }
};

struct WitnessVerdict {
  std::vector<std::string> missing;      // expected, but without a successful run
  std::vector<std::string> doubled;      // more than one successful run
  std::vector<std::string> overlapping;  // two runs at the same time
  std::vector<std::string> unexpected;   // ran, but nobody expected it
  std::vector<std::string> malformed;    // lines that are no witness's
  bool ok() const;
  // "" if all is well, else each class with its tasks (the first few).
  std::string ToString() const;
};

class WitnessLog {
 public:
  // A file that is not there is an empty log: nobody has run yet.
  static Result<WitnessLog> Read(const std::string& path);
  static WitnessLog Parse(std::string_view text);

  // By task, each in the order of the starts in the file.
  const std::map<std::string, std::vector<WitnessRun>>& runs() const { return runs_; }
  size_t starts() const { return starts_; }
  size_t ends() const { return ends_; }

  // Exactly one successful run of each expected task, and none at the same time as another of the
  // same task. Of a run that never ended only its start is known, so it overlaps with what began
  // before.
  WitnessVerdict Check(const std::vector<std::string>& expected) const;

 private:
  std::map<std::string, std::vector<WitnessRun>> runs_;
  std::vector<std::string> malformed_;
  size_t starts_ = 0;
  size_t ends_ = 0;
};

}  // namespace muster::test
