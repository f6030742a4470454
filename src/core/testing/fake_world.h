// A controller's core with fake executors and a fake cluster around it: what the behaviour tests play
// with. Effects are delivered at once; what executors do is said by the test. For tests only.
//
//     FakeWorld world;                             // cluster "here": one executor, 2 cpus
//     JobId job = world.Submit(OneTask("true"));
//     world.executor().FinishTask({job, 1});
//     EXPECT_EQ(world.Word({job, 1}), "ok");
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/apply.h"
#include "core/state_rep.h"
#include "core/step.h"
#include "model/held_hash.h"

namespace muster::core::testing {

// The table of this test program: MUSTER_DROP_TRANSITION names a move that it lacks.
inline const TransitionTable& TestTransitions() {
  static const TransitionTable table = [] {
    const char* drop = std::getenv("MUSTER_DROP_TRANSITION");
    if (drop == nullptr || *drop == '\0') return DefaultTransitions();
    auto changed = OverrideTransition(DefaultTransitions(), drop);
    if (!changed) std::abort();
    return *changed;
  }();
  return table;
}
inline State NewState() {
  State state;
  state.rep().table = &TestTransitions();
  return state;
}

inline TaskSpec OneTaskSpec(std::string name = "a", std::string command = "true") {
  TaskSpec task;
  task.name = std::move(name);
  task.command = ShellCommand{std::move(command)};
  return task;
}
inline TaskSpec ArraySpec(std::string name, int64_t count, uint32_t cap = 0) {
  TaskSpec task = OneTaskSpec(std::move(name));
  task.each = IndexRange{1, count, 1};
  task.array_cap = cap;
  return task;
}
inline JobSpec JobOf(std::vector<TaskSpec> tasks) {
  JobSpec job;
  job.name = "job";
  job.cwd = "/work";
  job.tasks = std::move(tasks);
  return job;
}
inline JobSpec OneTask(std::string command = "true") {
  return JobOf({OneTaskSpec("a", std::move(command))});
}
inline ExitFacts Exited(int code, Duration wall = std::chrono::milliseconds(100)) {
  ExitFacts facts;
  facts.code = code;
  facts.wall = wall;
  facts.max_rss = MiB(3);
  return facts;
}
inline ExitFacts Stopped(StopCause cause) {
  ExitFacts facts;
  facts.how = ExitFacts::How::kSignalled;
  facts.code = 15;
  facts.stop_cause = cause;
  return facts;
}
inline ClusterSettings Here(uint32_t pool_max = 1) {
  ClusterSettings here;
  here.name = "here";
  here.executor_size.cpus = MilliCpu{2000};
  here.executor_size.memory = GiB(4);
  here.pool_max = pool_max;
  return here;
}

class FakeWorld;

// What an executor process knows. Test code makes it act; messages reach the controller only while it is
// connected, what is said meanwhile is lost, as on a cut connection.
class FakeExecutor {
 public:
  struct Held {
    uint32_t send = 0;
    bool started = false;
  };
  FakeExecutor(FakeWorld& world, LaunchSpec spec) : world_(world), spec_(std::move(spec)) {}

  ExecutorId id() const { return spec_.executor; }
  LaunchId launch() const { return spec_.id; }
  bool connected() const { return connected_; }
  const std::map<AttemptId, Held>& held() const { return held_; }
  bool Holds(AttemptId attempt) const { return held_.contains(attempt); }
  size_t unacknowledged() const { return finished_.size(); }
  const std::set<AttemptId>& stops() const { return stops_; }
  const std::set<AttemptId>& recalls() const { return recalls_; }
  const std::set<AttemptId>& publishes() const { return publishes_; }
  bool told_to_drain() const { return told_to_drain_; }
  bool told_to_leave() const { return told_to_leave_; }
  std::string incarnation = "i";
  std::string host = "node";
  bool dead = false;  // for the test's own use
  // The size it says it has, if not the one it was launched with.
  std::optional<Resources> capacity;

  void Hello();
  void Cut();  // the connection is gone
  void Beat();
  void ReportHeld();
  void Start(AttemptId attempt, int64_t pid = 4711);
  void Finish(AttemptId attempt, ExitFacts facts = Exited(0));
  // The present attempt of the task.
  void FinishTask(TaskId task, ExitFacts facts = Exited(0));
  void FinishAll(ExitFacts facts = Exited(0));
  void Drop(AttemptId attempt);
  void SayUnknown(AttemptId attempt, uint32_t send);
  void Publish(AttemptId attempt);
  void FailPublish(AttemptId attempt, int error_number);
  void Drained();
  // Says again what it has not been acknowledged.
  void Resend();
  // Forgets an attempt without a word: what never reached it.
  void Lose(AttemptId attempt) { held_.erase(attempt); }
  // The controller died: nobody says that the connection is gone.
  void LoseConnection() { connected_ = false; }
  // The process dies: whatever it ran and knew is gone.
  void Vanish() {
    connected_ = false;
    held_.clear();
    finished_.clear();
    stops_.clear();
    recalls_.clear();
    publishes_.clear();
  }
  // Ends whatever was asked to stop.
  void ObeyStops();
  AttemptId Present(TaskId task) const;

  void Take(const Effect& effect);

 private:
  HeldAttempt HeldWord(AttemptId attempt, const Held& held) const;
  ExecutorReport Report() const;

  FakeWorld& world_;
  LaunchSpec spec_;
  bool connected_ = false;
  bool told_to_drain_ = false;
  bool told_to_leave_ = false;
  std::map<AttemptId, Held> held_;
  std::map<AttemptId, FinishedAttempt> finished_;
  std::set<AttemptId> stops_;
  std::set<AttemptId> recalls_;
  std::set<AttemptId> publishes_;
};

class FakeWorld {
 public:
  // Executors that are launched say hello at once unless `shy_launches` is set before.
  explicit FakeWorld(std::vector<ClusterSettings> clusters = {Here()});

  JobId Submit(JobSpec spec, std::string request_id = "");
  std::optional<Error> SubmitError(JobSpec spec);
  Reply Cancel(JobId job, std::vector<TaskRange> tasks = {}, bool abandon = false);
  void Give(Input input);
  void Give(std::vector<Input> inputs);
  // Time passes in steps as a loop would take them, with heartbeats of those connected.
  void Advance(Duration by);
  // Nobody calls: the loop stands still.
  void StandStill(Duration by);
  // The controller dies and comes back with what its journal holds; executors are cut off.
  void Restart(std::string boot_id = "boot");
  // Only the first `facts` facts are left: a power cut.
  void RestartWith(size_t facts, std::string boot_id);
  // The largest journal size at or below `facts` at which a step ended.
  size_t StepEndBefore(size_t facts) const;
  // The cluster's word on a launch: ended, seen by its node.
  void ProveDead(FakeExecutor& executor, std::string words = "killed");

  FakeExecutor& executor(size_t index = 0) { return *executors[index]; }
  FakeExecutor& ExecutorOf(ExecutorId id);
  // "waiting" ... or the end's words.
  std::string Word(TaskId task) const;
  WhyView Why(TaskId task) const { return *state.Why(task, now); }
  size_t CountFacts(auto&& matches) const {
    size_t count = 0;
    for (const Fact& fact : journal) count += matches(fact) ? 1 : 0;
    return count;
  }
  template <typename T>
  std::vector<T> FactsOf() const {
    std::vector<T> found;
    for (const Fact& fact : journal) {
      if (const T* one = std::get_if<T>(&fact)) found.push_back(*one);
    }
    return found;
  }
  template <typename T>
  std::vector<T> EffectsOf() const {
    std::vector<T> found;
    for (const Effect& effect : effects) {
      if (const T* one = std::get_if<T>(&effect.body)) found.push_back(*one);
    }
    return found;
  }
  ConfigureClusters Configuration() const;
  // Applies the dump to an empty state; aborts the test if it differs.
  void CheckDump() const;

  State state = NewState();
  Now now{{1'700'000'000'000'000}, {1'000'000'000}};
  Facts journal;
  Effects effects;  // all so far
  std::vector<std::unique_ptr<FakeExecutor>> executors;
  std::vector<ClusterSettings> clusters;
  bool shy_launches = false;
  size_t durable = 0;  // facts that an effect already carried out had to wait for
  bool check_dumps = true;
  std::string fault;  // the first broken invariant

 private:
  void Deliver(Effects given);
  ReplyToken next_token_ = 1;
  uint64_t epoch_ = 1;
  bool delivering_ = false;
  Effects waiting_;
  std::set<size_t> step_ends_{0};
};

}  // namespace muster::core::testing
