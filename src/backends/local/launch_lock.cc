#include "backends/local/launch_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace muster::local {
namespace {

using FileLock = struct flock;

FileLock WholeFile() {
  FileLock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<LockState> ReadLockState(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ENOENT) return LockState::kFree;
    return ErrnoError("open " + path, errno);
  }
  FileLock lock = WholeFile();
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0)
    return ErrnoError("ask for lock " + path, errno);
  return lock.l_type == F_UNLCK ? LockState::kFree : LockState::kHeld;
}

Result<UniqueFd> TakeLock(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError("open " + path, errno);
  FileLock lock = WholeFile();
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return UniqueFd();
    return ErrnoError("lock " + path, errno);
  }
  if (!IsOpenOn(file.get(), path)) return UniqueFd();
  return file;
}

bool IsOpenOn(int fd, const std::string& path) {
  struct stat open{};
  struct stat named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace muster::local
