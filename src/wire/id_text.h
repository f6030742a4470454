// Ids and times as text, both ways and lossless: j12, j12.500, j12.500#2, x3, l7, and times as
// RFC 3339 with microseconds in UTC. For the words people may type beyond these ("last", ranges,
// names) see cli.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

namespace muster {

// Exactly what Render gives: no signs, no leading zeros, no spaces.
Result<JobId> ParseJobId(std::string_view text);
Result<TaskId> ParseTaskId(std::string_view text);
Result<AttemptId> ParseAttemptId(std::string_view text);
Result<ExecutorId> ParseExecutorId(std::string_view text);
Result<LaunchId> ParseLaunchId(std::string_view text);

// "2026-01-31T12:34:56.789012Z". Years before 0 and after 9999 have no such form: microseconds
// since 1970 with an 'e' before them, "e-99999999999999999".
std::string RenderRfc3339(WallTime time);
// Also takes other offsets than Z and other numbers of decimals; more than six are cut off.
Result<WallTime> ParseRfc3339(std::string_view text);

}  // namespace muster
