// The lock of a launch folder. Whoever starts a launch holds it from before anything can have an
// effect and hands it to the keeper, which holds it to its end. So "not held" proves that nothing
// is being started or running, without any look at processes.
//
// Open-file-description locks (fcntl(2), F_OFD_SETLK): they are inherited through fork and exec,
// end with the last copy of the descriptor, and can be asked after without being taken.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace muster::local {

enum class LockState : uint8_t { kFree, kHeld };

// kFree also if there is no lock file. No side effect.
Result<LockState> ReadLockState(const std::string& path);

// Makes the file if needed. The descriptor holds the lock and is closed at exec. Not valid if
// somebody else holds the lock, or if the file was removed meanwhile: try again.
Result<UniqueFd> TakeLock(const std::string& path);

// Whether `fd` is open on the file at `path`.
bool IsOpenOn(int fd, const std::string& path);

}  // namespace muster::local
