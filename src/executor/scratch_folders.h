// A folder of its own for each running attempt, empty at its start: MUSTER_SCRATCH. Folders are
// used again; one that a task has touched is moved aside and removed on a pool, so that an attempt
// that needs none pays one lstat. Loop's thread only.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/worker_pool.h"

namespace muster::executor {

class ScratchFolders {
 public:
  // Makes `root` when the first is taken. The pool outlives it.
  ScratchFolders(std::string root, WorkerPool& cleaners)
      : root_(std::move(root)), cleaners_(cleaners) {}

  // Takes a free folder.
  size_t Take();
  // Its path; empty if it could not be made.
  const std::string& path(size_t folder) const { return folders_[folder]; }
  void GiveBack(size_t folder);
  // Removes anything on the pool, folders with all they hold.
  void RemoveLater(std::string path);

 private:
  bool Make(const std::string& path);
  std::string PathOf(size_t folder) const;

  const std::string root_;
  WorkerPool& cleaners_;
  std::vector<std::string> folders_;
  std::vector<size_t> free_;
  size_t moved_aside_ = 0;
};

}  // namespace muster::executor
