// A process named beyond its pid, so that it is found again after our own restart and never mixed
// up with another one: boot id, pid, and start time in clock ticks after boot.
//
//     ASSIGN_OR_RETURN(ProcessIdentity executor, IdentityOf(pid));   // keep Render(executor)
//     ...
//     if (StillRuns(executor)) RETURN_IF_ERROR(KillTree(executor, 5s));
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace muster {

struct ProcessIdentity {
  std::string boot_id;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

// /proc/sys/kernel/random/boot_id; empty if it cannot be read.
std::string ReadBootId();

// kNotFound if there is no such process or it has ended (a zombie counts as ended).
Result<ProcessIdentity> IdentityOf(pid_t pid);
// False for a zombie, for another process with the same pid, and after a reboot.
bool StillRuns(const ProcessIdentity& identity);
// A pidfd that surely is this process: readable once it has ended. kNotFound if it does not run.
Result<UniqueFd> OpenProcess(const ProcessIdentity& identity);

// Kills the process and everything below it, and waits until all are gone, `limit` at most
// (kDeadlineExceeded). The tree is stopped first, so that nothing in it can slip away. Success if
// it is gone already; then nothing is known of what was below it. Any process of the same user;
// must not hold the caller.
Status KillTree(const ProcessIdentity& identity, Duration limit);

// "<boot id>:<pid>:<ticks>" and back.
std::string Render(const ProcessIdentity& identity);
Result<ProcessIdentity> ParseProcessIdentity(std::string_view text);

}  // namespace muster
