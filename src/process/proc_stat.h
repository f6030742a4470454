// The few fields of /proc/<pid>/stat that tell processes apart (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace muster {

struct ProcStat {
  char state = '?';  // 'R', 'S', 'D', 'T', 'Z' ...
  pid_t parent = 0;
  uint64_t start_ticks = 0;  // field 22: clock ticks after boot
};

// Nothing if there is no such process or it cannot be read.
std::optional<ProcStat> ReadProcStat(pid_t pid);

}  // namespace muster
