#include "process/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "process/proc_stat.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace muster {
namespace {

// Calls `on_name` for each entry of `folder` that is a number.
template <typename OnNumber>
void ForEachNumber(const char* folder, OnNumber on_number) {
  DIR* dir = ::opendir(folder);
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    char* end = nullptr;
    long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0' && number > 0) on_number(static_cast<pid_t>(number));
  }
  ::closedir(dir);
}

// False if the kernel has no such file (CONFIG_PROC_CHILDREN) or the thread is gone.
bool AppendChildrenOfThread(pid_t pid, pid_t thread, std::vector<pid_t>& children) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
  UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return false;
  std::string text;
  char part[4096];
  ssize_t size = 0;
  while ((size = ::read(file.get(), part, sizeof part)) > 0) {
    text.append(part, static_cast<size_t>(size));
  }
  const char* at = text.c_str();
  char* end = nullptr;
  for (long pid_read = std::strtol(at, &end, 10); end != at; pid_read = std::strtol(at, &end, 10)) {
    children.push_back(static_cast<pid_t>(pid_read));
    at = end;
  }
  return true;
}

bool KernelListsChildren() {
  static const bool does = [] {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", ::getpid());
    return ::access(path, R_OK) == 0;
  }();
  return does;
}

std::vector<pid_t> ScanForChildren(pid_t pid) {
  std::vector<pid_t> children;
  ForEachNumber("/proc", [&](pid_t candidate) {
    auto stat = ReadProcStat(candidate);
    if (stat && stat->parent == pid) children.push_back(candidate);
  });
  return children;
}

struct Member {
  pid_t pid;
  pid_t parent;
};

// Signals a process found as a child of `member.parent`; its children are listed first, because
// they have another parent once it is dead.
std::vector<pid_t> SignalMember(Member member, pid_t self, int signal) {
  if (member.parent == self) {
    std::vector<pid_t> children = ListChildren(member.pid);
    if (signal == SIGKILL) {
      // A process group is hit as a whole, forks in flight included. Its number cannot be somebody
      // else's: the unreaped child is a member, and sessions are made anew for each tree.
      pid_t group = ::getpgid(member.pid);
      if (group > 1 && group != ::getpgrp()) ::kill(-group, signal);
    }
    ::kill(member.pid, signal);
    return children;
  }
  UniqueFd pidfd = OpenPidfd(member.pid);
  // Looked at after opening: what the pidfd holds is in the tree if its parent is.
  auto stat = ReadProcStat(member.pid);
  if (!stat || (stat->parent != member.parent && stat->parent != self)) return {};
  std::vector<pid_t> children = ListChildren(member.pid);
  if (pidfd.valid()) {
    SignalPidfd(pidfd.get(), signal);
  } else {
    ::kill(member.pid, signal);  // kernels before 5.3: a window of microseconds remains
  }
  return children;
}

void SignalTrees(const std::vector<pid_t>& roots, int signal) {
  const pid_t self = ::getpid();
  std::vector<Member> queue;
  for (pid_t root : roots) queue.push_back({root, self});
  for (size_t next = 0; next < queue.size(); ++next) {
    const Member member = queue[next];
    for (pid_t child : SignalMember(member, self, signal)) queue.push_back({child, member.pid});
  }
}

// True if no child of any kind is left.
bool ReapAll(const std::function<void(const ReapedProcess&)>& on_reaped) {
  for (;;) {
    ReapedProcess reaped;
    reaped.pid = ::wait4(-1, &reaped.status, WNOHANG, &reaped.usage);
    if (reaped.pid < 0) return errno == ECHILD;
    if (reaped.pid == 0) return false;
    on_reaped(reaped);
  }
}

void WaitForChildSignal(int milliseconds) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  timespec limit{milliseconds / 1000, milliseconds % 1000 * 1000000L};
  ::sigtimedwait(&set, nullptr, &limit);
}

}  // namespace

std::vector<pid_t> ListChildren(pid_t pid) {
  if (!KernelListsChildren()) return ScanForChildren(pid);
  std::vector<pid_t> children;
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  ForEachNumber(path, [&](pid_t thread) { AppendChildrenOfThread(pid, thread, children); });
  return children;
}

UniqueFd OpenPidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool SignalPidfd(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

void SignalDescendants(int signal) { SignalTrees(ListChildren(::getpid()), signal); }

void EndDescendants(const std::function<bool(pid_t)>& keep,
                    const std::function<void(const ReapedProcess&)>& on_reaped,
                    const std::function<void()>& on_slow) {
  const BootTime slow_at = SystemClock().Read().boot + std::chrono::milliseconds(50);
  bool was_slow = on_slow == nullptr;
  int empty_looks = 0;
  int pause_ms = 1;
  while (!ReapAll(on_reaped)) {
    std::vector<pid_t> roots = ListChildren(::getpid());
    roots.erase(std::remove_if(roots.begin(), roots.end(), keep), roots.end());
    // The list may miss one while others end, so one empty look proves nothing.
    if (roots.empty()) {
      if (++empty_looks == 3) return;
      continue;
    }
    empty_looks = 0;
    SignalTrees(roots, SIGKILL);
    if (!was_slow && SystemClock().Read().boot >= slow_at) {
      was_slow = true;
      on_slow();
    }
    WaitForChildSignal(pause_ms);
    pause_ms = std::min(pause_ms * 2, 50);
  }
}

void BecomeSubreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

}  // namespace muster
