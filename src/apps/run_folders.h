// Where things lie below the user's state folder:
//
//   <state>/job-number        the last job number given out, under a lock
//   <state>/runs/j12/         one private run: store/, launches/, output/, socket
//   <state>/controller/       the standing controller: the same
//
// Thread-safe between processes: numbers are taken under flock, folders are made exclusively.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace muster::apps {

class RunFolders {
 public:
  // `state_dir` absolute; nothing is made before it is needed.
  explicit RunFolders(std::string state_dir) : state_dir_(std::move(state_dir)) {}

  // Takes the next job number and makes its run folder (mode 0700).
  Result<JobId> MakeRun() const;
  std::string RunFolder(JobId job) const;
  std::string ControllerFolder() const { return state_dir_ + "/controller"; }
  // Runs that have a folder, oldest first. No folder at all: none.
  std::vector<JobId> ListRuns() const;
  const std::string& state_dir() const { return state_dir_; }

 private:
  std::string state_dir_;
};

// The folder with all above it, mode 0700 for those it makes. The error says which cannot be made, and what
// to do.
Status MakeFolder(const std::string& path);
// A unix socket's path may have 107 bytes at most; longer ones go to a short folder of the user below
// /tmp (mode 0700, checked to be ours), named by a hash of `folder`.
Result<std::string> SocketPath(const std::string& folder);

}  // namespace muster::apps
