// The keeper: the small process above a local executor. It proves what nobody else can: that an
// executor and everything it ever started are gone.
//
//   muster executor --launch-dir DIR      the keeper: a session of its own, outlives who started
//   it,
//     executor                            reaper of everything below; if it dies, the kernel kills
//     this
//       spawner, tasks ...
//
// When the executor has ended, however, the keeper kills and reaps what is left of its tree, writes
// the outcome, and ends. It holds the launch's lock all the time.
//
// Smallest use, in main() before any thread exists and before anything secret is in memory:
//     return local::RunLaunch(folder, [&] { return RunExecutor(...); });
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "process/process_identity.h"

namespace muster::local {

// The descriptor that hands the lock of the launch folder to the keeper.
inline constexpr int kLockDescriptor = 3;
// Grace of a SIGTERM that does not say how long.
inline constexpr Duration kDefaultStopGrace{std::chrono::seconds(30)};

// Becomes the keeper and calls `run` in a process below it, whose exit code is the result of `run`.
// Returns the keeper's own exit code: 0 once all is over, or 1 if the launch could not be started.
// The backend reads which from standard output: a line `started`, or `failed: ` and why. If the
// lock is not handed over (the command was typed by hand), it is taken here.
//
// In `run`: standard input is /dev/null, standard output and error are executor.log, no signal is
// blocked; SIGTERM means drain and leave.
int RunLaunch(const std::string& folder, const std::function<int()>& run);

// Asks a keeper to end its executor: SIGTERM now, SIGKILL for the whole tree after `grace`.
// Repeated, it can only shorten the grace. kNotFound if the keeper does not run.
Status RequestStop(const ProcessIdentity& keeper, Duration grace);

// Takes the exit status of a keeper that has ended, if it is a child of this process: else nothing.
void ReapKeeper(const ProcessIdentity& keeper);

}  // namespace muster::local
