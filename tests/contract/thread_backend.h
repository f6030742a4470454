// The second trivial backend of the contract test: launches are threads of this process. It is of
// the *find* kind: the "cluster" gives out job numbers and takes every request for a new job, so
// Submit searches first, what was just submitted is not seen for a while, and the executor claims
// its launch so that a double ends itself. It has no stream.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "backend/backend.h"

namespace muster::test {

class ThreadCluster {
 public:
  using Tag = std::pair<std::string, uint64_t>;  // store id, launch number
  struct Job {
    LaunchSpec spec;
    BootTime visible_at;
    WallTime created;
    LaunchPhase phase = LaunchPhase::kPending;
    bool is_double = false;  // another job had claimed the launch
    std::optional<BootTime> stop_by;
    std::optional<int32_t> exit_code;
    std::optional<int32_t> exit_signal;
    std::string log;
    std::jthread thread;
  };
  // For how long a new job is not seen by searches.
  static constexpr Duration kLag{std::chrono::milliseconds(15)};

  ~ThreadCluster();

  uint64_t Add(const LaunchSpec& spec);
  // The job of the launch that searches see: the one that claimed it, else any that may.
  template <typename Use>
  auto WithJob(const Tag& tag, Use use);
  std::vector<std::pair<uint64_t, LaunchSpec>> Visible();
  void Stop(const Tag& tag, Duration grace);
  // False while one may run.
  bool Erase(const Tag& tag);
  size_t StartsOf(const Tag& tag) const;

 private:
  void RunJob(uint64_t number, const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t last_number_ = 1000;
  std::map<uint64_t, Job> jobs_;
  std::map<Tag, uint64_t> claims_;
  std::map<Tag, size_t> starts_;
};

class ThreadBackend final : public Backend {
 public:
  ThreadBackend(ThreadCluster& cluster, StoreIdentity owner)
      : cluster_(cluster), owner_(std::move(owner)) {}

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
  ThreadCluster::Tag TagOf(LaunchId launch) const { return {owner_.store_id, launch.number}; }
  FindAnswer FindOne(const FindRequest& request, const CallContext& call);

  ThreadCluster& cluster_;
  const StoreIdentity owner_;
};

template <typename Use>
auto ThreadCluster::WithJob(const Tag& tag, Use use) {
  std::lock_guard lock(mutex_);
  const BootTime now = SystemClock().Read().boot;
  uint64_t number = 0;
  for (const auto& [candidate, job] : jobs_) {
    const Tag its{job.spec.owner.store_id, job.spec.id.number};
    if (its == tag && job.visible_at <= now && !job.is_double) number = candidate;
  }
  return use(number, number == 0 ? nullptr : &jobs_[number]);
}

}  // namespace muster::test
