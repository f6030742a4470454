// Each cause is provoked with figures of its own: the sentence must carry them.
#include <gtest/gtest.h>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

void ExpectWhy(const FakeWorld& world, TaskId task, WhyCause cause,
               const std::vector<std::string>& words) {
  WhyView why = world.Why(task);
  EXPECT_EQ(why.cause, cause) << why.sentence;
  for (const std::string& word : words) {
    EXPECT_NE(why.sentence.find(word), std::string::npos) << word << " in: " << why.sentence;
  }
}
std::string Figure(const FakeWorld& world, TaskId task, const std::string& name) {
  for (const auto& [key, value] : world.Why(task).figures) {
    if (key == name) return value;
  }
  return "";
}

TEST(Why, Dependency) {
  for (int64_t count : {3, 5}) {
    FakeWorld world;
    JobSpec spec = JobOf({ArraySpec("count", count), OneTaskSpec("total")});
    spec.tasks[1].needs = {0};
    JobId job = world.Submit(spec);
    world.executor().FinishTask({job, 1});
    TaskId last{job, static_cast<uint32_t>(count + 1)};
    ExpectWhy(world, last, WhyCause::kDependency,
              {"count", std::to_string(count - 1) + " of " + std::to_string(count)});
    EXPECT_EQ(Figure(world, last, "tasks-left"), std::to_string(count - 1));
  }
}

TEST(Why, ArrayCap) {
  for (uint32_t cap : {1, 2}) {
    FakeWorld world({Here(4)});
    JobId job = world.Submit(JobOf({ArraySpec("a", 9, cap)}));
    ExpectWhy(world, {job, 9}, WhyCause::kArrayCap, {"'a'", "cap is " + std::to_string(cap)});
    EXPECT_EQ(Figure(world, {job, 9}, "running"), std::to_string(cap));
  }
}

TEST(Why, NoExecutorYet) {
  for (int64_t wait : {3, 7}) {
    FakeWorld world;
    world.shy_launches = true;
    JobId job = world.Submit(OneTask());
    world.Advance(seconds(wait));
    ExpectWhy(world, {job, 1}, WhyCause::kNoExecutor,
              {"'here'", "1 starting", std::to_string(wait) + ".0 s"});
  }
}

TEST(Why, NoExecutorBecauseThePoolIsEmptyForGood) {
  FakeWorld world({Here(0)});
  JobId job = world.Submit(OneTask());
  ExpectWhy(world, {job, 1}, WhyCause::kNoExecutor, {"max: 0"});
}

TEST(Why, NoRoom) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 10)}));
  ExpectWhy(world, {job, 3}, WhyCause::kNoRoom, {"asks for 1 cpus", "x1", "0 tasks before"});
  ExpectWhy(world, {job, 10}, WhyCause::kNoRoom, {"7 tasks before", "2 attempts"});
  EXPECT_EQ(Figure(world, {job, 10}, "before"), "7");
}

TEST(Why, NoRoomCountsTheJobsBefore) {
  FakeWorld world;
  world.Submit(JobOf({ArraySpec("a", 10)}));
  JobId second = world.Submit(JobOf({ArraySpec("a", 10)}));
  EXPECT_EQ(Figure(world, {second, 1}, "before"), "8");
  EXPECT_EQ(Figure(world, {second, 4}, "before"), "11");
}

TEST(Why, SizeThatNoExecutorUpHas) {
  FakeWorld world;
  world.shy_launches = true;
  world.Submit(OneTask());
  Resources small;
  small.cpus = MilliCpu{1000};
  small.memory = GiB(1);
  world.executor().capacity = small;
  world.executor().Hello();
  JobSpec spec = OneTask();
  spec.tasks[0].request.cpus = MilliCpu{2000};
  spec.tasks[0].request.memory = GiB(3);
  JobId job = world.Submit(spec);
  ExpectWhy(world, {job, 1}, WhyCause::kSize, {"2 cpus, 3Gi", "1 cpus, 1Gi"});
}

TEST(Why, BackOff) {
  for (int code : {3, 4}) {
    FakeWorld world;
    JobSpec spec = OneTask();
    spec.tasks[0].retries.user = 2;
    JobId job = world.Submit(spec);
    world.executor().FinishTask({job, 1}, Exited(code));
    ExpectWhy(world, {job, 1}, WhyCause::kBackOff,
              {"attempt 2", "failed(" + std::to_string(code) + ")", "retry 1 of 2"});
  }
}

TEST(Why, Sent) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.Advance(milliseconds(1500));
  ExpectWhy(world, {job, 1}, WhyCause::kSent, {"x1", "1.5 s"});
}

TEST(Why, SentAheadOfItsSlot) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 1000)}));
  for (int i = 0; i < 3; ++i) world.executor().FinishAll(Exited(0, milliseconds(1)));
  ExpectWhy(world, {job, 20}, WhyCause::kSent, {"x1", "42 held"});
}

TEST(Why, Running) {
  for (int64_t pid : {4711, 4712}) {
    FakeWorld world;
    JobSpec spec = OneTask();
    spec.tasks[0].time_limit = minutes(pid - 4700);
    JobId job = world.Submit(spec);
    world.executor().Start({{job, 1}, 1}, pid);
    world.Advance(seconds(pid - 4700));
    ExpectWhy(world, {job, 1}, WhyCause::kRunning,
              {"x1", "node", std::to_string(pid), std::to_string(pid - 4700) + " s",
               "time limit " + std::to_string(pid - 4700) + "m"});
  }
}

TEST(Why, Stopping) {
  for (int64_t grace : {5, 9}) {
    FakeWorld world;
    JobSpec spec = OneTask();
    spec.tasks[0].grace = seconds(grace);
    JobId job = world.Submit(spec);
    world.executor().Start({{job, 1}, 1});
    world.Cancel(job);
    world.Advance(seconds(2));
    ExpectWhy(world, {job, 1}, WhyCause::kStopping,
              {"x1", "2.0 s", "grace " + std::to_string(grace) + "s"});
  }
}

TEST(Why, ContactLost) {
  for (int64_t wait : {12, 25}) {
    FakeWorld world;
    JobId job = world.Submit(OneTask());
    world.executor().Start({{job, 1}, 1});
    world.executor().Cut();
    world.Advance(seconds(wait));
    ExpectWhy(world, {job, 1}, WhyCause::kContactLost,
              {"x1", std::to_string(wait) + " s", std::to_string(40 - wait) + " s"});
  }
}

TEST(Why, ContactLostOfWhatMustNotRunTwice) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].once = true;
  JobId job = world.Submit(spec);
  world.executor().Cut();
  ExpectWhy(world, {job, 1}, WhyCause::kContactLost, {"must not run twice"});
}

TEST(Why, Ended) {
  for (int code : {3, 4}) {
    FakeWorld world;
    JobId job = world.Submit(OneTask());
    ExitFacts facts = Exited(code, milliseconds(1500));
    facts.output_dropped = 55;
    world.executor().FinishTask({job, 1}, facts);
    ExpectWhy(world, {job, 1}, WhyCause::kEnded,
              {"failed(" + std::to_string(code) + ")", "attempt 1 on x1", "1s500ms", "3Mi", "55 bytes"});
  }
}

TEST(Why, HeldBackAfterAPowerCut) {
  FakeWorld world({Here(2)});
  JobId job = world.Submit(JobOf({ArraySpec("a", 8)}));
  for (auto& executor : world.executors) executor->Cut();
  world.Restart("other boot");
  world.Advance(seconds(10));
  ExpectWhy(world, {job, 8}, WhyCause::kHold, {"x1, x2", "30 s"});
  world.executor(0).Hello();
  ExpectWhy(world, {job, 8}, WhyCause::kHold, {"(x2)"});
}

TEST(Why, IsNothingForWhatIsNotThere) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  EXPECT_FALSE(world.state.Why({job, 2}, world.now));
  EXPECT_FALSE(world.state.Why({JobId{9}, 1}, world.now));
}

}  // namespace
}  // namespace muster::core::testing
