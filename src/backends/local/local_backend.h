// Launches as processes of this machine that outlive the controller. Nothing is kept in memory:
// folder, lock and process identities below <state>/launches say everything (launch_folder.h), for
// this controller and the next.
//
// Particular to this kind:
//  - Observe and Watch finish off a launch whose keeper was killed: what is left of its tree is
//  ended,
//    because an executor's end ends its attempts. All other ends are the keeper's work (keeper.h).
//  - Looks do not lag behind (settle 0): Find decides by the launch's lock.
//  - External ids are the executor's process: "pid 4711".
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/backend_kind.h"
#include "backends/local/launch_start.h"
#include "backends/local/launch_watcher.h"
#include "backends/local/local_launches.h"

namespace muster::local {

class LocalBackend final : public Backend {
 public:
  LocalBackend(LaunchEnvironment environment, MachineSize here);

  BackendDescription Describe() const override;
  Result<LaunchPlan> Plan(const LaunchSpec& spec) const override;
  ProbeAnswer Probe(const CallContext& call) override;
  std::vector<SubmitAnswer> Submit(std::span<const LaunchSpec> specs,
                                   const CallContext& call) override;
  std::vector<FindAnswer> Find(std::span<const FindRequest> launches,
                               const CallContext& call) override;
  Result<LaunchPage> ListOurs(const std::string& from, size_t limit,
                              const CallContext& call) override;
  Result<std::vector<LaunchObservation>> Observe(std::span<const LaunchId> launches,
                                                 const CallContext& call) override;
  Result<std::unique_ptr<LaunchWatch>> Watch(
      std::function<void(const WatchEvent&)> on_event) override;
  std::vector<Status> Stop(std::span<const LaunchId> launches, Duration grace,
                           const CallContext& call) override;
  std::vector<Status> Forget(std::span<const LaunchId> launches, const CallContext& call) override;
  Result<std::unique_ptr<LogReader>> OpenLog(LaunchId launch, uint64_t offset) override;

 private:
  LaunchStart StartOf(const LaunchSpec& spec) const;
  SubmitAnswer SubmitOne(const LaunchSpec& spec, const CallContext& call);
  FindAnswer FindOne(LaunchId launch) const;
  Status StopOne(LaunchId launch, Duration grace, const CallContext& call);
  Status ForgetOne(LaunchId launch);
  void TellWatchers(LaunchId launch);

  const LaunchEnvironment environment_;
  const MachineSize here_;
  const std::shared_ptr<const LocalLaunches> launches_;
  std::mutex watchers_mutex_;
  std::vector<std::weak_ptr<LaunchWatcher>> watchers_;
};

// Settings: the `pool:` block only. Left open, an executor gets this whole machine.
class LocalKind final : public BackendKind {
 public:
  BackendDescription Describe() const override;
  ConfigCheck CheckConfig(std::span<const Setting> settings,
                          const MachineSize& here) const override;
  Result<std::unique_ptr<Backend>> Make(const ClusterConfig& config,
                                        LaunchEnvironment environment) const override;
};

}  // namespace muster::local
