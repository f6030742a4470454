#include "backends/local/strays.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "backends/local/launch_folder.h"
#include "backends/local/record_file.h"
#include "base/clock.h"
#include "process/process_tree.h"

namespace muster::local {
namespace {

// `wanted`: "NAME=value".
bool HasVariable(pid_t pid, std::string_view wanted) {
  auto environment = ReadWholeFile(fmt::format("/proc/{}/environ", pid));
  if (!environment.ok()) return false;
  std::string_view rest = *environment;
  while (!rest.empty()) {
    std::string_view variable = rest.substr(0, rest.find('\0'));
    if (variable == wanted) return true;
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
  }
  return false;
}

std::string VariableOf(std::string_view cookie) {
  return fmt::format("{}={}", kCookieVariable, cookie);
}

}  // namespace

std::vector<pid_t> FindStrays(std::string_view cookie) {
  const std::string wanted = VariableOf(cookie);
  std::vector<pid_t> strays;
  DIR* dir = ::opendir("/proc");
  if (dir == nullptr) return strays;
  while (const dirent* entry = ::readdir(dir)) {
    auto pid = static_cast<pid_t>(std::atol(entry->d_name));
    if (pid > 0 && pid != ::getpid() && HasVariable(pid, wanted)) strays.push_back(pid);
  }
  ::closedir(dir);
  return strays;
}

Result<uint64_t> EndStrays(std::string_view cookie, Duration limit) {
  const std::string wanted = VariableOf(cookie);
  const BootTime end = SystemClock().Read().boot + limit;
  std::set<pid_t> killed;
  for (int quiet = 0;;) {
    std::vector<pid_t> strays = FindStrays(cookie);
    for (pid_t pid : strays) {
      UniqueFd pidfd = OpenPidfd(pid);
      // Looked at again after opening: now what the pidfd holds surely is a stray.
      if (!HasVariable(pid, wanted)) continue;
      if (pidfd.valid()) {
        SignalPidfd(pidfd.get(), SIGKILL);
      } else {
        ::kill(pid, SIGKILL);  // kernels before 5.3
      }
      killed.insert(pid);
    }
    quiet = strays.empty() ? quiet + 1 : 0;
    if (quiet == 2) return killed.size();
    if (SystemClock().Read().boot > end && !strays.empty()) {
      return OperatorError(
          ErrorCode::kDeadlineExceeded,
          fmt::format("kill what {} left behind: process {} was still there after {}", cookie,
                      strays.front(), Render(limit)));
    }
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace muster::local
