// The keeper: the small process above a local executor. It proves what nobody else can: that an
// executor and everything it ever started are gone.
//
//   muster executor --launch-dir DIR      the starter: forks the keeper and ends
//     keeper                              nobody's child; reaper of everything below it
//       executor                          killed by the kernel if the keeper dies
//         spawner, tasks ...
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

// The descriptor that hands the lock of the launch folder to the starter.
inline constexpr int kLockDescriptor = 3;
// Grace of a SIGTERM that does not say how long.
inline constexpr Duration kDefaultStopGrace{std::chrono::seconds(30)};

// Calls `run` in the executor's own process and makes its result the executor's exit code. The
// caller gets the starter's exit code: 0, or 1 if the launch could not be started. The backend
// reads which from standard output: a line `started`, or `failed: ` and why. If the lock is not
// handed over (the command was typed by hand), it is taken here.
//
// In `run`: standard input is /dev/null, standard output and error are executor.log, no signal is
// blocked; SIGTERM means drain and leave.
int RunLaunch(const std::string& folder, const std::function<int()>& run);

// Asks a keeper to end its executor: SIGTERM now, SIGKILL for the whole tree after `grace`.
// Repeated, it can only shorten the grace. kNotFound if the keeper does not run.
Status RequestStop(const ProcessIdentity& keeper, Duration grace);

}  // namespace muster::local
