#include "backend/machine_size.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace muster {
namespace {

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // also for "max"
}

// The lowest limit on the way from `group` up to the mount point.
uint64_t LowestLimit(const std::string& mount, std::string group, const std::string& file) {
  uint64_t lowest = UINT64_MAX;
  for (;;) {
    lowest = std::min(lowest, ReadNumber(mount + group + "/" + file).value_or(UINT64_MAX));
    size_t slash = group.rfind('/');
    if (slash == std::string::npos || group == "/") return lowest;
    group.resize(slash);
  }
}

uint64_t CgroupMemoryLimit() {
  std::ifstream groups("/proc/self/cgroup");
  uint64_t lowest = UINT64_MAX;
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      lowest = std::min(lowest, LowestLimit("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers == "memory") {
      lowest =
          std::min(lowest, LowestLimit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return lowest;
}

uint64_t UsableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<uint64_t>(std::max(CPU_COUNT(&set), 1));
  }
  return std::max(std::thread::hardware_concurrency(), 1U);  // more processors than the set holds
}

}  // namespace

MachineSize ReadMachineSize() {
  MachineSize size;
  size.cpus = {UsableProcessors() * 1000};
  long pages = ::sysconf(_SC_PHYS_PAGES);
  long page_size = ::sysconf(_SC_PAGESIZE);
  uint64_t memory = pages > 0 && page_size > 0
                        ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size)
                        : 0;
  size.memory = {std::min(memory, CgroupMemoryLimit())};
  return size;
}

}  // namespace muster
