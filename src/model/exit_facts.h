// What was measured and seen when a process of an attempt ended: evidence, not yet a verdict (core
// makes an EndReason of it, model/end_reason.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/units.h"

namespace muster {

// Which of our own acts, if any, came before the end.
enum class StopCause : uint8_t {
  kNone,
  kTimeLimit,
  kCancelled,
  kDraining,   // the executor leaves
};

struct ExitFacts {
  enum class How : uint8_t {
    kExited,       // code holds the exit status
    kSignalled,    // code holds the signal's number
    kNotStarted,   // code holds errno, what_failed the step: "exec /bin/foo", "chdir /x"
    kLost,         // the process is gone and nobody saw its status
  };
  How how = How::kExited;
  int32_t code = 0;
  std::string what_failed;
  StopCause stop_cause = StopCause::kNone;
  WallTime started;
  Duration wall{0};
  Duration user_cpu{0};
  Duration system_cpu{0};
  // Largest resident set of the first process and those it waited for (getrusage ru_maxrss).
  Bytes max_rss;
  // Processes that were still there when the first one had ended, and were killed.
  uint32_t left_behind = 0;
  // Bytes of output seen, and how many of them were not kept (bound reached, disk full).
  uint64_t output_bytes = 0;
  uint64_t output_dropped = 0;

  friend bool operator==(const ExitFacts&, const ExitFacts&) = default;
};

}  // namespace muster
