#include "process/process_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "process/cgroup_leaf.h"
#include "process/proc_stat.h"
#include "process/process_tree.h"

namespace muster {
namespace {

bool HasEnded(const ProcStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

Error NotRunning(pid_t pid) {
  return OperatorError(ErrorCode::kNotFound, fmt::format("process {} does not run", pid));
}

struct TreeMember {
  UniqueFd pidfd;
  pid_t parent = 0;
};
using Tree = std::unordered_map<pid_t, TreeMember>;

// Adds what is below the members of `tree` and stops it; false if nothing new was found.
bool StopNewMembers(Tree& tree) {
  std::vector<std::pair<pid_t, pid_t>> found;
  for (const auto& [pid, member] : tree) {
    for (pid_t child : ListChildren(pid)) {
      if (!tree.contains(child)) found.emplace_back(child, pid);
    }
  }
  bool grew = false;
  for (auto [pid, parent] : found) {
    UniqueFd pidfd = OpenPidfd(pid);
    auto stat = ReadProcStat(pid);
    if (!pidfd.valid() || !stat || stat->parent != parent || HasEnded(*stat)) continue;
    SignalPidfd(pidfd.get(), SIGSTOP);
    tree.emplace(pid, TreeMember{std::move(pidfd), parent});
    grew = true;
  }
  return grew;
}

}  // namespace

std::string ReadBootId() {
  UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  std::string id(text, size > 0 ? static_cast<size_t>(size) : 0);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

Result<ProcessIdentity> IdentityOf(pid_t pid) {
  auto stat = ReadProcStat(pid);
  if (!stat || HasEnded(*stat)) return NotRunning(pid);
  return ProcessIdentity{ReadBootId(), pid, stat->start_ticks};
}

bool StillRuns(const ProcessIdentity& identity) {
  auto now = IdentityOf(identity.pid);
  return now.ok() && *now == identity;
}

Result<UniqueFd> OpenProcess(const ProcessIdentity& identity) {
  UniqueFd pidfd = OpenPidfd(identity.pid);
  if (!pidfd.valid() && errno != ESRCH) {
    return ErrnoError(fmt::format("open a pidfd of process {}", identity.pid), errno);
  }
  if (!pidfd.valid() || !StillRuns(identity)) return NotRunning(identity.pid);
  return pidfd;
}

Status KillTree(const ProcessIdentity& identity, Duration limit) {
  auto root = OpenProcess(identity);
  if (!root.ok()) {
    if (root.error().code == ErrorCode::kNotFound) return Status::Ok();
    return std::move(root).error();
  }
  if (!SignalPidfd(root->get(), SIGSTOP) && errno == EPERM) {
    return ErrnoError(fmt::format("stop process {}", identity.pid), EPERM);
  }
  const BootTime end = SystemClock().Read().boot + limit;
  Tree tree;
  tree.emplace(identity.pid, TreeMember{std::move(*root), 0});
  // A stop takes effect a moment after it was sent: only a look that finds nothing new, after a
  // pause, says that the tree is whole.
  for (int quiet = 0; quiet < 3 && SystemClock().Read().boot < end;) {
    quiet = StopNewMembers(tree) ? 0 : quiet + 1;
    if (quiet > 0) ::poll(nullptr, 0, 1);
  }
  for (const auto& [pid, member] : tree) SignalPidfd(member.pidfd.get(), SIGKILL);
  for (const auto& [pid, member] : tree) {
    pollfd gone{member.pidfd.get(), POLLIN, 0};
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - SystemClock().Read().boot);
    if (::poll(&gone, 1, static_cast<int>(std::max<int64_t>(left.count(), 0))) <= 0) {
      return OperatorError(
          ErrorCode::kDeadlineExceeded,
          fmt::format("kill the tree of process {}: process {} was still there after {}",
                      identity.pid, pid, Render(limit)));
    }
  }
  CgroupFolder::EndLeftovers();
  return Status::Ok();
}

std::string Render(const ProcessIdentity& identity) {
  return fmt::format("{}:{}:{}", identity.boot_id, identity.pid, identity.start_ticks);
}

Result<ProcessIdentity> ParseProcessIdentity(std::string_view text) {
  auto bad = [&] {
    return OperatorError(
        ErrorCode::kInvalidArgument,
        fmt::format("process identity \"{}\" is not <boot id>:<pid>:<ticks>", text));
  };
  size_t ticks_at = text.rfind(':');
  if (ticks_at == std::string_view::npos || ticks_at == 0) return bad();
  size_t pid_at = text.rfind(':', ticks_at - 1);
  if (pid_at == std::string_view::npos) return bad();
  ProcessIdentity identity;
  identity.boot_id = text.substr(0, pid_at);
  auto parse = [](std::string_view digits, auto& value) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!parse(text.substr(pid_at + 1, ticks_at - pid_at - 1), identity.pid) || identity.pid <= 0 ||
      !parse(text.substr(ticks_at + 1), identity.start_ticks)) {
    return bad();
  }
  return identity;
}

}  // namespace muster
