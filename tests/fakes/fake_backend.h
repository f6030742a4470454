// The backend of a FakeCluster: by-name, with a settle time of the cluster's longest delay. Holds
// nothing but where its cluster is.
#pragma once

#include <string>

#include "backend/backend.h"
#include "fakes/fake_cluster.h"

namespace muster::test {

class FakeBackend final : public Backend {
 public:
  // `cluster` must outlive it and its readers and watches.
  FakeBackend(FakeCluster& cluster, const Clock& clock, StoreIdentity owner)
      : cluster_(cluster), clock_(clock), owner_(std::move(owner)) {}

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
  FakeCluster::Key KeyOf(LaunchId launch) const { return {owner_.store_id, launch.number}; }
  SubmitAnswer SubmitOne(const LaunchSpec& spec, const CallContext& call);
  Status ForgetOne(LaunchId launch, const CallContext& call);

  FakeCluster& cluster_;
  const Clock& clock_;
  const StoreIdentity owner_;
};

}  // namespace muster::test
