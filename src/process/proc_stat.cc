#include "process/proc_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.h"

namespace muster {

std::optional<ProcStat> ReadProcStat(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  char text[1024];
  ssize_t size = ::read(file.get(), text, sizeof text - 1);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  // The name, field 2, may hold spaces and brackets: fields are counted from the last ')'.
  char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return std::nullopt;
  at += 2;
  ProcStat stat;
  stat.state = *at;
  for (int field = 3; field < 22; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return std::nullopt;
    ++at;
    if (field + 1 == 4) stat.parent = static_cast<pid_t>(std::strtol(at, nullptr, 10));
  }
  stat.start_ticks = std::strtoull(at, nullptr, 10);
  return stat;
}

}  // namespace muster
