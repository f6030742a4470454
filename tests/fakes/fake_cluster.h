// A cluster in memory, with faults on order: what a backend talks to in simulations and in the
// contract test. It lives on while backends over it come and go (fake_backend.h), as a real one
// does.
//
//     ManualClock clock;
//     FakeCluster cluster(clock, seed, {.answer_lost = 10, .delayed = 10});
//     FakeBackend backend(cluster, owner);
//     ...
//     clock.Advance(1s); cluster.Settle();   // late effects, starts, ends and events due by now
//
// What a launch does is said by its labels: `behave` = wait (until stopped, exit 0) | exit (with
// `code`) | signal (with `signal`) | stubborn (ends only by force); `text` is its log. `exit` and
// `signal` end by themselves, `run_for` after the start. Simulations set `on_start` and end
// launches themselves (End).
//
// Deterministic: one seed, no thread, no wall clock. Thread-safe; handlers are called without the
// lock, on the thread that made time pass.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/random.h"

namespace muster::test {

// Percent of calls, each decided from the seed.
struct FaultMix {
  unsigned request_lost = 0;  // no effect, no answer
  unsigned answer_lost = 0;   // effect, no answer
  unsigned delayed = 0;       // no answer, and the effect comes later, within longest_delay
  unsigned doubled = 0;       // the effect comes now and once more later
  unsigned throttled = 0;     // refused with kResourceExhausted, no effect
  unsigned event_lost = 0;    // of Watch events; "resync needed" follows
  unsigned event_doubled = 0;
  bool events_reordered = false;
  Duration longest_delay{0};
};

// How often each fault struck.
struct FaultCounts {
  uint64_t request_lost = 0;
  uint64_t answer_lost = 0;
  uint64_t delayed = 0;
  uint64_t doubled = 0;
  uint64_t throttled = 0;
  uint64_t events_lost = 0;
};

class FakeCluster {
 public:
  FakeCluster(const Clock& clock, uint64_t seed, FaultMix mix = {});
  FakeCluster(const FakeCluster&) = delete;

  // Does what is due by now. Backends call it first in every call.
  void Settle();

  // ---- for tests
  void SetMix(FaultMix mix);
  // While the node is silent its launches go on, but nobody hears of it: observations stay as they
  // were and are unconfirmed.
  void SilenceNode();
  void HearNode();
  // Calls block until their stop token fires or ReleaseCalls, and then had no effect.
  void HangCalls();
  void ReleaseCalls();
  // The launch ends as told (simulations, or "kill -9 from outside").
  void End(const StoreIdentity& owner, LaunchId launch, std::optional<int32_t> exit_code,
           std::optional<int32_t> exit_signal, std::string raw_reason);
  // How often an executor of it was started; more than 1 is a broken promise.
  size_t StartsOf(const StoreIdentity& owner, LaunchId launch) const;
  size_t launches() const;
  // When Settle next has something to do.
  std::optional<BootTime> NextDue() const;
  // Late effects that have not come yet.
  size_t effects_under_way() const;
  FaultCounts counts() const;
  Duration longest_delay() const;

  // When a launch starts (its executor would now dial in), and when it is asked to stop.
  std::function<void(const LaunchSpec&)> on_start;
  std::function<void(const LaunchSpec&, Duration grace)> on_stop;
  Duration start_delay{std::chrono::milliseconds(20)};
  Duration run_for{std::chrono::milliseconds(20)};

  // ---- for FakeBackend
  struct Launch {
    LaunchSpec spec;
    uint64_t serial = 0;  // "pod-17"
    LaunchPhase phase = LaunchPhase::kPending;
    LaunchPhase heard_phase = LaunchPhase::kPending;  // before the node fell silent
    WallTime created;
    std::optional<BootTime> start_at;
    std::optional<BootTime> end_at;  // by its own behaviour, or by force
    std::optional<int32_t> exit_code;
    std::optional<int32_t> exit_signal;
    std::string raw_reason;
    std::string log;
  };
  using Key = std::pair<std::string, uint64_t>;  // store id, launch number

  enum class Fate : uint8_t { kNone, kRequestLost, kAnswerLost, kDelayed, kDoubled, kThrottled };
  // Draws what happens to a call. Blocks while hanging; then it is kRequestLost.
  Fate DrawFate(const CallContext& call);
  // Carries out `effect` as `fate` says: now, later, both or never.
  void Carry(Fate fate, std::function<void(FakeCluster&)> effect);

  // Effects, for Carry only: they are called with the lock held.
  void Create(const LaunchSpec& spec);
  void AskToStop(const Key& key, Duration grace);
  // False while it may run.
  bool Erase(const Key& key);

  std::optional<Launch> Get(const Key& key) const;
  std::vector<Launch> GetAll() const;
  // What the cluster says of a launch, as far as it hears from its node.
  LaunchObservation Observe(const Launch& launch) const;

  using EventHandler = std::function<void(const WatchEvent&)>;
  uint64_t AddWatch(std::string store_id, EventHandler handler);
  void RemoveWatch(uint64_t watch);

 private:
  struct LateEffect {
    BootTime at;
    std::function<void(FakeCluster&)> effect;
  };
  struct WatchEntry {
    std::string store_id;
    EventHandler handler;
  };
  // All below: under mutex_.
  void Progress(BootTime now);
  LaunchObservation ObserveLocked(const Launch& launch) const;
  void Start(Launch& launch, BootTime now);
  void SetPhase(Launch& launch, LaunchPhase phase);
  void Queue(const Launch& launch);
  // Takes the lock itself: runs what is in calls_out_.
  void Deliver();
  bool Strikes(unsigned percent) { return percent > 0 && random_.Percent(percent); }

  const Clock& clock_;
  mutable std::mutex mutex_;
  Random random_;
  FaultMix mix_;
  FaultCounts counts_;
  bool node_silent_ = false;
  bool hanging_ = false;
  std::condition_variable_any released_;
  uint64_t last_serial_ = 0;
  std::map<Key, Launch> launches_;
  std::map<Key, size_t> starts_;
  std::vector<LateEffect> late_;
  std::map<uint64_t, WatchEntry> watches_;
  uint64_t last_watch_ = 0;
  std::vector<std::pair<EventHandler, WatchEvent>> events_;
  std::vector<std::function<void()>> calls_out_;  // handlers to run without the lock
};

}  // namespace muster::test
