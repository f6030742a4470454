#include "fakes/fake_cluster.h"

#include <gtest/gtest.h>

#include <thread>

#include "fakes/fake_backend.h"
#include "support/manual_clock.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

const StoreIdentity kOwner{"store", 1};

LaunchSpec Spec(uint64_t number) {
  LaunchSpec spec;
  spec.id = {number};
  spec.owner = kOwner;
  spec.labels = {{"behave", "exit"}, {"code", "0"}};
  return spec;
}

FaultMix Everything() {
  FaultMix mix;
  mix.request_lost = mix.answer_lost = mix.delayed = mix.doubled = mix.throttled = 15;
  mix.longest_delay = 1s;
  return mix;
}

// What a seed does to 200 submits, as text.
std::string HistoryOf(uint64_t seed) {
  ManualClock clock;
  FakeCluster cluster(clock, seed, Everything());
  FakeBackend backend(cluster, clock, kOwner);
  std::string history;
  for (uint64_t number = 1; number <= 200; ++number) {
    LaunchSpec spec = Spec(number);
    auto answer = backend.Submit({&spec, 1}, {}).front();
    history += std::to_string(static_cast<int>(answer.kind));
    clock.Advance(10ms);
  }
  clock.Advance(5s);
  cluster.Settle();
  return history + ":" + std::to_string(cluster.launches());
}

TEST(FakeCluster, OneSeedGivesOneHistory) {
  EXPECT_EQ(HistoryOf(7), HistoryOf(7));
  EXPECT_NE(HistoryOf(7), HistoryOf(8));
}

TEST(FakeCluster, EachFaultStrikesAndIsCounted) {
  ManualClock clock;
  FakeCluster cluster(clock, 1, Everything());
  FakeBackend backend(cluster, clock, kOwner);
  for (uint64_t number = 1; number <= 300; ++number) {
    LaunchSpec spec = Spec(number);
    (void)backend.Submit({&spec, 1}, {});
  }
  FaultCounts counts = cluster.counts();
  for (uint64_t count : {counts.request_lost, counts.answer_lost, counts.delayed, counts.doubled,
                         counts.throttled}) {
    EXPECT_GT(count, 10U);
  }
  EXPECT_EQ(cluster.effects_under_way(), counts.delayed + counts.doubled);
  clock.Advance(2s);
  cluster.Settle();
  EXPECT_EQ(cluster.effects_under_way(), 0U);
  EXPECT_EQ(cluster.launches(), 300 - counts.request_lost - counts.throttled);
}

TEST(FakeCluster, SilentNodeKeepsWhatWasLastHeardUnconfirmed) {
  ManualClock clock;
  FakeCluster cluster(clock, 1);
  FakeBackend backend(cluster, clock, kOwner);
  LaunchSpec spec = Spec(1);
  (void)backend.Submit({&spec, 1}, {});
  clock.Advance(20ms);
  auto observe = [&] { return backend.Observe({&spec.id, 1}, {}).value().front(); };
  EXPECT_EQ(observe().phase, LaunchPhase::kRunning);
  cluster.SilenceNode();
  clock.Advance(1s);
  EXPECT_EQ(observe().phase, LaunchPhase::kRunning);
  EXPECT_FALSE(observe().confirmed);
  EXPECT_FALSE(observe().exit_code);
  cluster.HearNode();
  EXPECT_EQ(observe().phase, LaunchPhase::kEnded);
  EXPECT_TRUE(observe().confirmed);
}

TEST(FakeCluster, HangingCallsEndWithTheirStopToken) {
  ManualClock clock;
  FakeCluster cluster(clock, 1);
  FakeBackend backend(cluster, clock, kOwner);
  cluster.HangCalls();
  std::stop_source stop;
  auto kind = SubmitAnswer::Kind::kAccepted;
  std::thread call([&] {
    LaunchSpec spec = Spec(1);
    kind = backend.Submit({&spec, 1}, {{}, stop.get_token()}).front().kind;
  });
  stop.request_stop();
  call.join();
  EXPECT_EQ(kind, SubmitAnswer::Kind::kUnknown);
  EXPECT_EQ(cluster.launches(), 0U);
}

TEST(FakeCluster, SaysWhenItNextHasSomethingToDo) {
  ManualClock clock;
  FakeCluster cluster(clock, 1);
  FakeBackend backend(cluster, clock, kOwner);
  EXPECT_FALSE(cluster.NextDue());
  LaunchSpec spec = Spec(1);
  (void)backend.Submit({&spec, 1}, {});
  EXPECT_EQ(cluster.NextDue(), clock.Read().boot + cluster.start_delay);
  int started = 0;
  cluster.on_start = [&](const LaunchSpec& launch) { started += launch.id == spec.id ? 1 : 100; };
  clock.Advance(cluster.start_delay);
  cluster.Settle();
  EXPECT_EQ(started, 1);
  EXPECT_EQ(cluster.NextDue(), clock.Read().boot + cluster.run_for);
  clock.Advance(cluster.run_for);
  cluster.Settle();
  EXPECT_FALSE(cluster.NextDue());
}

TEST(FakeCluster, HandlersMayActOnTheClusterAtOnce) {
  ManualClock clock;
  FakeCluster cluster(clock, 1);
  FakeBackend backend(cluster, clock, kOwner);
  cluster.on_start = [&](const LaunchSpec& spec) {
    cluster.End(spec.owner, spec.id, {}, 9, "OOMKilled");
  };
  LaunchSpec spec = Spec(1);
  (void)backend.Submit({&spec, 1}, {});
  clock.Advance(1s);
  cluster.Settle();
  auto seen = backend.Observe({&spec.id, 1}, {}).value().front();
  EXPECT_EQ(seen.phase, LaunchPhase::kEnded);
  EXPECT_EQ(seen.raw_reason, "OOMKilled");
}

}  // namespace
}  // namespace muster::test
