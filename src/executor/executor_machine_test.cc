#include "executor/executor_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "executor/machine_driver.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ExecutorMachine, SaysHelloAloneAndReportsOnlyAfterTheWelcome) {
  Driver d;
  d.machine.OnConnected(d.now);
  auto hello = d.Take();
  ASSERT_TRUE(hello && hello->has_hello());
  EXPECT_EQ(hello->hello().executor(), 3u);
  EXPECT_EQ(hello->hello().capacity().milli_cpus(), 2000u);
  EXPECT_EQ(hello->hello().token(), "secret");
  d.Pass(seconds(1));
  EXPECT_FALSE(d.Take());
  d.Send(d.Welcome());
  EXPECT_FALSE(d.Take());
}

TEST(ExecutorMachine, StartsInOrderOfArrivalAsFarAsThereIsRoom) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  EXPECT_THAT(d.Started(), ElementsAre(1, 2));
  d.End(2);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, DoesNotLetASmallOneOvertakeABigOneThatWaits) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1);
  Driver::AddTemplate(message, 2).set_milli_cpus(2000);
  Driver::AddRun(message, 1, 1, 1);
  Driver::AddRun(message, 2, 1, 2);
  Driver::AddRun(message, 3, 1, 1);
  d.Send(message);
  EXPECT_THAT(d.Started(), ElementsAre(1));
  d.End(1);
  EXPECT_THAT(d.Started(), ElementsAre(2));
  d.End(2);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, RunsWhatIsBiggerThanItselfAlone) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1);
  Driver::AddTemplate(message, 2).set_milli_cpus(64000);
  Driver::AddRun(message, 1, 1, 1);
  Driver::AddRun(message, 2, 1, 2);
  d.Send(message);
  EXPECT_THAT(d.Started(), ElementsAre(1));
  d.End(1);
  EXPECT_THAT(d.Started(), ElementsAre(2));
}

TEST(ExecutorMachine, RunsNoMoreThanItsSlots) {
  Driver d(Driver::Identity(8000, 3));
  d.Connect();
  d.Run({1, 2, 3, 4});
  EXPECT_THAT(d.Started(), ElementsAre(1, 2, 3));
}

TEST(ExecutorMachine, KeepsToMemoryWhereItIsAskedFor) {
  Driver d(Driver::Identity(64000, 0));
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1).set_memory_limit(GiB(3).value);
  for (int task : {1, 2, 3}) Driver::AddRun(message, task, 1, 1);
  d.Send(message);
  EXPECT_THAT(d.Started(), ElementsAre(1, 2));
}

TEST(ExecutorMachine, ReportsAnEndAtOnceAndAgainAfterAReconnectUntilItIsAcknowledged) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.End(1, 7);
  auto report = d.Take();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->ended_size(), 1);
  EXPECT_EQ(report->ended(0).code(), 7);
  EXPECT_EQ(report->started_size(), 0);
  EXPECT_FALSE(d.Take());
  for (int round = 0; round < 3; ++round) {
    d.machine.OnDisconnected(d.now);
    d.machine.OnConnected(d.now);
    auto hello = d.Take();
    ASSERT_EQ(hello->hello().finished_size(), 1);
    EXPECT_EQ(hello->hello().finished(0).code(), 7);
    EXPECT_EQ(hello->hello().held_size(), 0);
    d.Send(d.Welcome());
  }
  d.Ack(1);
  EXPECT_EQ(d.Reconnect().finished_size(), 0);
}

TEST(ExecutorMachine, DoesNotSayTwiceWhatItsHelloSaid) {
  Driver d;
  d.Connect();
  d.Run({1, 2});
  d.End(1);
  d.machine.OnDisconnected(d.now);
  d.machine.OnConnected(d.now);
  d.End(2);
  EXPECT_EQ(d.Take()->hello().finished_size(), 2);
  d.Send(d.Welcome());
  EXPECT_FALSE(d.Take());
  // But again when asked.
  d.Run({2}, 1);
  EXPECT_EQ(d.Take()->ended_size(), 1);
}

TEST(ExecutorMachine, SaysThatALongTaskStartedSoonAndAShortOneOnlyThatItEnded) {
  Driver d;
  d.Connect();
  d.Run({1, 2});
  d.Start(1);
  d.Start(2);
  d.End(2);
  auto report = d.Take();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->started_size(), 1);
  EXPECT_EQ(report->ended_size(), 1);
  d.Run({3});
  d.Start(3);
  EXPECT_FALSE(d.Take());
  ASSERT_TRUE(d.machine.NextWake());
  EXPECT_LE(*d.machine.NextWake(), d.now.boot + milliseconds(10));
  d.Pass(milliseconds(10));
  report = d.Take();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->started_size(), 1);
  EXPECT_EQ(report->started(0).pid(), 1003);
}

TEST(ExecutorMachine, IgnoresADoubledRun) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Run({1});
  EXPECT_THAT(d.Started(), ElementsAre(1));
  d.End(1);
  EXPECT_THAT(d.Started(), IsEmpty());
}

TEST(ExecutorMachine, TakesTheHigherSendNumberWithoutRunningTwice) {
  Driver d;
  d.Connect();
  d.Run({1}, 1);
  d.Run({1}, 2);
  EXPECT_THAT(d.Started(), ElementsAre(1));
  d.Start(1);
  d.End(1);
  auto report = d.Take();
  EXPECT_EQ(report->ended(0).attempt().send(), 2u);
  d.Run({1}, 1);
  EXPECT_FALSE(d.Take());
}

TEST(ExecutorMachine, ReportsAFinishedAttemptAgainInsteadOfRunningItAgain) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.End(1, 4);
  d.Take();
  d.Run({1}, 5);
  EXPECT_THAT(d.Started(), ElementsAre(1));
  auto report = d.Take();
  ASSERT_EQ(report->ended_size(), 1);
  EXPECT_EQ(report->ended(0).code(), 4);
  EXPECT_EQ(report->ended(0).attempt().send(), 5u);
}

TEST(ExecutorMachine, NeverRunsWhatWasAcknowledgedAgain) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.End(1);
  d.Ack(1);
  d.Started();
  d.Take();
  d.Run({1}, 2);
  EXPECT_THAT(d.Started(), IsEmpty());
  auto report = d.Take();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->unknown_size(), 1);
}

TEST(ExecutorMachine, GivesBackOnlyWhatNeverStarted) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  auto message = d.Message();
  for (int task : {1, 3, 9}) Driver::Name(*message.add_recalls(), task, 1);
  d.Start(1);
  d.Pass(milliseconds(20));
  d.Take();
  d.Send(message);
  auto report = d.Take();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->dropped_size(), 1);
  EXPECT_EQ(report->dropped(0).task(), 3u);
  ASSERT_EQ(report->started_size(), 1);
  EXPECT_EQ(report->started(0).attempt().task(), 1u);
  ASSERT_EQ(report->unknown_size(), 1);
  EXPECT_EQ(report->unknown(0).task(), 9u);
}

TEST(ExecutorMachine, SaysNothingOfAStartThatIsUnderWayAndThenThatItStarted) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Recall(1);
  EXPECT_FALSE(d.Take());
  d.Start(1);
  d.Pass(milliseconds(10));
  EXPECT_EQ(d.Take()->started_size(), 1);
}

TEST(ExecutorMachine, TakesADroppedAttemptAgainOnlyWithAHigherSend) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Recall(3, 1);
  d.Take();
  d.Run({3}, 1);
  EXPECT_EQ(d.Take()->dropped_size(), 1);
  d.Run({3}, 2);
  EXPECT_FALSE(d.Take());
  d.Started();
  d.End(1);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, NeverStartsWhatItCalledUnknown) {
  Driver d;
  d.Connect();
  d.Recall(1);
  EXPECT_EQ(d.Take()->unknown_size(), 1);
  d.Run({1}, 1);
  EXPECT_THAT(d.Started(), IsEmpty());
  EXPECT_EQ(d.Take()->dropped_size(), 1);
}

TEST(ExecutorMachine, IgnoresARecallOfAnOlderSend) {
  Driver d;
  d.Connect();
  d.Run({1, 2});
  d.Run({3}, 4);
  d.Recall(3, 3);
  EXPECT_FALSE(d.Take());
  d.Started();
  d.End(1);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, AnswersARecallWithTheSendItNamed) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Recall(3, 5);
  EXPECT_EQ(d.Take()->dropped(0).send(), 5u);
  d.Run({3}, 5);
  EXPECT_EQ(d.Take()->dropped_size(), 1);
}

TEST(ExecutorMachine, StopsWithGraceWhatRunsAndDropsWhatWaits) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Start(1);
  auto message = d.Message();
  for (int task : {1, 3}) {
    v1::Stop& stop = *message.add_stops();
    Driver::Name(*stop.mutable_attempt(), task, 1);
    stop.set_cause(v1::Ended::CANCELLED);
    stop.set_grace_us(2'000'000);
  }
  d.Send(message);
  auto stops = d.Actions<StopRunning>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].attempt, Driver::Id(1));
  EXPECT_EQ(stops[0].cause, StopCause::kCancelled);
  EXPECT_EQ(stops[0].grace, seconds(2));
  EXPECT_EQ(d.Take()->dropped_size(), 1);
  // Doubled: nothing. With less grace: passed on.
  d.Send(message);
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  d.Stop(1, seconds(0));
  ASSERT_EQ(d.Actions<StopRunning>().size(), 1u);
}

TEST(ExecutorMachine, DoesNotStartWhatIsSentAndStoppedInOneMessage) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1);
  Driver::AddRun(message, 1, 1, 1);
  Driver::Name(*message.add_stops()->mutable_attempt(), 1, 1);
  d.Send(message);
  EXPECT_THAT(d.Started(), IsEmpty());
  EXPECT_EQ(d.Take()->dropped_size(), 1);
}

TEST(ExecutorMachine, StopsAtTheTimeLimitCountedFromTheStart) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  v1::Template& limited = Driver::AddTemplate(message, 1);
  limited.set_time_limit_us(2'000'000);
  limited.set_grace_us(500'000);
  Driver::AddRun(message, 1, 1, 1);
  d.Send(message);
  d.Pass(seconds(1));
  d.Start(1);
  d.Pass(milliseconds(1999));
  EXPECT_EQ(d.Take()->started_size(), 1);
  EXPECT_THAT(d.Actions<StopRunning>(), IsEmpty());
  EXPECT_EQ(d.machine.NextWake(), d.now.boot + milliseconds(1));
  d.Pass(milliseconds(1));
  auto stops = d.Actions<StopRunning>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].cause, StopCause::kTimeLimit);
  EXPECT_EQ(stops[0].grace, milliseconds(500));
}

TEST(ExecutorMachine, StartsNothingAfterTheLeaseAndGoesOnWhenItIsRenewed) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Started();
  d.machine.OnDisconnected(d.now);
  d.Pass(seconds(31));
  d.End(1);
  EXPECT_THAT(d.Started(), IsEmpty());
  EXPECT_EQ(d.Reconnect().held_size(), 2);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, CountsTheLeaseFromWhenTheEchoedHeartbeatWasSent) {
  Driver d;
  d.Connect();
  BootTime connected = d.now.boot;
  EXPECT_EQ(d.machine.lease_end(), connected + seconds(30));
  d.Pass(milliseconds(4999));
  EXPECT_FALSE(d.Take());
  d.Pass(milliseconds(1));
  auto beat = d.Take();
  ASSERT_TRUE(beat && beat->has_heartbeat());
  d.machine.OnTime(d.now);
  EXPECT_FALSE(d.Take());
  EXPECT_EQ(beat->heartbeat().sent_boot_us(), d.now.boot.us);
  d.Pass(seconds(4));
  auto echo = d.Message();
  echo.set_heartbeat_echo_us(beat->heartbeat().sent_boot_us());
  d.Send(echo);
  EXPECT_EQ(d.machine.lease_end(), connected + seconds(35));
  // An echo from the future counts as now.
  echo.set_heartbeat_echo_us(d.now.boot.us + 1'000'000'000);
  d.Send(echo);
  EXPECT_EQ(d.machine.lease_end(), d.now.boot + seconds(30));
}

TEST(ExecutorMachine, CountsTheFirstLeaseFromItsHello) {
  Driver d;
  d.machine.OnConnected(d.now);
  d.Take();
  BootTime said = d.now.boot;
  d.Pass(seconds(6));
  d.Send(d.Welcome());
  EXPECT_EQ(d.machine.lease_end(), said + seconds(30));
}

TEST(ExecutorMachine, ObeysOnlyTheHighestEpochItHasSeen) {
  Driver d;
  d.Connect(5);
  auto old = d.Message();
  old.set_epoch(4);
  Driver::AddTemplate(old, 1);
  Driver::AddRun(old, 1, 1, 1);
  d.Send(old);
  EXPECT_THAT(d.Started(), IsEmpty());
  d.machine.OnDisconnected(d.now);
  d.machine.OnConnected(d.now);
  EXPECT_EQ(d.Take()->hello().highest_epoch(), 5u);
  auto welcome = d.Welcome();
  welcome.set_epoch(4);
  welcome.mutable_welcome()->set_epoch(4);
  d.Send(welcome);
  EXPECT_FALSE(d.machine.in_contact());
  // Nobody with a right to speaks here: it dials again.
  d.Pass(seconds(10));
  EXPECT_EQ(d.Actions<CutConnection>().size(), 1u);
}

TEST(ExecutorMachine, DialsAgainWhenTheControllerIsSilentForALease) {
  Driver d;
  d.Connect();
  d.Pass(seconds(29));
  EXPECT_THAT(d.Actions<CutConnection>(), IsEmpty());
  d.Pass(seconds(1));
  EXPECT_EQ(d.Actions<CutConnection>().size(), 1u);
}

TEST(ExecutorMachine, HeartbeatsCarryCountAndHashOfWhatIsHeld) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.End(1);
  d.Pass(seconds(5));
  auto first = d.Take()->heartbeat();
  EXPECT_EQ(first.held_count(), 2u);
  d.End(3);
  d.End(2);
  d.Pass(seconds(5));
  auto second = d.Take()->heartbeat();
  EXPECT_EQ(second.held_count(), 0u);
  EXPECT_EQ(second.held_hash(), 0u);
}

TEST(ExecutorMachine, SendsTheFullListWhenAsked) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Start(1);
  d.End(2);
  d.Take();
  auto ask = d.Message();
  ask.set_send_held(true);
  d.Send(ask);
  auto list = d.Take();
  EXPECT_EQ(list->held_size(), 2);
  EXPECT_EQ(list->heartbeat().held_count(), 2u);
}

TEST(ExecutorMachine, ReportsARunWhoseTemplateNeverCameAsAPassingStartFailure) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddRun(message, 1, 1, 77);
  d.Send(message);
  auto report = d.Take();
  ASSERT_EQ(report->ended_size(), 1);
  EXPECT_EQ(report->ended(0).how(), v1::Ended::NOT_STARTED);
  EXPECT_EQ(report->ended(0).code(), EAGAIN);
}

TEST(ExecutorMachine, TakesNoTemplateFromAnEarlierConnection) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Reconnect();
  auto message = d.Message();
  Driver::AddRun(message, 2, 1, 1);
  d.Send(message);
  EXPECT_EQ(d.Take()->ended(0).how(), v1::Ended::NOT_STARTED);
}

TEST(ExecutorMachine, RemembersOnlySoManyThatLeft) {
  AttemptTable table({});
  for (uint32_t task = 1; task <= AttemptTable::kRemembered + 1; ++task) {
    table.RememberDropped(Driver::Id(task), 1);
  }
  EXPECT_FALSE(table.FindPast(Driver::Id(1)));
  EXPECT_TRUE(table.FindPast(Driver::Id(2)));
}

TEST(ExecutorMachine, ForgetsTemplatesButNotTheRunsThatUseThem) {
  Driver d;
  d.Connect();
  d.Run({1, 2, 3});
  d.Started();
  auto message = d.Message();
  message.add_forget_templates(1);
  d.Send(message);
  d.End(1);
  EXPECT_THAT(d.Started(), ElementsAre(3));
}

TEST(ExecutorMachine, AnswersACorruptCauseOrNegativeGraceLikeAStopAtOnce) {
  Driver d;
  d.Connect();
  d.Run({1});
  d.Stop(1, seconds(-5));
  auto stops = d.Actions<StopRunning>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].grace, seconds(0));
}

}  // namespace
}  // namespace muster::executor
