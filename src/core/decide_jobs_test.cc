#include <gtest/gtest.h>

#include <chrono>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

JobSpec Chain(size_t length) {
  std::vector<TaskSpec> tasks;
  for (size_t i = 0; i < length; ++i) {
    tasks.push_back(OneTaskSpec("t" + std::to_string(i)));
    if (i > 0) tasks.back().needs = {static_cast<uint32_t>(i - 1)};
  }
  return JobOf(std::move(tasks));
}

TEST(Submit, SaidAgainGivesTheSameJob) {
  FakeWorld world;
  JobId first = world.Submit(OneTask(), "r1");
  JobId again = world.Submit(OneTask(), "r1");
  EXPECT_EQ(first, again);
  EXPECT_TRUE(world.EffectsOf<Reply>().back().repeated);
  EXPECT_EQ(world.FactsOf<JobAccepted>().size(), 1u);
  EXPECT_EQ(world.state.FindRequest("r1"), first);
}

TEST(Submit, IsAnsweredOnceDurable) {
  FakeWorld world;
  world.Submit(OneTask());
  for (const Effect& effect : world.effects) {
    if (std::holds_alternative<Reply>(effect.body)) {
      EXPECT_EQ(effect.after, After::kDurable);
    }
  }
}

TEST(Submit, RefusesWhatNoExecutorCouldHoldWithTheFigures) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].request.memory = GiB(100);
  spec.tasks[0].request.cpus = MilliCpu{64000};
  auto error = world.SubmitError(spec);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->owner, ErrorOwner::kUser);
  for (const char* word : {"100Gi", "4Gi", "64", "here"}) {
    EXPECT_NE(error->message.find(word), std::string::npos) << word << " in " << error->message;
  }
  EXPECT_EQ(world.FactsOf<JobAccepted>().size(), 0u);
}

TEST(Submit, RefusesAnUnknownCluster) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.cluster = "moon";
  auto error = world.SubmitError(spec);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("moon"), std::string::npos);
  EXPECT_NE(error->message.find("here"), std::string::npos);
}

TEST(Submit, RefusesResourcesThatNobodyHas) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].request.gpus = 2;
  EXPECT_TRUE(world.SubmitError(spec));
  spec.tasks[0].request.gpus = 0;
  spec.tasks[0].request.named = {{"licence", 1}};
  auto error = world.SubmitError(spec);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("licence"), std::string::npos);
}

TEST(Submit, CountsNamedResources) {
  ClusterSettings here = Here();
  here.executor_size.named = {{"licence", 1}};
  FakeWorld world({here});
  JobSpec spec = JobOf({ArraySpec("a", 2)});
  spec.tasks[0].request.named = {{"licence", 1}};
  JobId job = world.Submit(spec);
  EXPECT_EQ(world.executor().held().size(), 1u);
  world.executor().FinishTask({job, 1});
  EXPECT_TRUE(world.executor().Holds({{job, 2}, 1}));
}

TEST(Submit, KeepsTheDefaultClusterItChose) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  EXPECT_EQ(world.state.ViewJob(job)->cluster, "here");
}

TEST(Needs, LetATaskStartWhenAllItNeedsSucceeded) {
  FakeWorld world;
  JobSpec spec = JobOf({ArraySpec("count", 2), OneTaskSpec("total")});
  spec.tasks[1].needs = {0};
  JobId job = world.Submit(spec);
  EXPECT_EQ(world.Word({job, 3}), "waiting");
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 3}), "waiting");
  world.executor().FinishTask({job, 2});
  EXPECT_EQ(world.Word({job, 3}), "active");
}

TEST(Needs, ThatFailedEndWhatWaitsForThemAllTheWay) {
  FakeWorld world;
  JobId job = world.Submit(Chain(4));
  world.executor().FinishTask({job, 1}, Exited(1));
  EXPECT_EQ(world.Word({job, 2}), "dependency(t0)");
  EXPECT_EQ(world.Word({job, 3}), "dependency(t1)");
  EXPECT_EQ(world.Word({job, 4}), "dependency(t2)");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
}

TEST(Needs, ThatFailedInOneTaskEndAWholeArrayAsOneRange) {
  FakeWorld world;
  JobSpec spec = JobOf({ArraySpec("first", 2), ArraySpec("then", 100000)});
  spec.tasks[1].needs = {0};
  world.check_dumps = false;
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1}, Exited(1));
  EXPECT_EQ(world.state.CountTasks(job, {std::nullopt, EndKind::kDependency}), 100000u);
  EXPECT_EQ(world.FactsOf<TasksEnded>().size(), 2u);
}

TEST(Needs, OfAGraphOfManyTasksAreMet) {
  FakeWorld world;
  world.check_dumps = false;
  std::vector<TaskSpec> tasks;
  for (uint32_t i = 0; i < 300; ++i) {
    tasks.push_back(OneTaskSpec("t" + std::to_string(i)));
    if (i > 0) tasks.back().needs.push_back(i / 2);
    if (i > 2) tasks.back().needs.push_back(i / 3);
    std::erase(tasks.back().needs, i);
  }
  JobId job = world.Submit(JobOf(tasks));
  for (int i = 0; i < 400 && !world.state.ViewJob(job)->ended; ++i) world.executor().FinishAll();
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 300u);
}

TEST(Cancel, EndsWhatHasNotStartedAtOnce) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 10)}));
  Reply reply = world.Cancel(job);
  EXPECT_EQ(reply.ended, 8u);
  EXPECT_EQ(reply.stopping, 2u);
  EXPECT_EQ(world.Word({job, 5}), "cancelled");
  EXPECT_TRUE(world.state.ViewJob(job)->cancel_requested);
}

TEST(Cancel, OfAMillionQueuedTasksIsOneFactAndFast) {
  FakeWorld world;
  world.check_dumps = false;
  JobId job = world.Submit(JobOf({ArraySpec("a", 1000000)}));
  size_t facts = world.journal.size();
  State& state = world.state;
  Facts given;
  Effects effects;
  Input cancel = CancelTasks{99, job, {}, "me", false};
  auto begin = std::chrono::steady_clock::now();
  Step(state, {&cancel, 1}, world.now, given, effects);
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took, milliseconds(200));
  EXPECT_LE(given.size(), 6u);
  EXPECT_EQ(state.CountTasks(job, {std::nullopt, EndKind::kCancelled}), 999998u);
  (void)facts;
}

TEST(Cancel, EndsWhatRunsOnlyWhenThatIsConfirmed) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.Cancel(job);
  EXPECT_EQ(world.Word({job, 1}), "active");
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kStopping);
  EXPECT_FALSE(world.state.ViewJob(job)->ended);
  world.executor().ObeyStops();
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
}

TEST(Cancel, OfWhatWasSentButNotStartedEndsWhenItIsGivenBack) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.Cancel(job);
  ASSERT_EQ(world.executor().stops().size(), 1u);
  world.executor().ObeyStops();
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
  EXPECT_EQ(world.state.ViewAttempts({job, 1}).size(), 0u);
}

TEST(Cancel, CrossingTheStartIsStillConfirmed) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.Cancel(job);
  world.executor().Start({{job, 1}, 1});  // it had started before the stop came
  EXPECT_EQ(world.Why({job, 1}).cause, WhyCause::kStopping);
  EXPECT_EQ(world.state.ViewJob(job)->counts.running, 1u);
  world.executor().ObeyStops();
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
}

TEST(Cancel, LetsAResultStandThatCameFirst) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.Cancel(job);
  world.executor().FinishTask({job, 1}, Exited(0));
  EXPECT_EQ(world.Word({job, 1}), "ok");
}

TEST(Cancel, IsNotFollowedByARetry) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].retries.user = 3;
  JobId job = world.Submit(spec);
  world.Cancel(job);
  world.executor().FinishTask({job, 1}, Exited(5));
  EXPECT_EQ(world.Word({job, 1}), "failed(5)");
}

TEST(Cancel, SaidAgainDoesNoHarm) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 10)}));
  world.executor().Start({{job, 1}, 1});
  world.Cancel(job);
  Reply again = world.Cancel(job);
  EXPECT_EQ(again.ended, 0u);
  EXPECT_EQ(again.stopping, 2u);
  world.executor().ObeyStops();
  EXPECT_EQ(world.state.ViewJob(job)->counts.cancelled(), 10u);
  Reply over = world.Cancel(job);
  EXPECT_EQ(over.ended + over.stopping, 0u);
}

TEST(Cancel, EndsWhatWaitsForItsRetry) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].retries.user = 3;
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1}, Exited(5));
  EXPECT_EQ(world.Cancel(job).ended, 1u);
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
  world.Advance(seconds(10));
  EXPECT_TRUE(world.executor().held().empty());
}

TEST(Cancel, EndsWhatWaitsForItsNeeds) {
  FakeWorld world;
  JobId job = world.Submit(Chain(3));
  Reply reply = world.Cancel(job, {{job, 3, 1}});
  EXPECT_EQ(reply.ended, 1u);
  EXPECT_EQ(world.Word({job, 3}), "cancelled");
  EXPECT_EQ(world.Word({job, 2}), "waiting");
}

TEST(Cancel, OfSomeTasksLeavesTheOthers) {
  FakeWorld world;
  JobId job = world.Submit(JobOf({ArraySpec("a", 10), OneTaskSpec("b")}));
  EXPECT_EQ(world.Cancel(job, {{job, 9, 3}}).ended, 3u);
  EXPECT_EQ(world.Word({job, 8}), "ready");
  EXPECT_EQ(world.Word({job, 9}), "cancelled");
  EXPECT_EQ(world.Word({job, 11}), "cancelled");
  for (int i = 0; i < 6; ++i) world.executor().FinishAll();
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 8u);
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
}

TEST(Cancel, OfANeedEndsWhatWaitsForIt) {
  FakeWorld world;
  JobId job = world.Submit(Chain(3));
  world.Cancel(job, {{job, 2, 1}});
  EXPECT_EQ(world.Word({job, 3}), "dependency(t1)");
}

TEST(Cancel, OfWhatIsNotThereSaysSo) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  EXPECT_EQ(world.Cancel(JobId{77}).error->code, ErrorCode::kNotFound);
  Reply reply = world.Cancel(job, {{job, 2, 1}});
  ASSERT_TRUE(reply.error);
  EXPECT_NE(reply.error->message.find("1 to 1"), std::string::npos) << reply.error->message;
}

TEST(Cancel, WaitsForASilentExecutorAndSaysSo) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  world.Cancel(job);
  world.Advance(minutes(2));
  EXPECT_EQ(world.Word({job, 1}), "active");
  WhyView why = world.Why({job, 1});
  EXPECT_EQ(why.cause, WhyCause::kContactLost);
  EXPECT_NE(why.sentence.find("unconfirmed"), std::string::npos) << why.sentence;
  world.executor().Hello();
  world.executor().ObeyStops();
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
}

TEST(Cancel, AbandonedEndsUnconfirmedAndKeepsLooking) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.executor().Cut();
  EXPECT_EQ(world.Cancel(job, {}, true).ended, 1u);
  EXPECT_EQ(world.Word({job, 1}), "cancelled (unconfirmed)");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
  world.executor().Hello();
  EXPECT_EQ(world.executor().stops().size(), 1u) << "what runs there is stopped all the same";
  world.executor().ObeyStops();
  EXPECT_EQ(world.executor().unacknowledged(), 0u);
  EXPECT_EQ(world.Word({job, 1}), "cancelled (unconfirmed)");
}

TEST(Cancel, ConfirmedByTheDeathOfTheExecutor) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  world.Cancel(job);
  world.ProveDead(world.executor());
  EXPECT_EQ(world.Word({job, 1}), "cancelled");
}

TEST(Jobs, AreStoredAnHourAfterTheirEndAndLeave) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.Advance(minutes(59));
  EXPECT_TRUE(world.EffectsOf<StoreJob>().empty());
  world.Advance(minutes(2));
  ASSERT_FALSE(world.EffectsOf<StoreJob>().empty());
  world.Give(JobStored{job});
  EXPECT_FALSE(world.state.ViewJob(job));
  JobId next = world.Submit(OneTask());
  EXPECT_EQ(next.number, job.number + 1);
}

TEST(Jobs, NumbersAreNotUsedAgainAfterTheLastWasArchived) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().FinishTask({job, 1});
  world.Advance(minutes(61));
  world.Give(JobStored{job});
  State copy = NewState();
  DumpFacts(world.state, [&](Facts&& facts) {
    for (const Fact& fact : facts) Apply(copy, fact);
  });
  EXPECT_EQ(copy.rep().last_job, job.number);
}

TEST(Jobs, TakeExecutorsAlongThatNoOtherJobNames) {
  FakeWorld world({Here(3)});
  JobId first = world.Submit(OneTask());
  world.executor(0).FinishTask({first, 1});
  JobId second = world.Submit(OneTask());
  world.executor(0).FinishTask({second, 1});
  world.executor(0).Cut();
  world.ProveDead(world.executor(0));
  JobId third = world.Submit(OneTask());
  ASSERT_EQ(world.executors.size(), 2u);
  world.executor(1).FinishTask({third, 1});
  world.executor(1).Cut();
  world.ProveDead(world.executor(1));
  world.Advance(minutes(1));
  JobId fourth = world.Submit(OneTask());
  ASSERT_EQ(world.executors.size(), 3u);
  world.executor(2).FinishTask({fourth, 1});
  world.Advance(minutes(61));
  const StateRep& rep = world.state.rep();
  world.Give(JobStored{fourth});
  EXPECT_TRUE(rep.executors.contains(1)) << "two jobs still name it";
  world.Give(JobStored{first});
  EXPECT_TRUE(rep.executors.contains(1));
  world.Give(JobStored{third});
  EXPECT_TRUE(rep.executors.contains(2)) << "it went after the end of that job";
  world.Give(JobStored{second});
  EXPECT_EQ(rep.jobs.size(), 0u);
  EXPECT_TRUE(rep.executors.contains(3));
  EXPECT_EQ(rep.last_executor, 3u);
}

TEST(Jobs, TakeLongGoneExecutorsAlong) {
  FakeWorld world({Here(2)});
  JobId first = world.Submit(OneTask());
  world.executor(0).FinishTask({first, 1});
  world.executor(0).Cut();
  world.ProveDead(world.executor(0));
  world.Advance(minutes(5));
  JobId second = world.Submit(OneTask());
  world.executor(1).FinishTask({second, 1});
  world.Advance(minutes(62));
  world.Give(JobStored{first});
  EXPECT_TRUE(world.state.rep().executors.contains(1));
  world.Give(JobStored{second});
  EXPECT_FALSE(world.state.rep().executors.contains(1));
  EXPECT_FALSE(world.state.rep().launches.contains(1));
  EXPECT_TRUE(world.state.rep().executors.contains(2));
}

TEST(Jobs, WatchersAreToldOnceAStep) {
  FakeWorld world;
  size_t before = world.EffectsOf<JobChanged>().size();
  world.Submit(JobOf({ArraySpec("a", 10)}));
  // Once for the submit; launch, hello and dispatch are steps of their own.
  size_t told = world.EffectsOf<JobChanged>().size() - before;
  EXPECT_EQ(told, 2u);
}

TEST(Jobs, ASetAsideTaskIsVisibleAndTheRestGoesOn) {
  FakeWorld world;
  world.state.rep().on_bug = StateRep::BugRule::kSetAside;
  JobId job = world.Submit(JobOf({ArraySpec("a", 5)}));
  Apply(world.state, RetryDue{{job, 4}});
  EXPECT_EQ(world.state.quarantined(), 1u);
  EXPECT_EQ(world.Word({job, 4}), "held");
  EXPECT_EQ(world.Why({job, 4}).cause, WhyCause::kHold);
  Apply(world.state, RetryDue{{job, 1}});  // its attempt lives
  for (int i = 0; i < 4; ++i) world.executor().FinishAll();
  EXPECT_EQ(world.state.ViewJob(job)->counts.ok(), 3u);
  EXPECT_EQ(world.state.ViewJob(job)->counts.held, 2u);
  EXPECT_EQ(world.Cancel(job).ended, 2u);
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
  EXPECT_EQ(world.state.quarantined(), 0u);
}

}  // namespace
}  // namespace muster::core::testing
