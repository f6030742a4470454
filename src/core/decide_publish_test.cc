#include <gtest/gtest.h>

#include <cerrno>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

JobSpec WithOut(uint32_t user_retries = 0) {
  JobSpec spec = OneTask("date > {out}");
  spec.tasks[0].retries.user = user_retries;
  return spec;
}

TEST(Publish, ComesAfterTheResultIsDurable) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  ASSERT_EQ(world.executor().publishes().size(), 1u);
  for (const Effect& effect : world.effects) {
    if (std::holds_alternative<PublishAttempt>(effect.body)) {
      EXPECT_EQ(effect.after, After::kDurable);
    }
  }
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kPublishing);
}

TEST(Publish, DoneEndsTheTask) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
  world.executor().Publish({{job, 1}, 1});  // said again
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, IsNotAskedForAFailedAttempt) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1}, Exited(1));
  EXPECT_TRUE(world.executor().publishes().empty());
  EXPECT_EQ(world.Word({job, 1}), "failed(1)");
}

TEST(Publish, OfNothingIsAFailureOfTheCommand) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.executor().FailPublish({{job, 1}, 1}, ENOENT);
  EXPECT_EQ(world.Word({job, 1}), "failed({out} was not written)");
}

TEST(Publish, OfNothingIsTriedAgainWithinTheUsersBudget) {
  FakeWorld world;
  JobId job = world.Submit(WithOut(1));
  world.executor().FinishTask({job, 1});
  world.executor().FailPublish({{job, 1}, 1}, ENOENT);
  world.Advance(seconds(2));
  ASSERT_TRUE(world.executor().Holds({{job, 1}, 2}));
  world.executor().FinishTask({job, 1});
  world.executor().Publish({{job, 1}, 2});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, OnAFullDiskIsTriedAgainWithoutRunningAgain) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.executor().FailPublish({{job, 1}, 1}, ENOSPC);
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kPublishing);
  EXPECT_TRUE(world.executor().publishes().empty());
  world.Advance(seconds(2));
  ASSERT_EQ(world.executor().publishes().size(), 1u);
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_EQ(world.state.ViewJob(job)->attempts, 1u);
}

TEST(Publish, OnADiskThatStaysFullEndsAsDiskFull) {
  FakeWorld world;
  JobSpec spec = WithOut();
  spec.tasks[0].retries.infrastructure = 0;
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1});
  for (int i = 0; i < 10 && !world.executor().publishes().empty(); ++i) {
    world.executor().FailPublish({{job, 1}, 1}, ENOSPC);
    world.Advance(minutes(2));
  }
  EXPECT_EQ(world.state.ViewTask({job, 1})->reason->kind, EndKind::kDiskFull);
}

TEST(Publish, IsAskedAgainAfterACut) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  size_t asked = world.EffectsOf<PublishAttempt>().size();
  world.executor().Cut();
  world.executor().Hello();
  EXPECT_EQ(world.EffectsOf<PublishAttempt>().size(), asked + 1);
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, SurvivesARestart) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.executor().Cut();
  world.Restart();
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kPublishing);
  world.executor().Hello();
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, IsDoneByAnotherWhenTheHolderIsGone) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.executor().Cut();
  world.ProveDead(world.executor());
  ASSERT_EQ(world.executors.size(), 2u) << "one is started for it";
  ASSERT_EQ(world.executor(1).publishes().size(), 1u);
  world.executor(1).Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, KeepsItsExecutorFromBeingDrained) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.Advance(minutes(3));
  EXPECT_FALSE(world.executor().told_to_drain());
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Publish, StandsAgainstACancel) {
  FakeWorld world;
  JobId job = world.Submit(WithOut());
  world.executor().FinishTask({job, 1});
  world.Cancel(job);
  world.executor().Publish({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

}  // namespace
}  // namespace muster::core::testing
