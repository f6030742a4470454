#include <gtest/gtest.h>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

void Fail(FakeWorld& world, LaunchId launch, std::string words) {
  LaunchObservation seen;
  seen.id = launch;
  seen.phase = LaunchPhase::kEnded;
  seen.confirmed = true;
  seen.exit_code = 1;
  seen.raw_reason = std::move(words);
  world.Give(ObserveLaunch{seen});
}

size_t Open(const FakeWorld& world) { return world.state.rep().open_launches.size(); }

TEST(Scaling, StartsNothingWithoutWork) {
  FakeWorld world({Here(5)});
  world.Advance(minutes(1));
  EXPECT_TRUE(world.executors.empty());
}

TEST(Scaling, StartsAsManyAsTheWorkFills) {
  FakeWorld world({Here(50)});
  world.Submit(JobOf({ArraySpec("a", 7)}));
  EXPECT_EQ(world.executors.size(), 4u);
}

TEST(Scaling, StaysWithinTheLargestPool) {
  FakeWorld world({Here(3)});
  world.Submit(JobOf({ArraySpec("a", 700)}));
  EXPECT_EQ(world.executors.size(), 3u);
}

TEST(Scaling, AsksForNoMoreThanACapLetsRun) {
  FakeWorld world({Here(50)});
  world.Submit(JobOf({ArraySpec("a", 700, 3)}));
  EXPECT_EQ(world.executors.size(), 2u);
}

TEST(Scaling, GrowsInDoublingSteps) {
  FakeWorld world({Here(50)});
  world.shy_launches = true;
  world.Submit(JobOf({ArraySpec("a", 70)}));
  EXPECT_EQ(world.executors.size(), 1u);
  world.executor(0).Hello();
  EXPECT_EQ(world.executors.size(), 3u);
  world.executor(1).Hello();
  world.executor(2).Hello();
  EXPECT_EQ(world.executors.size(), 11u) << "8 may be starting at once";
}

TEST(Scaling, KeepsTheSmallestPoolUp) {
  ClusterSettings here = Here(5);
  here.pool_min = 2;
  FakeWorld world({here});
  world.Advance(seconds(1));
  EXPECT_EQ(world.executors.size(), 2u);
  world.Advance(minutes(5));
  EXPECT_FALSE(world.executor(0).told_to_drain());
  EXPECT_FALSE(world.executor(1).told_to_drain());
}

TEST(Scaling, SubmitsOnceTheLaunchIsDurable) {
  FakeWorld world;
  world.Submit(OneTask());
  for (const Effect& effect : world.effects) {
    if (std::holds_alternative<SubmitLaunch>(effect.body)) {
      EXPECT_EQ(effect.after, After::kDurable);
    }
  }
}

TEST(Scaling, WaitsLongerAfterEachFailedStart) {
  FakeWorld world;
  world.shy_launches = true;
  JobId job = world.Submit(OneTask());
  Fail(world, world.executor(0).launch(), "no such file: muster-executor");
  EXPECT_EQ(world.executors.size(), 1u) << "not at once";
  WhyView why = world.Why({job, 1});
  EXPECT_EQ(why.cause, WhyCause::kNoExecutor);
  EXPECT_NE(why.sentence.find("muster-executor"), std::string::npos) << why.sentence;
  EXPECT_NE(why.sentence.find("1 start failed"), std::string::npos) << why.sentence;
  world.Advance(seconds(1));
  EXPECT_EQ(world.executors.size(), 2u);
  Fail(world, world.executor(1).launch(), "again");
  world.Advance(std::chrono::milliseconds(1900));
  EXPECT_EQ(world.executors.size(), 2u);
  world.Advance(std::chrono::milliseconds(200));
  EXPECT_EQ(world.executors.size(), 3u);
}

TEST(Scaling, GivesUpForAMinuteAfterFiveFailuresAndSaysWhy) {
  FakeWorld world;
  world.shy_launches = true;
  JobId job = world.Submit(OneTask());
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(world.executors.size(), i + 1);
    Fail(world, world.executor(i).launch(), "broken");
    if (i < 4) world.Advance(seconds(9));
  }
  world.Advance(seconds(59));
  EXPECT_EQ(world.executors.size(), 5u);
  EXPECT_NE(world.Why({job, 1}).sentence.find("given up"), std::string::npos);
  world.Advance(seconds(2));
  ASSERT_EQ(world.executors.size(), 6u);
  world.executor(5).Hello();
  EXPECT_EQ(world.Word({job, 1}), "active");
}

TEST(Scaling, DrainsAnIdleExecutorAfterItsTime) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.Advance(seconds(59));
  EXPECT_FALSE(world.executor().told_to_drain());
  world.Advance(seconds(2));
  EXPECT_TRUE(world.executor().told_to_drain());
  world.executor().Drained();
  EXPECT_EQ(world.EffectsOf<StopLaunch>().size(), 1u);
  EXPECT_TRUE(world.EffectsOf<ForgetLaunch>().empty());
  world.ProveDead(world.executor());
  EXPECT_EQ(world.EffectsOf<ForgetLaunch>().size(), 1u);
  EXPECT_EQ(Open(world), 0u);
}

TEST(Scaling, NeverDrainsABusyExecutor) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.Advance(minutes(10));
  EXPECT_FALSE(world.executor().told_to_drain());
  world.executor().FinishTask({job, 1});
  world.Advance(seconds(50));
  JobId next = world.Submit(OneTask());
  world.Advance(seconds(50));
  EXPECT_FALSE(world.executor().told_to_drain());
  EXPECT_EQ(world.Word({next, 1}), "active");
}

TEST(Scaling, ASecondExecutorTakesOverFromOneThatDrains) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.Advance(seconds(62));
  JobId next = world.Submit(OneTask());
  ASSERT_EQ(world.executors.size(), 2u);
  EXPECT_TRUE(world.executor(1).Holds({{next, 1}, 1}));
}

TEST(Launch, RefusedIsAFailedStartWithTheClustersWords) {
  FakeWorld world;
  world.shy_launches = true;
  JobId job = world.Submit(OneTask());
  world.Give(LaunchAnswer{world.executor().launch(), LaunchAnswerKind::kRefused, "",
                          ClusterError(ErrorCode::kPermissionDenied, "submit", "Invalid account")});
  EXPECT_NE(world.Why({job, 1}).sentence.find("Invalid account"), std::string::npos);
  EXPECT_EQ(Open(world), 0u);
}

TEST(Launch, WithAnUnknownOutcomeIsLookedFor) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(OneTask());
  world.Give(LaunchAnswer{world.executor().launch(), LaunchAnswerKind::kUnknown, "", std::nullopt});
  EXPECT_EQ(world.EffectsOf<FindLaunch>().size(), 1u);
  EXPECT_EQ(Open(world), 1u);
  world.Advance(seconds(11));
  EXPECT_EQ(world.EffectsOf<FindLaunch>().size(), 2u);
}

TEST(Launch, AbsentForCertainNeverStarted) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(OneTask());
  LaunchObservation seen;
  seen.id = world.executor().launch();
  seen.phase = LaunchPhase::kAbsent;
  seen.confirmed = true;
  world.Give(ObserveLaunch{seen});
  EXPECT_EQ(Open(world), 0u);
  EXPECT_EQ(world.state.ViewLaunches().at(0).state, LaunchState::kEnded);
}

TEST(Launch, StatesNeedNotBeSeenOneByOne) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(JobOf({ArraySpec("a", 2)}));
  LaunchId launch = world.executor().launch();
  auto see = [&](LaunchPhase phase) {
    LaunchObservation seen;
    seen.id = launch;
    seen.phase = phase;
    world.Give(ObserveLaunch{seen});
    return world.state.ViewLaunches().back().state;
  };
  EXPECT_EQ(see(LaunchPhase::kUnknown), LaunchState::kPlanned);
  EXPECT_EQ(see(LaunchPhase::kPending), LaunchState::kStarting);
  world.Give(LaunchAnswer{launch, LaunchAnswerKind::kAccepted, "p", std::nullopt});
  EXPECT_EQ(see(LaunchPhase::kPending), LaunchState::kStarting);
  EXPECT_EQ(see(LaunchPhase::kRunning), LaunchState::kUp);
  EXPECT_EQ(see(LaunchPhase::kPending), LaunchState::kUp) << "reordered";
  Fail(world, launch, "");
  EXPECT_EQ(see(LaunchPhase::kRunning), LaunchState::kEnded) << "late";
}

// A launch brought to `state` by what the cluster says.
void Bring(FakeWorld& world, LaunchId launch, LaunchState state) {
  LaunchObservation seen;
  seen.id = launch;
  switch (state) {
    case LaunchState::kSent:
      world.Give(LaunchAnswer{launch, LaunchAnswerKind::kAccepted, "p", std::nullopt});
      break;
    case LaunchState::kStarting:
    case LaunchState::kUp:
      seen.phase = state == LaunchState::kUp ? LaunchPhase::kRunning : LaunchPhase::kPending;
      world.Give(ObserveLaunch{seen});
      break;
    default: break;
  }
}

TEST(Launch, MayEndOrBeStoppedFromAnyState) {
  for (LaunchState state : {LaunchState::kPlanned, LaunchState::kSent, LaunchState::kStarting,
                            LaunchState::kUp}) {
    FakeWorld ends;
    ends.shy_launches = true;
    ends.Submit(OneTask());
    LaunchId launch = ends.executor().launch();
    Bring(ends, launch, state);
    ASSERT_EQ(ends.state.ViewLaunches().back().state, state);
    Fail(ends, launch, "gone");
    EXPECT_EQ(ends.state.ViewLaunches().back().state, LaunchState::kEnded);

    FakeWorld stops;
    stops.shy_launches = true;
    stops.Submit(OneTask());
    Bring(stops, launch, state);
    stops.Advance(minutes(5) + seconds(1));
    EXPECT_EQ(stops.state.ViewLaunches().at(0).state, LaunchState::kStopping);
    EXPECT_FALSE(stops.EffectsOf<StopLaunch>().empty());
    Fail(stops, launch, "gone");
    EXPECT_EQ(stops.state.ViewLaunches().at(0).state, LaunchState::kEnded);
  }
}

TEST(Launch, MayComeUpFromAnyState) {
  for (LaunchState state : {LaunchState::kPlanned, LaunchState::kSent, LaunchState::kStarting}) {
    FakeWorld world;
    world.shy_launches = true;
    JobId job = world.Submit(OneTask());
    Bring(world, world.executor().launch(), state);
    world.executor().Hello();
    EXPECT_EQ(world.state.ViewLaunches().back().state, LaunchState::kUp);
    EXPECT_EQ(world.Word({job, 1}), "active");
  }
}

TEST(Launch, IsSeenStartingAfterItWasAccepted) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(OneTask());
  Bring(world, world.executor().launch(), LaunchState::kSent);
  Bring(world, world.executor().launch(), LaunchState::kStarting);
  EXPECT_EQ(world.state.ViewLaunches().back().state, LaunchState::kStarting);
}

TEST(Launch, NoLongerNeededIsStopped) {
  FakeWorld world;
  world.shy_launches = true;
  JobId job = world.Submit(OneTask());
  world.Cancel(job);
  world.Advance(seconds(62));
  EXPECT_EQ(world.EffectsOf<StopLaunch>().size(), 1u);
  Fail(world, world.executor().launch(), "killed");
  EXPECT_EQ(world.state.rep().pools[0]->failures, 0u) << "that was no failed start";
}

TEST(Launch, IsAskedForAgainAfterARestartUnderTheSameName) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(OneTask());
  auto first = world.EffectsOf<SubmitLaunch>().at(0);
  world.Restart();
  auto again = world.EffectsOf<SubmitLaunch>();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].spec.id, first.spec.id);
  EXPECT_EQ(again[1].spec.owner, first.spec.owner);
}

}  // namespace
}  // namespace muster::core::testing
