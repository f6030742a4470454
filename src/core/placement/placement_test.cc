#include <gtest/gtest.h>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Placement, FillsTheRoomOfAnExecutorAndNoMore) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 10)}));
  EXPECT_EQ(world.executor().held().size(), 2u);
  EXPECT_EQ(world.state.CountTasks(job, {TaskState::kReady}), 8u);
}

TEST(Placement, HandsConsecutiveTasksOverAsOneRange) {
  FakeWorld world;
  world.Submit(JobOf({ArraySpec("a", 10)}));
  auto planned = world.FactsOf<AttemptsPlanned>();
  ASSERT_EQ(planned.size(), 1u);
  EXPECT_EQ(planned[0].tasks.count, 2u);
  EXPECT_EQ(world.EffectsOf<RunAttempts>().size(), 1u);
}

TEST(Placement, GoesByPriorityThenJobThenFileOrder) {
  FakeWorld world;
  JobId first = world.Submit(JobOf({ArraySpec("a", 2)}));  // takes both slots
  JobId second = world.Submit(JobOf({OneTaskSpec("b1"), OneTaskSpec("b2")}));
  JobSpec urgent = OneTask();
  urgent.priority = 5;
  JobId third = world.Submit(urgent);
  world.executor().FinishTask({first, 1});
  EXPECT_EQ(world.Word({third, 1}), "active");
  world.executor().FinishTask({first, 2});
  EXPECT_EQ(world.Word({second, 1}), "active");
  EXPECT_EQ(world.Word({second, 2}), "ready");
}

TEST(Placement, RespectsTheCapOfAnArrayExactly) {
  FakeWorld world({Here(3)});
  JobId job = world.Submit(JobOf({ArraySpec("a", 20, 3)}));
  EXPECT_EQ(world.state.ViewJob(job)->counts.active, 3u);
  for (int i = 0; i < 17; ++i) {
    for (auto& executor : world.executors) {
      if (executor->held().empty()) continue;
      executor->Finish(executor->held().begin()->first);
      break;
    }
    EXPECT_EQ(world.state.ViewJob(job)->counts.active, 3u);
  }
}

TEST(Placement, CountsNoMemoryForARequestWithoutIt) {
  FakeWorld world;
  JobSpec big = OneTask();
  big.tasks[0].request.memory = GiB(4);
  world.Submit(big);
  JobId small = world.Submit(OneTask());
  EXPECT_EQ(world.Word({small, 1}), "active");
  JobSpec other = OneTask();
  other.tasks[0].request.memory = MiB(1);
  JobId waits = world.Submit(other);
  EXPECT_EQ(world.Word({waits, 1}), "ready");
}

TEST(Placement, PlacesNothingOnAnExecutorOutOfContact) {
  FakeWorld world;
  JobId first = world.Submit(OneTask());
  world.executor().FinishTask({first, 1});
  world.executor().Cut();
  JobId job = world.Submit(OneTask());
  EXPECT_EQ(world.Word({job, 1}), "ready");
  world.executor().Hello();
  EXPECT_EQ(world.Word({job, 1}), "active");
}

TEST(Placement, PlacesNothingOnADrainingExecutor) {
  FakeWorld world;
  JobId first = world.Submit(OneTask());
  world.executor().FinishTask({first, 1});
  world.Advance(seconds(62));
  ASSERT_TRUE(world.executor().told_to_drain());
  world.Submit(OneTask());
  EXPECT_TRUE(world.executor().held().empty());
}

TEST(Placement, RetriesElsewhereAfterTroubleOfTheInfrastructure) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(JobOf({ArraySpec("a", 4)}));
  ASSERT_EQ(world.executors.size(), 2u);
  world.executor(0).host = "one";
  world.executor(1).host = "two";
  ExitFacts passing;
  passing.how = ExitFacts::How::kNotStarted;
  passing.code = EAGAIN;
  passing.what_failed = "clone";
  AttemptId bad = world.executor(0).held().begin()->first;
  world.executor(0).Finish(bad, passing);
  world.Advance(seconds(2));
  EXPECT_EQ(world.Word(bad.task), "ready") << "it waits for the other executor";
  AttemptId good = world.executor(1).held().begin()->first;
  world.executor(1).Finish(good);
  EXPECT_TRUE(world.executor(1).Holds({bad.task, 2}));
  (void)job;
}

// 20 tasks of a millisecond: enough samples to know.
JobId Warm(FakeWorld& world, JobSpec spec) {
  JobId job = world.Submit(std::move(spec));
  for (int i = 0; i < 3; ++i) world.executor().FinishAll(Exited(0, milliseconds(1)));
  return job;
}

TEST(Prefetch, HandsOutMoreShortTasksThanRun) {
  FakeWorld world;
  Warm(world, JobOf({ArraySpec("a", 1000)}));
  // Two slots, and 20 ms of work for each at 1 ms a task.
  EXPECT_EQ(world.executor().held().size(), 2u + 40u);
}

TEST(Prefetch, HandsOutNoMoreOfLongTasks) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 100)}));
  for (int i = 0; i < 4; ++i) world.executor().FinishAll(Exited(0, milliseconds(60)));
  EXPECT_EQ(world.executor().held().size(), 2u);
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 8u);
}

TEST(Prefetch, NeverHandsOutMoreOfWhatMustNotRunTwice) {
  FakeWorld world;
  JobSpec spec = JobOf({ArraySpec("a", 100)});
  spec.tasks[0].once = true;
  Warm(world, spec);
  EXPECT_EQ(world.executor().held().size(), 2u);
}

TEST(Prefetch, StaysBelowTheCapOfAnArray) {
  FakeWorld world;
  Warm(world, JobOf({ArraySpec("a", 1000, 5)}));
  EXPECT_EQ(world.executor().held().size(), 5u);
}

TEST(Prefetch, TakesBackWhatWaitsBehindLongWork) {
  FakeWorld world({Here(2)});
  JobId job = Warm(world, JobOf({ArraySpec("a", 44)}));
  ASSERT_EQ(world.executors.size(), 2u);
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  FakeExecutor& busy = world.executor(0);
  ASSERT_GT(busy.held().size(), 2u);
  ASSERT_TRUE(world.executor(1).held().empty());
  world.Advance(milliseconds(300));
  ASSERT_FALSE(busy.recalls().empty());
  AttemptId back = *busy.recalls().begin();
  EXPECT_EQ(world.Why(back.task).cause, WhyCause::kSent);
  busy.Drop(back);
  EXPECT_TRUE(world.executor(1).Holds(back)) << "the same attempt under its next send number";
  EXPECT_EQ(world.state.ViewAttempts(back.task).back().send, 2u);
  world.executor(1).FinishTask(back.task);
  EXPECT_EQ(world.Word(back.task), "ok");
  (void)job;
}

TEST(Prefetch, LetsARecalledAttemptRunThatHadStarted) {
  FakeWorld world({Here(2)});
  Warm(world, JobOf({ArraySpec("a", 44)}));
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  world.Advance(milliseconds(300));
  FakeExecutor& busy = world.executor(0);
  ASSERT_GE(busy.recalls().size(), 2u);
  AttemptId started = *busy.recalls().begin();
  AttemptId ended = *std::next(busy.recalls().begin());
  busy.Start(started);
  EXPECT_EQ(world.Why(started.task).cause, WhyCause::kRunning);
  busy.Finish(started);
  EXPECT_EQ(world.Word(started.task), "ok");
  busy.Finish(ended);  // without a word of its start
  EXPECT_EQ(world.Word(ended.task), "ok");
}

TEST(Prefetch, LetsARecalledAttemptBeCancelled) {
  FakeWorld world({Here(2)});
  JobId job = Warm(world, JobOf({ArraySpec("a", 44)}));
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  world.executor(1).FinishAll(Exited(0, milliseconds(1)));
  world.Advance(milliseconds(300));
  ASSERT_FALSE(world.executor(0).recalls().empty());
  TaskId task = world.executor(0).recalls().begin()->task;
  world.Cancel(job, {{job, task.number, 1}});
  EXPECT_EQ(world.Why(task).cause, WhyCause::kStopping);
  world.executor(0).ObeyStops();
  EXPECT_EQ(world.Word(task), "cancelled");
}

TEST(Placement, DispatchOfWhatMustNotRunTwiceWaitsForTheDisk) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].once = true;
  world.Submit(spec);
  for (const Effect& effect : world.effects) {
    if (std::holds_alternative<RunAttempts>(effect.body)) {
      EXPECT_EQ(effect.after, After::kDurable);
    }
  }
  EXPECT_EQ(world.EffectsOf<RunAttempts>().size(), 1u);
}

TEST(Placement, StopsWhenTheControllerStops) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 4)}));
  world.Give(StopController{});
  world.executor().FinishAll();
  EXPECT_TRUE(world.executor().held().empty());
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 2u);
  EXPECT_TRUE(world.state.clean());
  auto error = world.SubmitError(OneTask());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster::core::testing
