// What the executor, its zygote and its slot processes say to each other. All are forks of one
// program image, so plain structs are the format; one struct, and text after it, is one packet.
//
//   executor → zygote   OpenSlot + the slot's end of a new socket pair
//   zygote → executor   ZygoteReport
//   executor → slot     StartProgram + text (+ pipes) (+ memfd), StopProgram
//   slot → executor     SlotReport + what failed
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace muster {

struct OpenSlot {
  uint32_t slot;
};

struct ZygoteReport {
  enum Kind : uint32_t {
    kSlotGone,    // the slot process has ended, and nothing of its tree is left
    kForkFailed,  // no slot process could be made: error_number
  };
  Kind kind;
  uint32_t slot;
  int32_t error_number;
  uint32_t left_behind;  // processes killed after the slot process had ended
};

enum class SlotRequest : uint32_t { kStartProgram, kStopProgram };

// Followed by cwd, then each argument, then each variable, each ended by NUL: in the packet, or, if
// it is larger than kMostInlineText, in a memfd.
struct StartProgram {
  SlotRequest request = SlotRequest::kStartProgram;
  uint32_t arguments;
  uint32_t variables;
  uint32_t brings_pipes;  // 1: the first two descriptors become stdout and stderr from now on
  uint64_t run;           // numbers the runs of a slot
  uint64_t text_size;
};
constexpr uint64_t kMostInlineText = 60 << 10;

struct StopProgram {
  SlotRequest request = SlotRequest::kStopProgram;
  uint32_t unused = 0;
  uint64_t run;
  int64_t grace_us;  // 0: kill at once
};

// Followed by what_failed when how is kNotStarted.
struct SlotReport {
  enum Kind : uint32_t { kStarted, kEnded };
  Kind kind;
  pid_t pid;
  uint64_t run;
  int64_t started_us;  // wall clock
  // kEnded only:
  int64_t wall_us;
  int64_t user_us;
  int64_t system_us;
  uint64_t max_rss;  // bytes
  uint32_t how;      // ExitFacts::How
  int32_t code;
  uint32_t left_behind;
  uint32_t stopped;  // 1: we had signalled it before it ended
};

}  // namespace muster
