// Calls to clusters: carries out launch effects on a pool that may block and brings the answers back to
// the loop as core inputs. No retry hides here: what failed is an input, core decides.
//
// Core thread; owned by Controller. Calls under way at destruction finish on the pool, their answers are
// dropped.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "base/loop.h"
#include "core/effect.h"
#include "core/input.h"

namespace muster::control {

// One configured cluster. `run` carries out blocking work, usually on a WorkerPool; a simulation runs it on
// its loop.
struct Cluster {
  std::string name;
  std::shared_ptr<Backend> backend;
  core::ClusterSettings settings;
  std::function<Status(std::function<void()>)> run;
};

class LaunchCalls {
 public:
  LaunchCalls(Loop& loop, std::vector<Cluster> clusters,
              std::function<void(core::Input)> take_input);
  ~LaunchCalls();

  // Opens the streams of clusters that have one.
  void StartWatching();
  // A launch known from the journal: its last call may have been made until this moment.
  void CountFromNow(LaunchId launch);

  void Submit(const core::SubmitLaunch& effect);
  void Stop(const core::StopLaunch& effect);
  void Forget(const core::ForgetLaunch& effect);
  void Find(const core::FindLaunch& effect);
  // Fires the stop token of calls under way, ends the streams.
  void Close();

  uint64_t calls() const { return calls_; }
  uint64_t failures() const { return failures_; }

 private:
  const Cluster* FindCluster(const std::string& name) const;
  CallContext Context() const;
  // Runs `call` on the cluster's pool and `done` with its value on the loop.
  template <typename T>
  void Run(const Cluster& cluster, std::function<T()> call, std::function<void(T)> done);

  Loop& loop_;
  const std::vector<Cluster> clusters_;
  const std::function<void(core::Input)> take_input_;
  std::stop_source stop_;
  std::vector<std::unique_ptr<LaunchWatch>> watches_;
  std::unordered_map<LaunchId, BootTime> last_call_;
  BootTime started_;
  uint64_t calls_ = 0;
  uint64_t failures_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::control
