// The zygote: a fork of the executor from before its first thread, which forks the slot processes.
// Single-threaded; it holds nothing but its socket. Orphans of a slot process that was killed
// become its children, and it ends them before it reports the loss. When the executor ends, its
// slots and then itself end.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"

namespace muster {

// For the freshly forked process, all signals blocked; `executor` is its parent's pid. Never
// returns.
[[noreturn]] void RunZygote(UniqueFd socket, pid_t executor);

}  // namespace muster
