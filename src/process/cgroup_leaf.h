// A cgroup (v2) for a slot process and its programs, where a v2 tree is mounted and we may make
// folders in it; no controller is needed, and what a slot process starts is in it at no cost. One
// write kills everything in it at once, however fast it forks. Nothing depends on it: without it
// trees are ended process by process.
//
//   <own cgroup>/muster-<pid namespace>-<zygote's pid>/slot-<number>
//
// The zygote owns the folder, slot processes live in their leaf, the zygote removes both.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace muster {

class CgroupLeaf {
 public:
  // Moves the calling process into it.
  void Join() const;
  // Kills every process in it but the calling one, which steps out for that moment. They must still
  // be waited for. Takes milliseconds.
  void KillOthers() const;

 private:
  friend class CgroupFolder;
  UniqueFd folder_;
  UniqueFd parent_;
};

class CgroupFolder {
 public:
  // Makes the folder of the zygote `owner`, and ends what zygotes that are gone have left. Without
  // a usable tree the result is a folder in which no leaf can be made.
  static CgroupFolder Make(pid_t owner);
  CgroupLeaf MakeLeaf(uint32_t slot) const;
  void KillLeaf(uint32_t slot) const;
  // Once its processes are gone and reaped.
  void RemoveLeaf(uint32_t slot) const;
  // After all leaves.
  void Remove() const;
  // Ends what is left where executor, zygote and slot processes were all killed at once.
  static void EndLeftovers();
  // For the parent of a zygote that was killed: kills all, removes all.
  static void RemoveAllOf(pid_t owner);

 private:
  std::string path_;
  UniqueFd folder_;
};

}  // namespace muster
