// The making of FakeWorld, and the promises it relies on.
#include "core/testing/fake_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::core::testing {

HeldAttempt FakeExecutor::HeldWord(AttemptId attempt, const Held& held) const {
  HeldAttempt word;
  word.attempt = attempt;
  word.send = held.send;
  word.phase = held.started ? AttemptState::kRunning : AttemptState::kSent;
  word.pid = held.started ? 4711 : 0;
  word.started = held.started ? world_.now.wall : WallTime{0};
  return word;
}

ExecutorReport FakeExecutor::Report() const {
  ExecutorReport report;
  report.executor = id();
  return report;
}

void FakeExecutor::Hello() {
  connected_ = true;
  ExecutorHello hello;
  hello.who.executor = id();
  hello.who.launch = launch();
  hello.who.cluster = "here";
  hello.who.incarnation = incarnation;
  hello.who.host = host;
  hello.who.boot_id = "boot";
  hello.who.pid = 100 + static_cast<int64_t>(id().number);
  hello.who.capacity = capacity.value_or(spec_.size);
  hello.who.max_attempts = spec_.max_attempts;
  hello.who.output_dir = "/out/" + Render(id());
  for (const auto& [attempt, held] : held_) hello.held.push_back(HeldWord(attempt, held));
  for (const auto& [attempt, finished] : finished_) hello.finished.push_back(finished);
  world_.Give(std::move(hello));
}

void FakeExecutor::Cut() {
  connected_ = false;
  world_.Give(ExecutorDisconnected{id()});
}

void FakeExecutor::Beat() {
  ExecutorBeat beat;
  beat.executor = id();
  beat.held_count = static_cast<uint32_t>(held_.size());
  for (const auto& [attempt, held] : held_) beat.held_hash ^= HeldHash(attempt, held.send);
  world_.Give(beat);
}

void FakeExecutor::ReportHeld() {
  ExecutorHolds holds;
  holds.executor = id();
  for (const auto& [attempt, held] : held_) holds.held.push_back(HeldWord(attempt, held));
  world_.Give(std::move(holds));
}

void FakeExecutor::Start(AttemptId attempt, int64_t pid) {
  Held& held = held_.at(attempt);
  held.started = true;
  if (!connected_) return;
  ExecutorReport report = Report();
  report.started.push_back(HeldWord(attempt, held));
  report.started.back().pid = pid;
  world_.Give(std::move(report));
}

void FakeExecutor::Finish(AttemptId attempt, ExitFacts facts) {
  FinishedAttempt finished{attempt, held_.at(attempt).send, std::move(facts), 4711};
  finished.facts.started = world_.now.wall;
  held_.erase(attempt);
  stops_.erase(attempt);
  recalls_.erase(attempt);
  finished_[attempt] = finished;
  if (!connected_) return;
  ExecutorReport report = Report();
  report.ended.push_back(finished);
  world_.Give(std::move(report));
}

AttemptId FakeExecutor::Present(TaskId task) const {
  for (auto it = held_.rbegin(); it != held_.rend(); ++it) {
    if (it->first.task == task) return it->first;
  }
  return {task, 0};
}

void FakeExecutor::FinishTask(TaskId task, ExitFacts facts) { Finish(Present(task), std::move(facts)); }

void FakeExecutor::FinishAll(ExitFacts facts) {
  ExecutorReport report = Report();
  for (const auto& [attempt, held] : held_) {
    FinishedAttempt finished{attempt, held.send, facts, 4711};
    finished.facts.started = world_.now.wall;
    finished_[attempt] = finished;
    report.ended.push_back(finished);
  }
  held_.clear();
  stops_.clear();
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::Drop(AttemptId attempt) {
  ExecutorReport report = Report();
  report.dropped.emplace_back(attempt, held_.at(attempt).send);
  held_.erase(attempt);
  stops_.erase(attempt);
  recalls_.erase(attempt);
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::SayUnknown(AttemptId attempt, uint32_t send) {
  ExecutorReport report = Report();
  report.unknown.emplace_back(attempt, send);
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::Publish(AttemptId attempt) {
  ExecutorReport report = Report();
  report.published.emplace_back(attempt, 1);
  publishes_.erase(attempt);
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::FailPublish(AttemptId attempt, int error_number) {
  ExecutorReport report = Report();
  report.publish_failed.push_back({attempt, 1, error_number, "rename a to b"});
  publishes_.erase(attempt);
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::Drained() {
  ExecutorReport report = Report();
  report.drained = true;
  if (connected_) world_.Give(std::move(report));
}

void FakeExecutor::Resend() {
  ExecutorReport report = Report();
  for (const auto& [attempt, finished] : finished_) report.ended.push_back(finished);
  if (connected_ && !report.ended.empty()) world_.Give(std::move(report));
}

void FakeExecutor::ObeyStops() {
  std::set<AttemptId> stops = stops_;
  for (AttemptId attempt : stops) {
    auto it = held_.find(attempt);
    if (it == held_.end()) continue;
    if (it->second.started) {
      Finish(attempt, Stopped(StopCause::kCancelled));
    } else {
      Drop(attempt);
    }
  }
  stops_.clear();
}

void FakeExecutor::Take(const Effect& effect) {
  if (!connected_) return;
  if (const auto* run = std::get_if<RunAttempts>(&effect.body)) {
    for (uint32_t i = 0; i < run->tasks.count; ++i) {
      AttemptId attempt{{run->tasks.job, run->tasks.first + i}, run->n};
      if (!finished_.contains(attempt)) held_.try_emplace(attempt, Held{run->send, false});
    }
  } else if (const auto* stop = std::get_if<StopAttempt>(&effect.body)) {
    if (held_.contains(stop->attempt)) {
      stops_.insert(stop->attempt);
    } else if (!finished_.contains(stop->attempt)) {
      SayUnknown(stop->attempt, stop->send);
    }
  } else if (const auto* recall = std::get_if<RecallAttempt>(&effect.body)) {
    if (held_.contains(recall->attempt)) recalls_.insert(recall->attempt);
  } else if (const auto* ack = std::get_if<AckAttempt>(&effect.body)) {
    finished_.erase(ack->attempt);
  } else if (const auto* publish = std::get_if<PublishAttempt>(&effect.body)) {
    publishes_.insert(publish->attempt);
  } else if (const auto* welcome = std::get_if<WelcomeExecutor>(&effect.body)) {
    if (welcome->incarnation != incarnation) return;
    told_to_leave_ = welcome->leave;
    if (welcome->leave) connected_ = false;
  } else if (std::holds_alternative<DrainExecutor>(effect.body)) {
    told_to_drain_ = true;
  } else if (std::holds_alternative<AskHeld>(effect.body)) {
    ReportHeld();
  }
}

FakeWorld::FakeWorld(std::vector<ClusterSettings> given) : clusters(std::move(given)) {
  Fact started = ControllerStarted{epoch_, now.wall, "boot"};
  journal.push_back(started);
  Apply(state, started);
  Give(Configuration());
}

ConfigureClusters FakeWorld::Configuration() const {
  return {clusters, clusters.empty() ? "" : clusters.front().name, "store"};
}

void FakeWorld::Give(Input input) {
  std::vector<Input> inputs;
  inputs.push_back(std::move(input));
  Give(std::move(inputs));
}

void FakeWorld::Give(std::vector<Input> inputs) {
  Facts facts;
  Effects given;
  Step(state, inputs, now, facts, given);
  for (Fact& fact : facts) journal.push_back(std::move(fact));
  step_ends_.insert(journal.size());
  for (const Effect& effect : given) {
    if (effect.after == After::kDurable) durable = journal.size();
  }
  if (fault.empty()) fault = state.CheckInvariants();
  EXPECT_EQ(fault, "");
  // Else a loop would spin.
  if (auto due = NextDue(state, now)) {
    EXPECT_GT(*due, now.wall);
  }
  if (check_dumps) CheckDump();
  Deliver(std::move(given));
}

void FakeWorld::Deliver(Effects given) {
  for (Effect& effect : given) waiting_.push_back(std::move(effect));
  if (delivering_) return;
  delivering_ = true;
  while (!waiting_.empty()) {
    Effect effect = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    effects.push_back(effect);
    if (const auto* submit = std::get_if<SubmitLaunch>(&effect.body)) {
      bool known = std::any_of(executors.begin(), executors.end(),
                               [&](const auto& x) { return x->launch() == submit->spec.id; });
      if (known) continue;
      executors.push_back(std::make_unique<FakeExecutor>(*this, submit->spec));
      if (shy_launches) continue;
      Give(LaunchAnswer{submit->spec.id, LaunchAnswerKind::kAccepted, "pid", std::nullopt});
      executors.back()->Hello();
      continue;
    }
    for (size_t i = 0; i < executors.size(); ++i) {
      bool meant = std::visit(
          [&](const auto& body) {
            if constexpr (requires { body.executor; }) return body.executor == executors[i]->id();
            return false;
          },
          effect.body);
      if (meant) executors[i]->Take(effect);
    }
  }
  delivering_ = false;
}

JobId FakeWorld::Submit(JobSpec spec, std::string request_id) {
  size_t before = effects.size();
  Give(SubmitJob{next_token_++, std::move(request_id),
                 std::make_shared<const JobSpec>(std::move(spec)), "me"});
  for (size_t i = before; i < effects.size(); ++i) {
    if (const auto* reply = std::get_if<Reply>(&effects[i].body)) {
      EXPECT_FALSE(reply->error) << reply->error->ToString();
      return reply->job;
    }
  }
  ADD_FAILURE() << "no reply";
  return {};
}

std::optional<Error> FakeWorld::SubmitError(JobSpec spec) {
  size_t before = effects.size();
  Give(SubmitJob{next_token_++, "", std::make_shared<const JobSpec>(std::move(spec)), "me"});
  for (size_t i = before; i < effects.size(); ++i) {
    if (const auto* reply = std::get_if<Reply>(&effects[i].body)) return reply->error;
  }
  return std::nullopt;
}

Reply FakeWorld::Cancel(JobId job, std::vector<TaskRange> tasks, bool abandon) {
  size_t before = effects.size();
  ReplyToken token = next_token_++;
  Give(CancelTasks{token, job, std::move(tasks), "me", abandon});
  for (size_t i = before; i < effects.size(); ++i) {
    if (const auto* reply = std::get_if<Reply>(&effects[i].body)) {
      if (reply->token == token) return *reply;
    }
  }
  ADD_FAILURE() << "no reply";
  return {};
}

void FakeWorld::Advance(Duration by) {
  WallTime end = now.wall + by;
  while (now.wall < end) {
    WallTime next = end;
    if (auto due = NextDue(state, now)) next = std::min(next, std::max(*due, now.wall + Duration{1000}));
    next = std::min(next, now.wall + std::chrono::seconds(5));
    Duration pause = next - now.wall;
    now.wall = now.wall + pause;
    now.boot = now.boot + pause;
    Give(Tick{});
    for (size_t i = 0; i < executors.size(); ++i) {
      if (executors[i]->connected()) executors[i]->Beat();
    }
  }
}

void FakeWorld::StandStill(Duration by) {
  now.wall = now.wall + by;
  now.boot = now.boot + by;
}

void FakeWorld::Restart(std::string boot_id) { RestartWith(journal.size(), std::move(boot_id)); }

void FakeWorld::RestartWith(size_t facts, std::string boot_id) {
  journal.resize(facts);
  step_ends_.erase(step_ends_.upper_bound(facts), step_ends_.end());
  state = NewState();
  for (const Fact& fact : journal) Apply(state, fact);
  Fact started = ControllerStarted{++epoch_, now.wall, std::move(boot_id)};
  journal.push_back(started);
  step_ends_.insert(journal.size());
  durable = journal.size();  // the epoch is, before anything else is done
  Apply(state, started);
  Give(Configuration());
}

size_t FakeWorld::StepEndBefore(size_t facts) const {
  auto it = step_ends_.upper_bound(facts);
  return it == step_ends_.begin() ? 0 : *std::prev(it);
}

void FakeWorld::ProveDead(FakeExecutor& executor, std::string words) {
  LaunchObservation seen;
  seen.id = executor.launch();
  seen.phase = LaunchPhase::kEnded;
  seen.confirmed = true;
  seen.exit_signal = 9;
  seen.raw_reason = std::move(words);
  Give(ObserveLaunch{seen});
}

FakeExecutor& FakeWorld::ExecutorOf(ExecutorId id) {
  for (auto& executor : executors) {
    if (executor->id() == id) return *executor;
  }
  std::abort();
}

std::string FakeWorld::Word(TaskId task) const {
  auto view = state.ViewTask(task);
  if (!view) return "not there";
  return view->reason ? Render(*view->reason) : std::string(ToString(view->state));
}

namespace {

Facts DumpOf(const State& state) {
  Facts all;
  DumpFacts(state, [&](Facts&& facts) {
    for (Fact& fact : facts) all.push_back(std::move(fact));
  });
  return all;
}

std::string Describe(const Fact& fact) {
  return std::visit(
      [&](const auto& body) {
        std::string words = "fact " + std::to_string(fact.index());
        if constexpr (requires { body.attempt; }) words += " " + Render(body.attempt);
        if constexpr (requires { body.task; }) words += " " + Render(body.task);
        if constexpr (requires { body.tasks; }) {
          words += " " + Render(TaskId{body.tasks.job, body.tasks.first}) + "+" +
                   std::to_string(body.tasks.count);
        }
        if constexpr (requires { body.n; }) {
          words += " n " + std::to_string(body.n) + " send " + std::to_string(body.send);
        }
        if constexpr (requires { body.reason; }) words += " " + Render(body.reason);
        if constexpr (requires { body.charged; }) words += " " + std::string(ToString(body.charged));
        if constexpr (requires { body.executor; }) words += " " + Render(body.executor);
        if constexpr (requires { body.launch; }) words += " " + Render(body.launch);
        return words;
      },
      fact);
}

// The first fact in which the dumps of the two differ.
std::string FirstDifference(const State& a, const State& b) {
  Facts left = DumpOf(a);
  Facts right = DumpOf(b);
  for (size_t i = 0; i < left.size() || i < right.size(); ++i) {
    if (i < left.size() && i < right.size() && left[i] == right[i]) continue;
    std::string words;
    for (size_t k = i < 3 ? 0 : i - 3; k < i + 3; ++k) {
      words += (k < left.size() ? Describe(left[k]) : "-") + "  |  " +
               (k < right.size() ? Describe(right[k]) : "-") + "\n";
    }
    return words;
  }
  return "none";
}

}  // namespace

void FakeWorld::CheckDump() const {
  State copy = NewState();
  copy.rep().on_bug = state.rep().on_bug;
  for (const Fact& fact : DumpOf(state)) Apply(copy, fact);
  if (Fingerprint(copy) != Fingerprint(state)) {
    ADD_FAILURE() << "the dump gives another state; dumps differ in:\n"
                  << FirstDifference(state, copy);
  }
  EXPECT_EQ(copy.CheckInvariants(), "");
  for (JobId id : state.ListJobs(WallTime{0}, std::nullopt, 1000)) {
    EXPECT_EQ(copy.ViewJob(id), state.ViewJob(id)) << Render(id);
  }
}

TEST(FakeWorld, RunsATaskFromSubmitToResult) {
  FakeWorld world;
  JobId job = world.Submit(OneTask());
  world.executor().Start({{job, 1}, 1});
  EXPECT_EQ(world.Word({job, 1}), "active");
  world.executor().FinishTask({job, 1});
  EXPECT_EQ(world.Word({job, 1}), "ok");
  EXPECT_TRUE(world.state.ViewJob(job)->ended);
  EXPECT_EQ(world.executor().unacknowledged(), 0u);
}

}  // namespace muster::core::testing
