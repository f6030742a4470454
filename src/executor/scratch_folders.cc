#include "executor/scratch_folders.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/log.h"

namespace muster::executor {
namespace {

// An untouched folder carries this time of change: whatever a task makes or removes in it sets
// another one.
constexpr timespec kUntouched{1, 0};

}  // namespace

std::string ScratchFolders::PathOf(size_t folder) const {
  return fmt::format("{}/{}", root_, folder);
}

bool ScratchFolders::Make(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno != ENOENT || (::mkdir(root_.c_str(), 0700) != 0 && errno != EEXIST) ||
        ::mkdir(path.c_str(), 0700) != 0) {
      LogWarning("scratch: {}; tasks run without MUSTER_SCRATCH",
                 ErrnoError("make folder " + path, errno).message);
      return false;
    }
  }
  timespec times[2] = {kUntouched, kUntouched};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  return true;
}

size_t ScratchFolders::Take() {
  if (free_.empty()) {
    free_.push_back(folders_.size());
    folders_.emplace_back();
  }
  size_t folder = free_.back();
  free_.pop_back();
  std::string& path = folders_[folder];
  if (path.empty()) {
    path = PathOf(folder);
    if (!Make(path)) path.clear();
  }
  return folder;
}

void ScratchFolders::GiveBack(size_t folder) {
  free_.push_back(folder);
  std::string& path = folders_[folder];
  if (path.empty()) return;
  struct stat status;
  bool there = ::lstat(path.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 0700 &&
      status.st_mtim.tv_sec == kUntouched.tv_sec && status.st_mtim.tv_nsec == kUntouched.tv_nsec) {
    return;
  }
  if (there) {
    std::string aside = fmt::format("{}/used-{}", root_, ++moved_aside_);
    if (::rename(path.c_str(), aside.c_str()) == 0) RemoveLater(std::move(aside));
  }
  path.clear();
}

void ScratchFolders::RemoveLater(std::string path) {
  auto remove = [path] {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) LogWarning("remove {}: {}", path, error.message());
  };
  // A full pool means a slow disk: then the loop pays itself.
  if (!cleaners_.Post(remove).ok()) remove();
}

}  // namespace muster::executor
