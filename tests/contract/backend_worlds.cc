#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "backends/local/local_backend.h"
#include "backends/local/local_launches.h"
#include "backends/local/record_file.h"
#include "contract/backend_world.h"
#include "contract/thread_backend.h"
#include "fakes/fake_backend.h"
#include "fakes/faulty_backend.h"
#include "support/eventually.h"
#include "support/manual_clock.h"
#include "support/temp_dir.h"

namespace muster::test {
namespace {

void RealTick() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

// Real processes in a folder with an odd name.
class LocalWorld final : public BackendWorld {
 public:
  ~LocalWorld() override {
    for (const std::string& store : stores_) {
      local::LocalLaunches launches(state_, store);
      auto all = launches.List();
      if (!all.ok()) continue;
      auto backend = NewBackend({store, 1});
      CallContext call{clock().Read().boot + std::chrono::seconds(20), {}};
      (void)backend->Stop(*all, Duration{0}, call);
      for (LaunchId launch : *all) {
        Eventually([&] {
          return launches.Observe(launch, std::chrono::seconds(5)).phase != LaunchPhase::kRunning;
        });
      }
    }
  }

  std::unique_ptr<Backend> NewBackend(const StoreIdentity& owner) override {
    stores_.insert(owner.store_id);
    LaunchEnvironment environment;
    environment.owner = owner;
    environment.cluster = "here";
    environment.program = {MUSTER_TEST_EXECUTOR};
    environment.controller = "unix:/nowhere";
    environment.state_folder = state_;
    environment.token = [](LaunchId) { return "secret"; };
    return std::make_unique<local::LocalBackend>(std::move(environment), MachineSize{});
  }
  const Clock& clock() const override { return SystemClock(); }
  void Tick() override { RealTick(); }
  // The test executor counts by launch number: stores of one test use different ones.
  size_t StartsOf(const StoreIdentity&, LaunchId launch) const override {
    return local::ReadWholeFile(state_ + "/starts-" + Render(launch)).value_or("").size();
  }

 private:
  TempDir dir_;
  const std::string state_ = dir_ / "odd 'name' 🦀 %";
  std::set<std::string> stores_;
};

class ThreadWorld final : public BackendWorld {
 public:
  std::unique_ptr<Backend> NewBackend(const StoreIdentity& owner) override {
    return std::make_unique<ThreadBackend>(cluster_, owner);
  }
  const Clock& clock() const override { return SystemClock(); }
  void Tick() override { RealTick(); }
  size_t StartsOf(const StoreIdentity& owner, LaunchId launch) const override {
    return cluster_.StartsOf({owner.store_id, launch.number});
  }

 private:
  ThreadCluster cluster_;
};

class FakeWorld final : public BackendWorld {
 public:
  FakeWorld(uint64_t seed, FaultMix mix) : is_faulty_(seed != 0), cluster_(clock_, seed, mix) {}

  std::unique_ptr<Backend> NewBackend(const StoreIdentity& owner) override {
    return std::make_unique<FakeBackend>(cluster_, clock_, owner);
  }
  const Clock& clock() const override { return clock_; }
  void Tick() override {
    clock_.Advance(std::chrono::milliseconds(10));
    cluster_.Settle();
  }
  size_t StartsOf(const StoreIdentity& owner, LaunchId launch) const override {
    return cluster_.StartsOf(owner, launch);
  }
  bool is_faulty() const override { return is_faulty_; }

 private:
  const bool is_faulty_;
  ManualClock clock_;
  FakeCluster cluster_;
};

// Any other world with faults on the way to it.
class FaultyWorld final : public BackendWorld {
 public:
  FaultyWorld(std::unique_ptr<BackendWorld> inner, uint64_t seed)
      : inner_(std::move(inner)), faults_(Seeded(seed, 25)) {}

  std::unique_ptr<Backend> NewBackend(const StoreIdentity& owner) override {
    return std::make_unique<FaultyBackend>(inner_->NewBackend(owner), faults_);
  }
  const Clock& clock() const override { return inner_->clock(); }
  void Tick() override { inner_->Tick(); }
  size_t StartsOf(const StoreIdentity& owner, LaunchId launch) const override {
    return inner_->StartsOf(owner, launch);
  }
  bool is_faulty() const override { return true; }

 private:
  std::unique_ptr<BackendWorld> inner_;
  FaultSource faults_;
};

FaultMix HardTimes() {
  FaultMix mix;
  mix.request_lost = mix.answer_lost = mix.delayed = mix.doubled = mix.throttled = 10;
  mix.event_lost = mix.event_doubled = 15;
  mix.events_reordered = true;
  mix.longest_delay = std::chrono::milliseconds(500);
  return mix;
}

}  // namespace

std::vector<WorldMaker> AllBackendWorlds() {
  std::vector<WorldMaker> worlds{
      {"Local", [] { return std::make_unique<LocalWorld>(); }},
      {"Threads", [] { return std::make_unique<ThreadWorld>(); }},
      {"Fake", [] { return std::make_unique<FakeWorld>(0, FaultMix{}); }},
      {"FaultyLocal",
       [] { return std::make_unique<FaultyWorld>(std::make_unique<LocalWorld>(), 1); }},
      {"FaultyThreads",
       [] { return std::make_unique<FaultyWorld>(std::make_unique<ThreadWorld>(), 2); }},
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    worlds.push_back({fmt::format("FaultyFake{}", seed),
                      [seed] { return std::make_unique<FakeWorld>(seed, HardTimes()); }});
  }
  return worlds;
}

}  // namespace muster::test
