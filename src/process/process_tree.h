// Process trees below the calling process: listing, signalling and ending them without ever hitting
// a process that is not in the tree, however pids are reused.
//
// The safety rule: a direct child that has not been waited for keeps its pid, so it may be
// signalled by pid; anything deeper is opened as a pidfd, then checked to be (still) in the tree,
// then signalled through the pidfd. Callers are single-threaded as far as waiting for children
// goes.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <vector>

#include "base/unique_fd.h"

namespace muster {

// Children of `pid`, zombies included. May miss some while others end: callers repeat.
std::vector<pid_t> ListChildren(pid_t pid);

// Not valid where the kernel has no pidfds (before 5.3) or the process is gone.
UniqueFd OpenPidfd(pid_t pid);
// Signals the process behind `pidfd`; false if it is gone.
bool SignalPidfd(int pidfd, int signal);

// Sends `signal` once to every descendant of the calling process, parents before their children.
void SignalDescendants(int signal);

struct ReapedProcess {
  pid_t pid = 0;
  int status = 0;  // as wait4 gives it
  rusage usage{};
};

// Kills every descendant of the calling process, which must be a child subreaper, and returns when
// all are gone and reaped. Children for which `keep` says true, and what is below them, are left
// alone, but reaped if they end. Waits as long as the kernel needs: a process that may not be
// killed (another user's) or cannot die (uninterruptible) is waited for. `on_slow` is called once
// if it takes longer than 50 ms: what forks faster than it is killed, one by one, must be ended by
// other means. Faster if SIGCHLD is blocked.
void EndDescendants(const std::function<bool(pid_t)>& keep,
                    const std::function<void(const ReapedProcess&)>& on_reaped,
                    const std::function<void()>& on_slow = nullptr);

// Makes orphans among the calling process's descendants its own children (PR_SET_CHILD_SUBREAPER).
void BecomeSubreaper();

}  // namespace muster
