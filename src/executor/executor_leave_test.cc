// When an executor drains and leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/executor_machine.h"
#include "executor/machine_driver.h"

namespace muster::executor {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Lets time pass in steps of what the machine asks for; returns how long it took until it left.
std::optional<Duration> UntilItLeaves(Driver& d, Duration limit) {
  BootTime begin = d.now.boot;
  BootTime end = begin + limit;
  while (!d.machine.left() && d.now.boot < end) {
    std::optional<BootTime> wake = d.machine.NextWake();
    BootTime next = wake ? std::min(*wake, end) : end;
    d.Pass(std::max(next - d.now.boot, Duration{1}));
  }
  if (!d.machine.left()) return std::nullopt;
  return d.now.boot - begin;
}

TEST(ExecutorLeave, LeavesAfterTenMinutesIdleWithoutAController) {
  Driver d;
  d.Connect();
  d.Pass(seconds(29));
  d.machine.OnDisconnected(d.now);
  EXPECT_EQ(UntilItLeaves(d, hours(1)), minutes(10));
}

TEST(ExecutorLeave, LeavesSoonIfItNeverReachesAController) {
  Driver d;
  EXPECT_EQ(UntilItLeaves(d, hours(1)), seconds(10));
}

TEST(ExecutorLeave, WaitsForTheAnswerToItsFirstHello) {
  Driver d;
  d.Pass(seconds(9));
  d.machine.OnConnected(d.now);
  d.Take();
  d.Pass(seconds(9));
  EXPECT_FALSE(d.machine.left());
  d.Send(d.Welcome());
  d.Pass(seconds(29));
  EXPECT_FALSE(d.machine.left());
}

TEST(ExecutorLeave, WaitsADayWhileItHoldsResults) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.machine.OnDisconnected(d.now);
  d.End(1);
  EXPECT_EQ(UntilItLeaves(d, hours(30)), hours(24));
}

TEST(ExecutorLeave, StaysAsLongAsSomethingRuns) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Start(1);
  d.machine.OnDisconnected(d.now);
  EXPECT_EQ(UntilItLeaves(d, hours(30)), std::nullopt);
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  d.End(1);
  EXPECT_TRUE(d.machine.left());
}

TEST(ExecutorLeave, AnIdleExecutorInContactStays) {
  Driver d;
  d.Connect();
  for (int i = 0; i < 1000; ++i) {
    d.Pass(seconds(5));
    while (d.Take()) {
    }
    d.Send(d.Message());
  }
  EXPECT_FALSE(d.machine.left());
}

TEST(ExecutorLeave, DrainGivesBackWhatWaitsAndLeavesAfterTheLastAcknowledgement) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Start(1);
  d.Start(2);
  d.Drain(seconds(60));
  EXPECT_EQ(d.Take()->dropped_size(), 1);
  d.Run({4});
  auto refused = d.Take();
  EXPECT_EQ(refused->dropped_size(), 1);
  d.End(1);
  d.End(2);
  auto ended = d.Take();
  EXPECT_EQ(ended->ended_size(), 2);
  EXPECT_FALSE(ended->drained());
  d.Ack(1);
  EXPECT_FALSE(d.Take());
  d.Ack(2);
  EXPECT_TRUE(d.Take()->drained());
  EXPECT_EQ(d.Actions<Leave>().size(), 1u);
}

TEST(ExecutorLeave, DrainStopsWhatRunsSoThatItEndsWithinTheGrace) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Start(1);
  d.Drain(seconds(20));
  d.Pass(seconds(14));
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  d.Pass(seconds(1));
  auto stops = d.Actions<StopRunning>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].cause, StopCause::kDraining);
  EXPECT_EQ(stops[0].grace, seconds(5));
}

TEST(ExecutorLeave, ADrainReplacesTheAlarmOfALongTimeLimit) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1).set_time_limit_us(100'000'000);
  Driver::AddRun(message, 1, 1, 1);
  d.Send(message);
  d.Start(1);
  d.Drain(seconds(20));
  d.End(1);
  d.Ack(1);
  d.Pass(seconds(25));
  d.Pass(seconds(100));
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
}

TEST(ExecutorLeave, LeavesAlsoWhenItsLastWordCouldNotBeSaid) {
  Driver d;
  d.Connect();
  d.Drain(seconds(1));
  d.machine.OnDisconnected(d.now);
  EXPECT_TRUE(d.machine.left());
}

TEST(ExecutorLeave, ASecondDrainCanOnlyMakeItShorter) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Start(1);
  d.Drain(seconds(20));
  d.Drain(seconds(60));
  d.Pass(seconds(15));
  ASSERT_EQ(d.Actions<StopRunning>().size(), 1u);
  d.Drain(seconds(0));
  auto stops = d.Actions<StopRunning>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].grace, seconds(0));
}

TEST(ExecutorLeave, DrainWaitsForTheOrderToPublish) {
  Driver d;
  d.Connect();
  d.RunWithOut({1});
  d.End(1);
  d.Drain(seconds(1));
  d.Take();
  d.Ack(1);
  d.Pass(seconds(2));
  EXPECT_FALSE(d.machine.left());
  d.Publish(1);
  d.machine.OnPublished(Driver::Id(1), 1, d.now);
  auto last = d.Take();
  EXPECT_EQ(last->published_size(), 1);
  EXPECT_TRUE(last->drained());
}

TEST(ExecutorLeave, DrainDoesNotWaitForeverForOutputThatWasSuperseded) {
  Driver d;
  d.Connect();
  d.RunWithOut({1});
  d.End(1);
  d.Drain(seconds(1));
  d.Take();
  d.Ack(1);
  d.Pass(seconds(10));
  EXPECT_TRUE(d.Take()->drained());
  // It may be an accepted one after all: the file stays where it is.
  EXPECT_THAT(d.Actions<DiscardOutput>(), IsEmpty());
}

TEST(ExecutorLeave, DrainKeepsResultsWhileTheControllerIsAway) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Drain(seconds(1));
  d.machine.OnDisconnected(d.now);
  d.End(1);
  d.Pass(hours(1));
  EXPECT_FALSE(d.machine.left());
  EXPECT_EQ(d.Reconnect().finished_size(), 1);
  d.Ack(1);
  EXPECT_TRUE(d.Take()->drained());
}

TEST(ExecutorLeave, ASignalDrainsAndWaitsOnlyShortlyForAnAbsentController) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Start(1);
  d.Start(2);
  d.machine.OnDisconnected(d.now);
  d.machine.OnAskedToLeave(seconds(10), "SIGTERM", d.now);
  d.Pass(seconds(5));
  EXPECT_EQ(d.Actions<StopRunning>().size(), 2u);
  d.End(1);
  d.End(2);
  EXPECT_EQ(UntilItLeaves(d, hours(1)), seconds(10));
  EXPECT_THAT(d.Started(), ElementsAre(1, 2));
}

TEST(ExecutorLeave, ASignalLeavesAtOnceWhenNothingIsHeld) {
  Driver d;
  d.machine.OnAskedToLeave(seconds(10), "SIGTERM", d.now);
  EXPECT_TRUE(d.machine.left());
}

TEST(ExecutorLeave, ARefusalThatSaysLeaveEndsEverything) {
  Driver d;
  d.Connect();
  d.Run({1, 2});
  d.Start(1);
  d.Start(2);
  d.machine.OnDisconnected(d.now);
  d.machine.OnConnected(d.now);
  d.Take();
  auto refused = d.Message();
  refused.mutable_refusal()->set_why("another incarnation lives");
  refused.mutable_refusal()->set_leave(true);
  d.Send(refused);
  EXPECT_EQ(d.Actions<CutConnection>().size(), 1u);
  d.Pass(seconds(5));
  EXPECT_EQ(d.Actions<StopRunning>().size(), 2u);
  d.End(1);
  EXPECT_FALSE(d.machine.left());
  d.End(2);
  EXPECT_TRUE(d.machine.left());
}

TEST(ExecutorLeave, ARefusalWithoutLeaveKeepsDialling) {
  Driver d;
  d.machine.OnConnected(d.now);
  d.Take();
  auto refused = d.Message();
  refused.mutable_refusal()->set_why("not now");
  d.Send(refused);
  EXPECT_EQ(d.Actions<CutConnection>().size(), 1u);
  EXPECT_FALSE(d.machine.leaving());
  d.Reconnect();
  EXPECT_TRUE(d.machine.in_contact());
}

TEST(ExecutorLeave, AnOrphanStopsEverythingAndLeaves) {
  Driver d;
  d.stop_orphaned = seconds(8);
  d.Connect();
  d.Run({1, 2, 3});
  d.Start(1);
  d.Start(2);
  d.machine.OnDisconnected(d.now);
  d.Pass(seconds(7));
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  d.Pass(seconds(1));
  d.Pass(milliseconds(500));
  EXPECT_EQ(d.Actions<StopRunning>().size(), 2u);
  d.End(1);
  d.End(2);
  EXPECT_TRUE(d.machine.left());
}

TEST(ExecutorLeave, AControllerThatReturnsInTimeFindsAllAsItWas) {
  Driver d;
  d.stop_orphaned = seconds(8);
  d.Connect();
  d.Run({1});
  d.Start(1);
  d.machine.OnDisconnected(d.now);
  d.Pass(seconds(7));
  EXPECT_EQ(d.Reconnect().held_size(), 1);
  d.Pass(seconds(20));
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  EXPECT_FALSE(d.machine.leaving());
}

TEST(ExecutorLeave, AnOrphanThatNeverSawItsControllerLeavesByItsLaunchRules) {
  ContactRules rules;
  rules.stop_orphaned = seconds(10);
  Driver d(Driver::Identity(), rules);
  EXPECT_EQ(UntilItLeaves(d, hours(1)), seconds(10));
}

TEST(ExecutorLeave, SaysNothingAndDoesNothingAfterItLeft) {
  Driver d;
  d.machine.OnAskedToLeave(seconds(0), "SIGTERM", d.now);
  d.Actions<Leave>();
  d.machine.OnConnected(d.now);
  d.Send(d.Welcome());
  d.Run({1});
  d.Pass(hours(1));
  EXPECT_THAT(d.Started(), IsEmpty());
  EXPECT_THAT(d.Actions<Leave>(), IsEmpty());
  EXPECT_FALSE(d.Take());
  EXPECT_EQ(d.machine.NextWake(), std::nullopt);
}

}  // namespace
}  // namespace muster::executor
