// A slot process: starts programs one after another, and ends whatever they leave behind. It is a
// fork of the zygote, single-threaded, leads its own session, is the reaper of all orphans below
// it, and lives until its socket to the executor hangs up or the zygote ends.
#pragma once

#include "base/unique_fd.h"
#include "process/cgroup_leaf.h"

namespace muster {

// The zygote and its slot processes keep all signals blocked and read them from descriptors. This
// one says "end your tree and yourself"; the kernel sends it too, when the parent ends.
int EndYourselfSignal();

// A descriptor from which SIGCHLD and EndYourselfSignal() can be read, non-blocking.
UniqueFd OpenSignals();

// For the freshly forked process; `zygote` is its parent's pid. Never returns.
[[noreturn]] void RunSlotProcess(UniqueFd socket, pid_t zygote, CgroupLeaf leaf);

}  // namespace muster
