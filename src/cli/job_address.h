// Ids as people type them: j12, j12.500, j12.count.7, j12.500#2, j12.1-20,30, last, last.3, x3.
//
// Pure. Names of tasks (count) are left to the controller; numbers and ranges are read here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace muster::cli {

struct JobAddress {
  // "j12" or "last".
  std::string job;
  // Behind the first dot, without the attempt: "500", "count.7", "1-20,30"; empty: the whole job.
  std::string task;
  // Behind '#'.
  std::optional<uint32_t> attempt;

  // The task part as ranges [first, last]; nothing if it is a name.
  std::optional<std::vector<std::pair<uint32_t, uint32_t>>> Ranges() const;
  // One task only: a single number or a name.
  bool IsOneTask() const;
};

// Errors show what ids look like. "12" and "12.5" are taken for j12 and j12.5.
Result<JobAddress> ParseJobAddress(std::string_view text);
Result<JobId> ParseJobNumber(const std::string& job);

}  // namespace muster::cli
