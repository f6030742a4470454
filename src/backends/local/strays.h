// Finding and ending what is left of a launch whose keeper was killed. Every process of a launch
// carries its cookie in the environment it was started with (/proc/<pid>/environ).
//
// What this cannot see: a process that was started with another environment *and* whose keeper and
// executor were both killed from outside; and processes of other users, unless we are root.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace muster::local {

std::vector<pid_t> FindStrays(std::string_view cookie);

// Kills until two looks in a row find none; how many were killed. kDeadlineExceeded after `limit`.
Result<uint64_t> EndStrays(std::string_view cookie, Duration limit);

}  // namespace muster::local
