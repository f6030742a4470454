// Executors come, go, lose contact and come back; controllers die and start again.
#include <gtest/gtest.h>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

JobSpec Once() {
  JobSpec spec = OneTask();
  spec.tasks[0].once = true;
  return spec;
}
JobSpec Many(int64_t count) { return JobOf({ArraySpec("a", count)}); }

ExecutorState StateOf(const FakeWorld& world, ExecutorId id) {
  for (const ExecutorView& view : world.state.ViewExecutors()) {
    if (view.id == id) return view.state;
  }
  return ExecutorState::kGone;
}

TEST(Hello, AgainAfterACutChangesNothing) {
  FakeWorld world;
  JobId job = world.Submit(Many(4));
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  size_t facts = world.journal.size();
  world.executor().Hello();
  EXPECT_EQ(world.journal.size(), facts);
  EXPECT_EQ(world.state.ViewJob(job)->counts.active, 2u);
}

TEST(Hello, BringsResultsThatWaited) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Cut();
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.executor().unacknowledged(), 1u);
  world.executor().Hello();
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.executor().unacknowledged(), 0u);
}

TEST(Hello, BringsStartsThatWereLost) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Cut();
  world.executor().Start({{job, 1}, 1});
  world.executor().Hello();
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kRunning);
}

TEST(Hello, WithoutAnAttemptThatNeverArrivedGetsItAgainUnderTheSameSend) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Lose({{job, 1}, 1});
  world.executor().Cut();
  world.executor().Hello();
  ASSERT_TRUE(world.executor().Holds({{job, 1}, 1}));
  EXPECT_EQ(world.executor().held().at({{job, 1}, 1}).send, 1u);
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).size(), 1u);
}

TEST(Hello, WithoutAnAttemptThatRanEndsItAsUnknown) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Lose({{job, 1}, 1});
  world.executor().Cut();
  world.executor().Hello();
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).at(0).reason->kind, EndKind::kUnknown);
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kBackOff);
}

TEST(Hello, OfAStoppedTaskThatNeverArrivedEndsIt) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Lose({{job, 1}, 1});
  world.executor().Cut();
  world.Cancel(job);
  world.executor().Hello();  // asked to stop it, it says that it does not know it
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
}

TEST(Hello, OfASecondIncarnationIsRefused) {
  FakeWorld world;
  world.Submit(OneTask());
  ExecutorHello hello;
  hello.who = world.FactsOf<ExecutorRegistered>().at(0);
  hello.who.incarnation = "another";
  world.Give(hello);
  auto welcome = world.EffectsOf<WelcomeExecutor>().back();
  EXPECT_EQ(welcome.incarnation, "another");
  EXPECT_TRUE(welcome.leave);
  EXPECT_NE(welcome.refusal, "");
  EXPECT_EQ(world.FactsOf<ExecutorRegistered>().size(), 1u);
}

TEST(Hello, OfAnUnknownLaunchIsRefused) {
  FakeWorld world;
  ExecutorHello hello;
  hello.who.executor = ExecutorId{9};
  hello.who.launch = LaunchId{9};
  hello.who.incarnation = "i";
  world.Give(hello);
  EXPECT_TRUE(world.EffectsOf<WelcomeExecutor>().back().leave);
  EXPECT_TRUE(world.state.ViewExecutors().empty());
}

TEST(Hello, OfAnExecutorThatIsGoneSendsItAway) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  FakeExecutor& first = world.executor();
  first.Start({{job, 1}, 1});
  first.Cut();
  world.ProveDead(first);
  world.Advance(seconds(2));
  first.Hello();
  EXPECT_TRUE(first.told_to_leave());
  bool stopped = false;
  for (const StopAttempt& stop : world.EffectsOf<StopAttempt>()) {
    stopped = stopped || (stop.executor == first.id() && stop.attempt == AttemptId{{job, 1}, 1});
  }
  EXPECT_TRUE(stopped);
  world.executor(1).FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Held, UnknownAttemptsOfKnownTasksAreAdopted) {
  FakeWorld world;
  JobId job = world.Submit(Many(3));
  size_t before = world.journal.size();
  world.executor().Start({{job, 1}, 1});
  // The plan of all attempts was lost in a power cut, the job was not.
  size_t keep = 0;
  for (size_t i = 0; i < before; ++i) {
    if (std::holds_alternative<AttemptsPlanned>(world.journal[i])) {
      keep = i;
      break;
    }
  }
  for (auto& executor : world.executors) executor->Cut();
  world.RestartWith(keep, "other boot");
  EXPECT_EQ(world.Word({job, 1}), "ready");
  world.executor().Hello();
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kRunning);
  EXPECT_EQ(world.Why({job, 2}).cause, WhyCause::kSent);
  world.executor().FinishAll();
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).size(), 1u);
}

TEST(Held, ResultsOfUnknownAttemptsOfKnownTasksAreAccepted) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  size_t planned = 0;
  while (!std::holds_alternative<AttemptsPlanned>(world.journal[planned])) ++planned;
  world.executor().Cut();
  world.executor().FinishTask({job, 1});
  world.RestartWith(planned, "other boot");
  world.executor().Hello();
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Held, AdoptsARetryWhosePlanWasLost) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].retries.user = 2;
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1}, Exited(1));
  size_t keep = world.journal.size();  // the task waits for its retry
  world.Advance(seconds(3));
  ASSERT_TRUE(world.executor().Holds({{job, 1}, 2}));
  world.executor().Cut();
  world.now.wall = world.now.wall - seconds(3);
  world.RestartWith(keep, "other boot");
  ASSERT_EQ(world.Why({job, 1}).cause, WhyCause::kBackOff);
  world.executor().Hello();
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kSent);
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Held, AdoptsATaskWhoseNeedsWereForgotten) {
  FakeWorld world({Here(2)});
  world.check_dumps = true;
  JobSpec spec = JobOf({OneTaskSpec("a"), OneTaskSpec("b")});
  spec.tasks[1].needs = {0};
  spec.tasks[0].request.cpus = spec.tasks[1].request.cpus = MilliCpu{2000};
  JobId job = world.Submit(spec);
  size_t keep = world.journal.size();
  world.executor().FinishTask({job, 1});
  ASSERT_TRUE(world.executor().Holds({{job, 2}, 1}));
  world.executor().Cut();
  world.RestartWith(keep, "other boot");
  EXPECT_EQ(world.Word({job, 2}), "waiting");
  world.executor().Start({{job, 2}, 1});
  world.executor().Hello();
  EXPECT_EQ(world.Why({job, 2}).cause, WhyCause::kRunning);
}

TEST(Held, AttemptsOfUnknownJobsAreStopped) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  ExecutorHolds holds;
  holds.executor = world.executor().id();
  holds.held = {{{{JobId{55}, 1}, 1}, 1, AttemptState::kRunning, 5, world.now.wall}};
  world.Give(holds);
  ASSERT_EQ(world.EffectsOf<StopAttempt>().size(), 1u);
  EXPECT_EQ(world.EffectsOf<StopAttempt>()[0].attempt.task.job, JobId{55});
}

TEST(Held, AttemptsOfEndedTasksAreStopped) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  ExecutorHolds holds;
  holds.executor = world.executor().id();
  holds.held = {{{{job, 1}, 2}, 1, AttemptState::kRunning, 5, world.now.wall}};
  world.Give(holds);
  EXPECT_EQ(world.EffectsOf<StopAttempt>().size(), 1u);
}

TEST(Beat, ThatDiffersAsksForTheFullList) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Beat();
  EXPECT_TRUE(world.EffectsOf<AskHeld>().empty());
  world.executor().Lose({{job, 1}, 1});
  world.Advance(milliseconds(10));
  EXPECT_EQ(world.EffectsOf<AskHeld>().size(), 1u);
  EXPECT_TRUE(world.executor().Holds({{job, 1}, 1})) << "it was sent again";
}

TEST(Contact, LostForLongerThanTheLeaseGivesTheTaskToAnother) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.Advance(seconds(39));
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kContactLost);
  world.Advance(seconds(4));
  ASSERT_EQ(world.executors.size(), 2u);
  EXPECT_TRUE(world.executor(1).Holds({{job, 1}, 2}));
  EXPECT_TRUE(world.state.ViewAttempts({job, 1}).back().may_overlap);
  world.executor(1).FinishTask({job, 1});
  EXPECT_NE(world.Why({job, 1}).sentence.find("may overlap #1"), std::string::npos);
}

TEST(Contact, LostByATaskThatMustNotRunTwiceWaits) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Once());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.Advance(minutes(10));
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kContactLost);
  world.executor().Hello();
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Contact, LostIsCountedAnewAfterTheLoopStoodStill) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  world.StandStill(minutes(5));
  world.Give(Tick{});
  world.Advance(milliseconds(100));
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.FactsOf<AttemptEnded>().size(), 0u);
}

TEST(Contact, LostWhileTheControllerWasDeadIsCountedFromItsStart) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.StandStill(minutes(30));
  world.Restart();
  world.Advance(seconds(35));
  EXPECT_EQ(world.Word({job, 1}), "active");
  world.executor().Hello();
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Contact, LostAsksTheClusterAtOnceAndEveryTenSeconds) {
  FakeWorld world;
  world.Submit(OneTask());
  world.executor().Cut();
  EXPECT_EQ(world.EffectsOf<FindLaunch>().size(), 1u);
  world.Advance(seconds(31));
  EXPECT_EQ(world.EffectsOf<FindLaunch>().size(), 4u);
}

TEST(Contact, RegainedAfterASilenceWithoutACutBringsWork) {
  FakeWorld world;
  JobId first = world.Submit(OneTask());
  world.executor().FinishTask({first, 1});
  // Its heartbeats are lost, its connection is not.
  for (int i = 0; i < 5; ++i) {
    world.StandStill(seconds(5));
    world.Give(Tick{});
  }
  JobId job = world.Submit(OneTask());
  EXPECT_EQ(world.Word({job, 1}), "ready");
  world.executor().Beat();
  EXPECT_EQ(world.Word({job, 1}), "active");
}

TEST(Dead, ExecutorsEndTheirAttemptsAtOnce) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(2));
  world.executor().Start({{job, 1}, 1});
  world.ProveDead(world.executor(), "killed by the kernel");
  AttemptView attempt = world.state.ViewAttempts({job, 1}).at(0);
  EXPECT_EQ(attempt.reason->kind, EndKind::kExecutorLost);
  EXPECT_NE(Render(*attempt.reason).find("killed by the kernel"), std::string::npos);
  EXPECT_TRUE(attempt.started);
  EXPECT_EQ(StateOf(world, world.executor().id()), ExecutorState::kGone);
  EXPECT_EQ(world.EffectsOf<ForgetLaunch>().size(), 1u);
  world.Advance(seconds(3));
  ASSERT_EQ(world.executors.size(), 2u);
  EXPECT_TRUE(world.executor(1).Holds({{job, 1}, 2}));
  EXPECT_FALSE(world.state.ViewAttempts({job, 1}).back().may_overlap);
}

TEST(Dead, IsNotSaidByAClusterThatCannotAskTheNode) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  LaunchObservation seen;
  seen.id = world.executor().launch();
  seen.phase = LaunchPhase::kAbsent;
  world.Give(ObserveLaunch{seen});
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_TRUE(world.FactsOf<ExecutorGone>().empty());
}

TEST(Dead, WhileDrainingOrNotYetHeardOfIsBelievedToo) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.Advance(seconds(62));
  ASSERT_EQ(StateOf(world, world.executor().id()), ExecutorState::kDraining);
  world.ProveDead(world.executor());
  EXPECT_EQ(StateOf(world, world.executor().id()), ExecutorState::kGone);

  FakeWorld other;
  other.Submit(OneTask());
  other.executor().Cut();
  other.Restart();
  ASSERT_EQ(StateOf(other, other.executor().id()), ExecutorState::kRegistered);
  other.ProveDead(other.executor());
  EXPECT_EQ(StateOf(other, other.executor().id()), ExecutorState::kGone);
}

// x1 silent beyond its lease with attempt 1, attempt 2 on x2.
JobId Superseded(FakeWorld& world, JobSpec spec = OneTask()) {
  JobId job = world.Submit(std::move(spec));
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.Advance(seconds(45));
  EXPECT_EQ(world.executors.size(), 2u);
  EXPECT_TRUE(world.executor(1).Holds({{job, 1}, 2}));
  return job;
}

TEST(Late, ResultCountsWhileNoLaterAttemptHasEnded) {
  FakeWorld world({Here(2)});
  JobId job = Superseded(world);
  world.executor(0).FinishTask({job, 1});
  world.executor(0).Hello();
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.executor(1).stops().size(), 1u) << "the other one is stopped";
  auto attempts = world.state.ViewAttempts({job, 1});
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_TRUE(attempts[0].accepted);
  EXPECT_FALSE(attempts[1].accepted);
  world.executor(1).Start({{job, 1}, 2});
  world.executor(1).ObeyStops();
  EXPECT_EQ(world.executor(1).unacknowledged(), 0u);
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Late, ResultIsHistoryOnceALaterAttemptHasEnded) {
  FakeWorld world({Here(2)});
  JobId job = Superseded(world);
  world.executor(1).FinishTask({job, 1}, Exited(4));
  EXPECT_EQ(world.Word({job, 1}), "failed(4)");
  world.executor(0).FinishTask({job, 1});
  world.executor(0).Hello();
  EXPECT_EQ(world.Word({job, 1}), "failed(4)");
  EXPECT_EQ(world.executor(0).unacknowledged(), 0u);
  auto attempts = world.state.ViewAttempts({job, 1});
  EXPECT_EQ(attempts[0].reason->kind, EndKind::kOk);
  EXPECT_FALSE(attempts[0].accepted);
  world.executor(0).Resend();
  EXPECT_EQ(world.state.ViewJob(job)->attempts, 3u);
}

TEST(Late, FailureThatWouldBeRetriedLeavesTheRetryAlone) {
  FakeWorld world({Here(2)});
  JobSpec spec = OneTask();
  spec.tasks[0].retries.user = 2;
  JobId job = Superseded(world, spec);
  world.executor(0).FinishTask({job, 1}, Exited(4));
  world.executor(0).Hello();
  EXPECT_EQ(world.Word({job, 1}), "active");
  world.executor(1).FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Late, ResultDuringTheBackOffCounts) {
  FakeWorld world({Here(1)});
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.Advance(seconds(41));
  world.executor().FinishTask({job, 1});
  world.executor().Hello();
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).size(), 1u);
}

TEST(Late, AttemptThatStillRunsMayStillWin) {
  FakeWorld world({Here(2)});
  JobId job = Superseded(world);
  world.executor(0).Hello();
  EXPECT_TRUE(world.executor(0).stops().empty());
  world.executor(0).FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.executor(1).stops().size(), 1u);
}

TEST(Late, AttemptIsStoppedOnceAnotherGaveTheResult) {
  FakeWorld world({Here(2)});
  JobId job = Superseded(world);
  world.executor(0).Hello();
  world.executor(1).FinishTask({job, 1});
  world.Advance(seconds(6));  // the next heartbeat differs from belief
  EXPECT_EQ(world.executor(0).stops().size(), 1u);
}

TEST(Unasked, GivingBackMeansLeaving) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  world.executor().Drop({{job, 1}, 1});
  EXPECT_EQ(StateOf(world, world.executor().id()), ExecutorState::kDraining);
  ASSERT_EQ(world.executors.size(), 2u);
  EXPECT_TRUE(world.executor(1).Holds({{job, 1}, 1}));
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).at(0).send, 2u);
  world.executor(0).Drained();
  EXPECT_EQ(StateOf(world, world.executor(0).id()), ExecutorState::kGone);
}

TEST(Unasked, WordsOnOlderSendsAreIgnored) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(OneTask());
  ExecutorReport report;
  report.executor = world.executor().id();
  report.dropped = {{{{job, 1}, 1}, 9}};
  report.unknown = {{{{job, 1}, 1}, 1}};  // nothing was asked of it
  report.published = {{{{job, 1}, 1}, 1}};
  world.Give(report);
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.FactsOf<AttemptDropped>().size(), 0u);
}

TEST(Restart, ForgetsNothing) {
  FakeWorld world;
  JobId job = world.Submit(Many(10));
  world.executor().Start({{job, 1}, 1});
  world.executor().FinishTask({job, 2});
  JobView before = *world.state.ViewJob(job);
  world.executor().Cut();
  world.Restart();
  EXPECT_EQ(*world.state.ViewJob(job), before);
  EXPECT_EQ(world.state.epoch(), 2u);
  world.executor().Hello();
  for (int i = 0; i < 6; ++i) world.executor().FinishAll();
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 10u);
  EXPECT_EQ(world.state.ViewJob(job)->attempts, 10u);
}

TEST(Restart, WithTheSameBootIdDispatchesWhatIsReadyAtOnce) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(4));
  ASSERT_EQ(world.executors.size(), 2u);
  for (auto& executor : world.executors) executor->Cut();
  world.executor(0).FinishAll();
  world.Restart();
  world.executor(0).Hello();
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 2u);
  JobId more = world.Submit(OneTask());
  EXPECT_EQ(world.Word({more, 1}), "active");
}

TEST(Restart, AfterAPowerCutHoldsReadyTasksBackUntilExecutorsReported) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(6));
  ASSERT_EQ(world.executors.size(), 2u);
  for (auto& executor : world.executors) executor->Cut();
  world.Restart("other boot");
  world.executor(0).Hello();
  world.executor(0).FinishAll();
  EXPECT_TRUE(world.executor(0).held().empty());
  EXPECT_EQ(world.Why({job, 6}).cause, WhyCause::kHold);
  JobId later = world.Submit(OneTask());
  EXPECT_EQ(world.Word({later, 1}), "active") << "new work is not held back";
  world.executor(1).Hello();
  EXPECT_EQ(world.Word({job, 5}), "active");
}

TEST(Restart, AfterAPowerCutHoldsBackNoLongerThanTheLease) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(6));
  for (auto& executor : world.executors) executor->Cut();
  world.Restart("other boot");
  world.executor(0).Hello();
  world.executor(0).FinishAll();
  world.Advance(seconds(38));
  EXPECT_EQ(world.Word({job, 5}), "ready");
  world.Advance(seconds(4));
  EXPECT_EQ(world.Word({job, 5}), "active");
}

TEST(Restart, AfterAPowerCutAndProofOfDeathGoesOn) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(6));
  for (auto& executor : world.executors) executor->Cut();
  world.Restart("other boot");
  world.executor(0).Hello();
  world.executor(0).FinishAll();
  world.ProveDead(world.executor(1));
  EXPECT_EQ(world.Word({job, 5}), "active");
}

TEST(Restart, AfterAGoodStopHoldsNothingBack) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(6));
  for (auto& executor : world.executors) executor->Cut();
  world.Give(StopController{});
  world.Restart("other boot");
  world.executor(0).Hello();
  world.executor(0).FinishAll();
  EXPECT_EQ(world.Word({job, 5}), "active");
}

TEST(Restart, SettlesWhatACrashCutInTwo) {
  FakeWorld world({Here(2)});
  JobSpec spec = JobOf({OneTaskSpec("a"), OneTaskSpec("b")});
  spec.tasks[1].needs = {0};
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1}, Exited(3));
  size_t end = 0;
  while (!std::holds_alternative<AttemptEnded>(world.journal[end])) ++end;
  world.executor().Cut();
  world.RestartWith(end + 1, "boot");
  EXPECT_EQ(world.Word({job, 1}), "failed(3)");
  EXPECT_EQ(world.Word({job, 2}), "dependency(a)");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
}

TEST(Restart, EndsTheAttemptsOfAnExecutorFoundDeadBefore) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(Many(2));
  world.ProveDead(world.executor());
  size_t gone = 0;
  while (!std::holds_alternative<ExecutorGone>(world.journal[gone])) ++gone;
  world.RestartWith(gone + 1, "boot");
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).at(0).reason->kind, EndKind::kExecutorLost);
}

TEST(Restart, KeepsADrainingExecutorDraining) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.executor().Cut();
  world.executor().Hello();
  world.Advance(seconds(62));
  world.executor().Cut();
  world.Restart();
  world.executor().Hello();
  EXPECT_EQ(StateOf(world, world.executor().id()), ExecutorState::kDraining);
}

}  // namespace
}  // namespace muster::core::testing
