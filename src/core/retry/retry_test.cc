#include <gtest/gtest.h>

#include <cerrno>

#include "core/retry/retry_policy.h"
#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

JobSpec WithUserRetries(uint32_t retries) {
  JobSpec spec = OneTask();
  spec.tasks[0].retries.user = retries;
  return spec;
}

// Fails every attempt until the task ends; how many there were.
size_t FailAll(FakeWorld& world, TaskId task, const ExitFacts& facts) {
  for (int i = 0; i < 20 && world.state.StateOf(task) != TaskState::kEnded; ++i) {
    world.Advance(minutes(7));
    if (world.executors.empty()) continue;
    FakeExecutor& executor = *world.executors.back();
    if (!executor.held().empty()) executor.FinishTask(task, facts);
  }
  return world.state.ViewAttempts(task).size();
}

TEST(Retry, MakesExactlyAsManyAttemptsAsItsBudget) {
  FakeWorld world;
  JobId job = world.Submit(WithUserRetries(3));
  EXPECT_EQ(FailAll(world, {job, 1}, Exited(7)), 4u);
  EXPECT_EQ(world.Word({job, 1}), "failed(7)");
}

TEST(Retry, OfZeroIsOneAttempt) {
  FakeWorld world;
  JobId job = world.Submit(WithUserRetries(0));
  EXPECT_EQ(FailAll(world, {job, 1}, Exited(7)), 1u);
}

TEST(Retry, DoesNotChargeTheUserForTheInfrastructure) {
  FakeWorld world;
  JobId job = world.Submit(WithUserRetries(1));
  ExitFacts passing;
  passing.how = ExitFacts::How::kNotStarted;
  passing.code = ENOMEM;
  passing.what_failed = "clone";
  world.executor().FinishTask({job, 1}, passing);
  world.Advance(seconds(2));
  world.executor().FinishTask({job, 1}, Exited(1));
  world.Advance(seconds(5));
  EXPECT_EQ(world.Word({job, 1}), "active") << "the user's own retry is still there";
}

TEST(Retry, StopsForALastingStartFailure) {
  FakeWorld world;
  JobId job = world.Submit(WithUserRetries(3));
  ExitFacts missing;
  missing.how = ExitFacts::How::kNotStarted;
  missing.code = ENOENT;
  missing.what_failed = "exec /bin/foo";
  world.executor().FinishTask({job, 1}, missing);
  EXPECT_EQ(world.Word({job, 1}), "start-failed(exec /bin/foo: No such file or directory)");
}

TEST(Retry, WaitsLongerEachTimeWithJitter) {
  Duration last{0};
  for (uint32_t n = 1; n <= 8; ++n) {
    Duration delay = RetryDelay("store", {{JobId{1}, 1}, n});
    Duration base = seconds(1) * (1 << (n - 1));
    EXPECT_GE(delay, base * 3 / 4);
    EXPECT_LE(delay, base * 5 / 4);
    EXPECT_GT(delay, last);
    last = delay;
  }
  EXPECT_LE(RetryDelay("store", {{JobId{1}, 1}, 60}), minutes(5) * 5 / 4);
  EXPECT_NE(RetryDelay("store", {{JobId{1}, 1}, 1}), RetryDelay("store", {{JobId{1}, 2}, 1}));
}

TEST(Retry, StartsNothingBeforeItsTime) {
  FakeWorld world;
  JobId job = world.Submit(WithUserRetries(1));
  world.executor().FinishTask({job, 1}, Exited(1));
  WallTime due = *world.state.ViewTask({job, 1})->retry_at;
  EXPECT_LE(*NextDue(world.state, world.now), due);
  world.Advance(due - world.now.wall - milliseconds(1));
  EXPECT_EQ(world.Word({job, 1}), "ready");
  world.Advance(milliseconds(2));
  EXPECT_EQ(world.Word({job, 1}), "active");
}

TEST(Ends, AreNamedByTheEvidence) {
  struct Case {
    ExitFacts facts;
    const char* word;
  };
  ExitFacts killed;
  killed.how = ExitFacts::How::kSignalled;
  killed.code = 9;
  ExitFacts lost;
  lost.how = ExitFacts::How::kLost;
  for (const Case& one :
       {Case{Exited(0), "ok"}, Case{Exited(137), "failed(137)"}, Case{killed, "signal(9)"},
        Case{Stopped(StopCause::kTimeLimit), "timeout"}}) {
    FakeWorld world;
    JobId job = world.Submit(OneTask());
    world.executor().FinishTask({job, 1}, one.facts);
    EXPECT_EQ(world.Word({job, 1}), one.word);
  }
}

TEST(Ends, KeepWhatWasMeasured) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  ExitFacts facts = Exited(0, milliseconds(1234));
  facts.user_cpu = milliseconds(70);
  facts.system_cpu = milliseconds(5);
  facts.max_rss = Bytes{123457};
  facts.left_behind = 2;
  facts.output_bytes = 1000;
  facts.output_dropped = 17;
  world.executor().FinishTask({job, 1}, facts);
  ExitFacts kept = *world.state.ViewAttempts({job, 1}).at(0).facts;
  facts.started = kept.started;
  EXPECT_EQ(kept, facts);
}

TEST(Ends, AreAcknowledgedOnceDurable) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  size_t acks = 0;
  for (const Effect& effect : world.effects) {
    if (!std::holds_alternative<AckAttempt>(effect.body)) continue;
    EXPECT_EQ(effect.after, After::kDurable);
    ++acks;
  }
  EXPECT_EQ(acks, 1u);
}

TEST(Ends, SaidTwiceCountOnceAndAreAcknowledgedTwice) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  FakeExecutor& executor = world.executor();
  FinishedAttempt finished{{{job, 1}, 1}, 1, Exited(0), 1};
  ExecutorReport report;
  report.executor = executor.id();
  report.ended = {finished, finished};
  world.Give(report);
  world.Give(report);
  EXPECT_EQ(world.FactsOf<AttemptEnded>().size(), 1u);
  EXPECT_EQ(world.FactsOf<TasksEnded>().size(), 1u);
  EXPECT_EQ(world.EffectsOf<AckAttempt>().size(), 4u);
}

TEST(Ends, OfAnOlderSendAreIgnored) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  FakeExecutor& executor = world.executor();
  ExecutorReport report;
  report.executor = executor.id();
  report.ended = {{{{job, 1}, 1}, 7, Exited(0), 1}};
  world.Give(report);
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.EffectsOf<AckAttempt>().size(), 1u);
}

TEST(Ends, OfConsecutiveTasksBecomeOneRange) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 2)}));
  world.executor().FinishAll();
  auto ends = world.FactsOf<TasksEnded>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].tasks, (TaskRange{job, 1, 2}));
  EXPECT_EQ(world.EffectsOf<TasksDone>().size(), 1u);
}

TEST(Ends, FirstFailureIsTheEarliest) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 2)}));
  world.executor().FinishTask({job, 2}, Exited(1));
  world.Advance(seconds(1));
  world.executor().FinishTask({job, 1}, Exited(1));
  EXPECT_EQ(world.state.ViewJob(job)->first_failure, (TaskId{job, 2}));
}

}  // namespace
}  // namespace muster::core::testing
