// Random histories: executors act, fall silent, die and come back; controllers die, with and without power;
// users submit and cancel. After every step the invariants hold; in the end every job has ended, and what
// must not run twice never ran twice at the same time.
//
// A failing seed is run again with MUSTER_SEED=n.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "base/random.h"
#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), world_({Cluster(random_)}) {
    world_.check_dumps = false;
  }

  void Run() {
    for (int step = 0; step < 70 && world_.fault.empty(); ++step) {
      world_.check_dumps = random_.Percent(15);
      Act();
    }
    Finish();
  }

 private:
  static ClusterSettings Cluster(Random& random) {
    ClusterSettings here = Here(static_cast<uint32_t>(1 + random.Below(3)));
    here.pool_min = static_cast<uint32_t>(random.Below(2));
    if (random.Percent(20)) here.max_attempts = 1;
    return here;
  }

  TaskSpec RandomTask(uint32_t number) {
    TaskSpec task = OneTaskSpec("t" + std::to_string(number));
    if (random_.Percent(60)) {
      task = ArraySpec(task.name, static_cast<int64_t>(1 + random_.Below(12)),
                       static_cast<uint32_t>(random_.Percent(40) ? 1 + random_.Below(4) : 0));
    }
    if (random_.Percent(25)) task.command = ShellCommand{"x > {out}"};
    task.once = random_.Percent(30);
    task.retries.user = static_cast<uint32_t>(random_.Below(3));
    task.retries.infrastructure = static_cast<uint32_t>(random_.Below(6));
    task.priority = static_cast<int32_t>(random_.Below(3));
    if (random_.Percent(20)) task.request.cpus = MilliCpu{2000};
    if (random_.Percent(30)) task.request.memory = GiB(1 + random_.Below(4));
    for (uint32_t need = 0; need < number; ++need) {
      if (random_.Percent(25)) task.needs.push_back(need);
    }
    return task;
  }

  void Submit() {
    std::vector<TaskSpec> tasks;
    auto count = static_cast<uint32_t>(1 + random_.Below(4));
    for (uint32_t i = 0; i < count; ++i) tasks.push_back(RandomTask(i));
    JobSpec spec = JobOf(std::move(tasks));
    spec.priority = static_cast<int32_t>(random_.Below(2));
    jobs_.push_back(world_.Submit(spec, "r" + std::to_string(jobs_.size())));
  }

  FakeExecutor* Pick() {
    std::vector<FakeExecutor*> living;
    for (auto& executor : world_.executors) {
      if (!executor->dead) living.push_back(executor.get());
    }
    return living.empty() ? nullptr : living[random_.Below(living.size())];
  }

  std::optional<AttemptId> PickHeld(const FakeExecutor& executor) {
    if (executor.held().empty()) return std::nullopt;
    auto it = executor.held().begin();
    std::advance(it, static_cast<long>(random_.Below(executor.held().size())));
    return it->first;
  }

  ExitFacts Outcome() {
    uint64_t die = random_.Below(100);
    Duration wall = random_.Percent(50) ? milliseconds(1) : milliseconds(300);
    if (die < 70) return Exited(0, wall);
    if (die < 85) return Exited(3, wall);
    if (die < 88) return Stopped(StopCause::kTimeLimit);
    ExitFacts facts;
    if (die < 94) {
      facts.how = ExitFacts::How::kNotStarted;
      facts.code = random_.Percent(50) ? EAGAIN : ENOENT;
      facts.what_failed = "exec /x";
    } else if (die < 97) {
      facts.how = ExitFacts::How::kLost;
    } else {
      facts.how = ExitFacts::How::kSignalled;
      facts.code = 9;
    }
    return facts;
  }

  bool Runs(const FakeExecutor& executor, TaskId task) const {
    for (const auto& [attempt, held] : executor.held()) {
      if (attempt.task == task && held.started) return true;
    }
    return false;
  }

  // The process of an attempt starts here.
  void Begin(FakeExecutor& executor, AttemptId attempt) {
    auto place = world_.state.PlaceOf(attempt.task);
    if (place && world_.state.SpecOf(attempt.task.job)->tasks[place->spec].once) {
      for (auto& other : world_.executors) {
        if (other->dead) continue;
        EXPECT_FALSE(Runs(*other, attempt.task)) << Render(attempt) << " runs twice";
      }
    }
    executor.Start(attempt);
  }

  void EndOne(FakeExecutor& executor) {
    auto attempt = PickHeld(executor);
    if (!attempt) return;
    if (random_.Percent(60) && !executor.held().at(*attempt).started) Begin(executor, *attempt);
    if (!executor.Holds(*attempt)) return;
    executor.Finish(*attempt, Outcome());
  }

  void Die(FakeExecutor& executor) {
    executor.dead = true;
    executor.Vanish();
    if (random_.Percent(70)) world_.Give(ExecutorDisconnected{executor.id()});
    unproven_.push_back(&executor);
    if (random_.Percent(60)) Prove();
  }

  void Prove() {
    for (FakeExecutor* executor : unproven_) world_.ProveDead(*executor);
    unproven_.clear();
  }

  void ActOn(FakeExecutor& executor) {
    if (executor.told_to_leave()) return Die(executor);
    switch (random_.Below(14)) {
      case 0:
      case 1: {
        auto attempt = PickHeld(executor);
        if (attempt && !executor.held().at(*attempt).started) Begin(executor, *attempt);
        break;
      }
      case 2:
      case 3:
      case 4: EndOne(executor); break;
      case 5: executor.ObeyStops(); break;
      case 6: {
        auto attempt = PickHeld(executor);
        bool asked = attempt && (executor.recalls().contains(*attempt) || random_.Percent(3));
        if (asked && executor.connected() && !executor.held().at(*attempt).started) {
          executor.Drop(*attempt);
        }
        break;
      }
      case 7: Publish(executor); break;
      case 8:
        if (executor.connected() && random_.Percent(60)) executor.Cut();
        break;
      case 9:
      case 10:
        if (random_.Percent(80)) executor.Hello();
        break;
      case 11:
        if (executor.connected()) executor.Beat();
        break;
      case 12:
        if (random_.Percent(25)) {
          Die(executor);
        } else {
          executor.Resend();
        }
        break;
      default: Leave(executor); break;
    }
  }

  void Publish(FakeExecutor& executor) {
    if (executor.publishes().empty() || !executor.connected()) return;
    AttemptId attempt = *executor.publishes().begin();
    if (random_.Percent(75)) {
      executor.Publish(attempt);
    } else {
      executor.FailPublish(attempt, random_.Percent(50) ? ENOSPC : ENOENT);
    }
  }

  void Leave(FakeExecutor& executor) {
    if (!executor.told_to_drain() || !executor.connected() || !executor.held().empty() ||
        executor.unacknowledged() > 0) {
      return;
    }
    executor.Drained();
    Die(executor);
  }

  void CancelSome() {
    if (jobs_.empty()) return;
    JobId job = jobs_[random_.Below(jobs_.size())];
    auto view = world_.state.ViewJob(job);
    if (!view) return;
    std::vector<TaskRange> tasks;
    if (random_.Percent(60)) {
      auto total = static_cast<uint32_t>(view->counts.total());
      auto first = static_cast<uint32_t>(1 + random_.Below(total));
      tasks.push_back({job, first, static_cast<uint32_t>(1 + random_.Below(total - first + 1))});
    }
    world_.Cancel(job, tasks, random_.Percent(20));
  }

  void RestartController() {
    for (auto& executor : world_.executors) executor->LoseConnection();
    if (random_.Percent(50)) {
      world_.Restart();
      return;
    }
    // Power goes: what was not durable is lost, though executors may have acted on it.
    size_t keep = world_.durable +
                  random_.Below(world_.journal.size() - world_.durable + 1);
    world_.RestartWith(world_.StepEndBefore(keep), "boot" + std::to_string(++boots_));
    // A job that was answered for is durable.
    for (JobId job : jobs_) EXPECT_TRUE(world_.state.ViewJob(job)) << Render(job);
  }

  void Act() {
    uint64_t die = random_.Below(100);
    if (die < 8 && jobs_.size() < 5) return Submit();
    if (die < 11) return CancelSome();
    if (die < 13) return RestartController();
    if (die < 22) return world_.Advance(seconds(random_.Below(20)) + milliseconds(random_.Below(999)));
    if (die < 23) return world_.Advance(seconds(50));
    if (die < 24) {
      world_.StandStill(seconds(60));
      return world_.Give(Tick{});
    }
    if (die < 26) return Prove();
    if (FakeExecutor* executor = Pick()) ActOn(*executor);
  }

  bool AllEnded() const {
    for (JobId job : jobs_) {
      auto view = world_.state.ViewJob(job);
      if (view && !view->ended) return false;
    }
    return true;
  }

  // Everything works from here on: all jobs must end.
  void Finish() {
    world_.check_dumps = true;
    for (int round = 0; round < 400 && !AllEnded() && world_.fault.empty(); ++round) {
      Prove();
      for (size_t i = 0; i < world_.executors.size(); ++i) {
        FakeExecutor& executor = *world_.executors[i];
        if (executor.dead) continue;
        if (executor.told_to_leave()) {
          Die(executor);
          continue;
        }
        if (!executor.connected()) executor.Hello();
        if (executor.told_to_leave()) continue;
        executor.ObeyStops();
        while (!executor.publishes().empty()) executor.Publish(*executor.publishes().begin());
        executor.FinishAll(Exited(0, milliseconds(5)));
        Leave(executor);
      }
      world_.check_dumps = random_.Percent(10);
      world_.Advance(seconds(round < 50 ? 1 : 20));
    }
    EXPECT_TRUE(AllEnded());
    for (JobId job : jobs_) {
      auto view = world_.state.ViewJob(job);
      if (view && !view->ended) {
        for (uint32_t task : world_.state.ListTasks(job, {}, 0, 100)) {
          if (world_.state.StateOf({job, task}) != TaskState::kEnded) {
            ADD_FAILURE() << Render(TaskId{job, task}) << ": " << world_.Why({job, task}).sentence;
          }
        }
      }
    }
  }

  Random random_;
  FakeWorld world_;
  std::vector<JobId> jobs_;
  std::vector<FakeExecutor*> unproven_;
  int boots_ = 0;
};

TEST(Histories, KeepEveryInvariantAndEndEveryJob) {
  const char* one = std::getenv("MUSTER_SEED");
  uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const char* many = std::getenv("MUSTER_SEEDS");
  uint64_t count = one != nullptr ? 1 : many != nullptr ? std::strtoull(many, nullptr, 10) : 500;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    History(seed).Run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "MUSTER_SEED=" << seed;
  }
}

}  // namespace
}  // namespace muster::core::testing
