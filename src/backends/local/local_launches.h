// The launches of one store below one state folder: where they are, what is true of each, and how
// what is left of a lost one is ended. Any thread; holds no state that is not on the disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backends/local/launch_folder.h"
#include "base/result.h"
#include "model/launch.h"

namespace muster::local {

class LocalLaunches {
 public:
  LocalLaunches(std::string state_folder, std::string store_id);

  const std::string& state_folder() const { return state_folder_; }
  const std::string& store_id() const { return store_id_; }
  // <state>/launches
  const std::string& root() const { return root_; }
  LaunchFolder FolderOf(LaunchId launch) const;

  // What is true of it now. A launch whose keeper was killed is first finished off: executors die
  // with their keeper, and what is left of the tree is killed, `limit` long at most. What cannot be
  // told is kUnknown, with the reason.
  LaunchObservation Observe(LaunchId launch, Duration limit) const;

  // Kills what is left of a launch whose keeper was killed, and writes its outcome.
  Status FinishLost(LaunchId launch, const LaunchEvidence& seen, Duration limit) const;

  // All launches of this store, by rising id.
  Result<std::vector<LaunchId>> List() const;
  // `limit` of ours with numbers above `after`, and, on the first page, of others.
  Result<LaunchPage> ListPage(uint64_t after, size_t limit) const;

 private:
  Result<std::vector<std::string>> FolderNames() const;
  ListedLaunch Describe(const std::string& name, LaunchId launch) const;

  const std::string state_folder_;
  const std::string store_id_;
  const std::string root_;
  const std::string host_;
};

// "pid 4711": the executor's process.
std::string ExternalId(const LaunchIdentity& identity);

}  // namespace muster::local
