#include "backends/local/local_launches.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backends/local/keeper.h"
#include "backends/local/strays.h"

namespace muster::local {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

std::string ExternalId(const LaunchIdentity& identity) {
  return fmt::format("pid {}", identity.executor.pid);
}

LocalLaunches::LocalLaunches(std::string state_folder, std::string store_id)
    : state_folder_(std::move(state_folder)),
      store_id_(std::move(store_id)),
      root_(state_folder_ + "/launches"),
      host_(HostName()) {}

LaunchFolder LocalLaunches::FolderOf(LaunchId launch) const {
  return LaunchFolder(root_ + "/" + FolderName(store_id_, launch));
}

LaunchObservation LocalLaunches::Observe(LaunchId launch, Duration limit) const {
  LaunchObservation observation;
  observation.id = launch;
  observation.node = host_;
  observation.cluster_time = SystemClock().Read().wall;
  auto seen = FolderOf(launch).Look();
  if (seen.ok() && DecideStage(*seen) == LaunchStage::kKeeperLost) {
    Status finished = FinishLost(launch, *seen, limit);
    if (!finished.ok()) {
      observation.raw_reason = "keeper lost, and " + finished.error().ToString();
      return observation;
    }
    seen = FolderOf(launch).Look();
  }
  if (!seen.ok()) {
    observation.raw_reason = seen.error().ToString();
    return observation;
  }
  observation.confirmed = true;
  if (seen->identity) {
    observation.external_id = ExternalId(*seen->identity);
    ReapKeeper(seen->identity->keeper);
  }
  switch (DecideStage(*seen)) {
    case LaunchStage::kNoFolder:
    case LaunchStage::kNeverStarted:
      observation.phase = LaunchPhase::kAbsent;
      break;
    case LaunchStage::kStarting:
      observation.phase = LaunchPhase::kPending;
      break;
    case LaunchStage::kRunning:
      observation.phase = LaunchPhase::kRunning;
      break;
    case LaunchStage::kMachineRestarted:
      observation.phase = LaunchPhase::kEnded;
      observation.raw_reason = "machine restarted";
      break;
    case LaunchStage::kEnded:
      observation.phase = LaunchPhase::kEnded;
      observation.raw_reason = seen->outcome->reason;
      observation.exit_code = seen->outcome->exit_code;
      observation.exit_signal = seen->outcome->exit_signal;
      observation.cluster_time = seen->outcome->ended;
      break;
    case LaunchStage::kKeeperLost:  // finished off above, but the outcome could not be written
      observation.phase = LaunchPhase::kEnded;
      observation.raw_reason = "keeper lost";
      break;
  }
  return observation;
}

Status LocalLaunches::FinishLost(LaunchId launch, const LaunchEvidence& seen,
                                 Duration limit) const {
  if (seen.identity) RETURN_IF_ERROR(KillTree(seen.identity->executor, limit));
  ASSIGN_OR_RETURN(uint64_t killed, EndStrays(LaunchCookie(store_id_, launch), limit));
  LaunchOutcome outcome;
  outcome.reason = "keeper lost";
  outcome.left_behind = killed;
  outcome.ended = SystemClock().Read().wall;
  // That nothing is left is true whether or not the disk takes it: then the next look proves it
  // anew.
  (void)FolderOf(launch).WriteOutcome(outcome).ok();
  return Status::Ok();
}

Result<std::vector<std::string>> LocalLaunches::FolderNames() const {
  std::vector<std::string> names;
  DIR* dir = ::opendir(root_.c_str());
  if (dir == nullptr) {
    if (errno == ENOENT) return names;
    return ErrnoError("list " + root_, errno);
  }
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) names.emplace_back(entry->d_name);
  const int error = errno;
  ::closedir(dir);
  if (error != 0) return ErrnoError("list " + root_, error);
  return names;
}

Result<std::vector<LaunchId>> LocalLaunches::List() const {
  ASSIGN_OR_RETURN(std::vector<std::string> names, FolderNames());
  std::vector<LaunchId> launches;
  for (const std::string& name : names) {
    auto parsed = ParseFolderName(name);
    if (parsed && FolderName(store_id_, parsed->launch) == name) launches.push_back(parsed->launch);
  }
  std::sort(launches.begin(), launches.end());
  return launches;
}

ListedLaunch LocalLaunches::Describe(const std::string& name, LaunchId launch) const {
  ListedLaunch listed;
  listed.id = launch;
  listed.name = name;
  LaunchFolder folder(root_ + "/" + name);
  struct stat made{};
  if (::stat(folder.path().c_str(), &made) == 0) {
    listed.created = {made.st_ctim.tv_sec * 1'000'000 + made.st_ctim.tv_nsec / 1000};
  }
  if (auto order = folder.ReadOrder(); order.ok()) listed.owner = order->spec.owner;
  if (auto seen = folder.Look(); seen.ok() && seen->identity) {
    listed.external_id = ExternalId(*seen->identity);
    listed.created = seen->identity->started;
  }
  return listed;
}

Result<LaunchPage> LocalLaunches::ListPage(uint64_t after, size_t limit) const {
  ASSIGN_OR_RETURN(std::vector<LaunchId> launches, List());
  LaunchPage page;
  auto from = std::upper_bound(launches.begin(), launches.end(), LaunchId{after});
  for (; from != launches.end() && page.ours.size() < limit; ++from) {
    ListedLaunch listed = Describe(FolderName(store_id_, *from), *from);
    // Without an order it is a start that came to nothing; the name says whose.
    if (listed.owner.store_id.empty()) listed.owner.store_id = store_id_;
    (listed.owner.store_id == store_id_ ? page.ours : page.foreign).push_back(std::move(listed));
    page.next = std::to_string(from->number);
  }
  if (from == launches.end()) page.next.clear();
  if (after != 0) return page;
  ASSIGN_OR_RETURN(std::vector<std::string> names, FolderNames());
  for (const std::string& name : names) {
    auto parsed = ParseFolderName(name);
    if (!parsed || FolderName(store_id_, parsed->launch) == name) continue;
    if (page.foreign.size() >= limit) break;
    page.foreign.push_back(Describe(name, parsed->launch));
  }
  return page;
}

}  // namespace muster::local
