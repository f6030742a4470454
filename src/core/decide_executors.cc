// What executors say: hello, reports, heartbeats; belief is compared with what they hold.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/turn.h"

namespace muster::core {
namespace {

void Refuse(Turn& turn, const ExecutorRegistered& who, std::string refusal) {
  turn.Do(After::kWritten, WelcomeExecutor{who.executor, who.incarnation, std::move(refusal), true});
}

void Hear(Turn& turn, Executor& executor) {
  bool was_there = InContact(executor, turn.now.boot);
  executor.heard = turn.now.boot;
  if (was_there || executor.state == ExecutorState::kGone) return;
  executor.connected = true;
  turn.rep.MarkDirty(executor);
}

void RunAgain(Turn& turn, const Executor& executor, const Attempt& attempt) {
  if (turn.rep.live.stopped) return;  // the next controller does
  turn.Do(AfterFor(attempt.job->specs[attempt.spec]),
          RunAttempts{executor.who.executor, {attempt.job->id, attempt.task, 1}, attempt.n,
                      attempt.send});
}

void RecallAgain(Turn& turn, const Executor& executor, const Attempt& attempt) {
  turn.Do(AfterFor(attempt.job->specs[attempt.spec]),
          RecallAttempt{executor.who.executor, attempt.attempt_id(), attempt.send});
}

void NoteStarted(Turn& turn, const Attempt& attempt, const HeldAttempt& held) {
  bool runs = held.phase == AttemptState::kRunning || held.phase == AttemptState::kStopping;
  if (!runs || attempt.started.us != 0) return;
  if (turn.rep.table->At(NodeOf(attempt.state), AttemptEvent::kStarted).kind == RuleKind::kIgnore) {
    return;
  }
  turn.Emit(AttemptStarted{held.attempt, held.pid,
                           held.started.us != 0 ? held.started : turn.now.wall});
}

// An attempt of ours that was superseded but may still give the result: it is left alone.
bool MayStillWin(const Job& job, const HeldAttempt& held) {
  if (job.cancel) return false;
  bool known = false;
  for (const EndedAttempt& row : job.ended_attempts.Read(held.attempt.task.number - 1)) {
    if (row.n > held.attempt.n && row.accepted) return false;
    if (row.n == held.attempt.n) {
      known = row.reason.unconfirmed && row.reason.kind == EndKind::kExecutorLost;
    }
  }
  return known;
}

// A known task's attempt that we do not know of: taken over if nothing speaks against it.
bool MayAdopt(const Job& job, const HeldAttempt& held) {
  uint8_t code = job.codes.Get(held.attempt.task.number - 1);
  if (job.cancel || code >= kEnded || code == kSetAside) return false;
  const Trouble* trouble = job.trouble.Find(held.attempt.task.number);
  if (trouble == nullptr) return true;
  if (held.attempt.n <= trouble->ended) return false;
  return held.attempt.n > trouble->ended + 1 || held.send >= trouble->send;
}

void OnHeld(Turn& turn, Executor& executor, const HeldAttempt& held) {
  StateRep& rep = turn.rep;
  Job* job = rep.FindJob(held.attempt.task.job);
  uint32_t task = held.attempt.task.number;
  if (job == nullptr || task == 0 || task > job->task_count()) {
    return StopHeld(turn, executor, held.attempt, held.send);
  }
  if (const Attempt* attempt = rep.FindAttempt(*job, task)) {
    bool ours = attempt->n == held.attempt.n && attempt->executor == &executor;
    if (ours && attempt->send == held.send) return NoteStarted(turn, *attempt, held);
    bool superseded = attempt->n > held.attempt.n && MayStillWin(*job, held);
    if (!superseded) StopHeld(turn, executor, held.attempt, held.send);
    return;
  }
  if (job->codes.Get(task - 1) < kEnded && MayStillWin(*job, held)) return;
  if (executor.state == ExecutorState::kGone || !MayAdopt(*job, held)) {
    return StopHeld(turn, executor, held.attempt, held.send);
  }
  AttemptsPlanned fact;
  fact.executor = executor.who.executor;
  fact.tasks = {held.attempt.task.job, task, 1};
  fact.n = held.attempt.n;
  fact.send = held.send;
  fact.at = turn.now.wall;
  turn.Emit(std::move(fact));
  NoteStarted(turn, *rep.FindAttempt(*job, task), held);
}

// What we believe it holds, oldest first.
std::vector<TaskId> BeliefOf(const StateRep& rep, const Executor& executor) {
  std::vector<TaskId> tasks;
  for (const AttemptList* list : {&executor.counted, &executor.extra}) {
    for (uint32_t slot = list->head; slot != 0; slot = rep.attempts[slot].next) {
      tasks.push_back(rep.attempts[slot].id());
    }
  }
  return tasks;
}

// Belief says it holds this attempt, it says otherwise. What may never have reached it is said again: with
// the same send number that is harmless, and its answer settles the matter.
void OnMissing(Turn& turn, Executor& executor, const Attempt& attempt) {
  if (attempt.started.us != 0) {
    return EndLost(turn, *attempt.job, attempt.task, LossKind::kForgotten,
                   fmt::format("{} does not hold it and reported no end",
                               Render(executor.who.executor)));
  }
  switch (attempt.state) {
    case AttemptState::kStopping:
      return StopHeld(turn, executor, attempt.attempt_id(), attempt.send);
    case AttemptState::kRecalling: return RecallAgain(turn, executor, attempt);
    default: return RunAgain(turn, executor, attempt);
  }
}

// Compares with everything it holds. `since`: what was planned at or after it may still be on its way.
void Reconcile(Turn& turn, Executor& executor, const std::vector<HeldAttempt>& held,
               std::optional<WallTime> since) {
  std::unordered_map<AttemptId, uint32_t> there;
  for (const HeldAttempt& one : held) {
    there[one.attempt] = one.send;
    OnHeld(turn, executor, one);
  }
  for (TaskId task : BeliefOf(turn.rep, executor)) {
    Job* job = turn.rep.FindJob(task.job);
    const Attempt* attempt = job == nullptr ? nullptr : turn.rep.FindAttempt(*job, task.number);
    if (attempt == nullptr || attempt->executor != &executor) continue;
    auto it = there.find(attempt->attempt_id());
    if (it != there.end() && it->second == attempt->send) {
      if (attempt->state == AttemptState::kStopping) {
        StopHeld(turn, executor, attempt->attempt_id(), attempt->send);
      } else if (attempt->state == AttemptState::kRecalling) {
        RecallAgain(turn, executor, *attempt);
      }
      continue;
    }
    if (since && attempt->planned >= *since) continue;
    OnMissing(turn, executor, *attempt);
  }
}

// An executor we believe gone: its results are heard, what it holds is stopped, and it is sent away.
void Farewell(Turn& turn, Executor& executor, const ExecutorHello& input) {
  for (const FinishedAttempt& finished : input.finished) OnFinished(turn, executor, finished);
  EndDone(turn);
  for (const HeldAttempt& held : input.held) {
    StopHeld(turn, executor, held.attempt, held.send);
  }
  Refuse(turn, input.who,
         fmt::format("{} counts as gone ({}); its work was given to others",
                     Render(executor.who.executor), executor.why));
}

// Why it may not join, "" if it may.
std::string ObjectionTo(const StateRep& rep, const ExecutorRegistered& who) {
  auto it = rep.launches.find(who.launch.number);
  if (it == rep.launches.end()) {
    return fmt::format("launch {} is not known to this controller", Render(who.launch));
  }
  const Launch& launch = it->second;
  if (launch.planned.executor != who.executor) {
    return fmt::format("launch {} was made for {}, not for {}", Render(who.launch),
                       Render(launch.planned.executor), Render(who.executor));
  }
  if (launch.state == LaunchState::kEnded) {
    return fmt::format("launch {} counts as ended", Render(who.launch));
  }
  if (launch.state == LaunchState::kStopping) {
    return fmt::format("launch {} is being stopped: {}", Render(who.launch), launch.words);
  }
  return "";
}

void Register(Turn& turn, const ExecutorHello& input) {
  StateRep& rep = turn.rep;
  ExecutorRegistered fact = input.who;
  fact.at = turn.now.wall;
  const Launch* launch = rep.FindLaunch(fact.launch);
  LaunchId id = fact.launch;
  if (launch != nullptr) fact.cluster = launch->planned.cluster;
  turn.Emit(std::move(fact));
  if (launch != nullptr &&
      rep.table->At(NodeOf(launch->state), LaunchEvent::kUp).kind == RuleKind::kMove) {
    turn.Emit(LaunchObserved{id, LaunchState::kUp});
  }
  Pool& pool = *rep.pools[rep.FindExecutor(input.who.executor)->cluster];
  pool.ramp = std::min<uint32_t>(pool.ramp * 2, 1024);
}

bool AsksForStop(const Attempt& attempt) {
  return attempt.state == AttemptState::kStopping || attempt.state == AttemptState::kRecalling;
}

// It does not know what we named: it never got it, or has long forgotten it.
void OnUnknown(Turn& turn, Executor& executor, AttemptId id, uint32_t send) {
  Job* job = turn.rep.FindJob(id.task.job);
  const Attempt* attempt = job == nullptr ? nullptr : turn.rep.FindAttempt(*job, id.task.number);
  if (attempt == nullptr || attempt->n != id.n || attempt->send != send ||
      attempt->executor != &executor || !AsksForStop(*attempt)) {
    return;
  }
  if (attempt->started.us == 0) return OnNeverStarted(turn, executor, id, send);
  EndLost(turn, *job, id.task.number, LossKind::kForgotten,
          fmt::format("{} does not hold it and reported no end", Render(executor.who.executor)));
}

void OnDropped(Turn& turn, Executor& executor, AttemptId id, uint32_t send) {
  Job* job = turn.rep.FindJob(id.task.job);
  const Attempt* attempt = job == nullptr ? nullptr : turn.rep.FindAttempt(*job, id.task.number);
  bool asked = attempt == nullptr || AsksForStop(*attempt);
  // It gives work back unasked: it was told to leave by somebody else, and gets no more.
  if (!asked && attempt->executor == &executor && attempt->send == send &&
      turn.rep.table->At(NodeOf(executor.state), ExecutorEvent::kDraining).kind == RuleKind::kMove) {
    DrainIt(turn, executor, "gave its work back");
  }
  OnNeverStarted(turn, executor, id, send);
}

void OnDrained(Turn& turn, Executor& executor) {
  if (executor.state == ExecutorState::kGone) return;
  for (TaskId task : BeliefOf(turn.rep, executor)) {
    Job* job = turn.rep.FindJob(task.job);
    const Attempt* attempt = turn.rep.FindAttempt(*job, task.number);
    if (attempt == nullptr) continue;
    AttemptId id = attempt->attempt_id();
    uint32_t send = attempt->send;
    if (attempt->started.us == 0) {
      OnNeverStarted(turn, executor, id, send);
    } else {
      EndLost(turn, *job, task.number, LossKind::kForgotten, "its executor left without it");
    }
  }
  turn.Emit(ExecutorGone{executor.who.executor, "drained", turn.now.wall});
  Launch* launch = turn.rep.FindLaunch(executor.who.launch);
  if (launch == nullptr || launch->state == LaunchState::kEnded) return;
  if (turn.rep.table->At(NodeOf(launch->state), LaunchEvent::kStopping).kind == RuleKind::kMove) {
    turn.Emit(LaunchStopping{launch->planned.launch, "drained", turn.now.wall});
  }
  turn.Do(After::kDurable, StopLaunch{launch->planned.cluster, launch->planned.launch});
  launch->look_at = turn.now.boot + kLookAgain;
  turn.ScanBy(launch->look_at);
}

}  // namespace

void StopHeld(Turn& turn, const Executor& executor, AttemptId attempt, uint32_t send) {
  Duration grace = std::chrono::seconds(5);
  After after = After::kWritten;
  if (Job* job = turn.rep.FindJob(attempt.task.job);
      job != nullptr && attempt.task.number > 0 && attempt.task.number <= job->task_count()) {
    uint32_t s = job->SpecOf(attempt.task.number);
    grace = job->spec->tasks[s].grace;
    after = AfterFor(job->specs[s]);
  }
  turn.Do(after,
          StopAttempt{executor.who.executor, attempt, send, StopCause::kCancelled, grace});
}

void OnHello(Turn& turn, const ExecutorHello& input) {
  StateRep& rep = turn.rep;
  Executor* executor = rep.FindExecutor(input.who.executor);
  if (executor != nullptr && executor->who.incarnation != input.who.incarnation) {
    return Refuse(turn, input.who,
                  fmt::format("{} is {} (process {}) already", Render(input.who.executor),
                              executor->who.incarnation, executor->who.pid));
  }
  if (executor != nullptr && executor->state == ExecutorState::kGone) {
    return Farewell(turn, *executor, input);
  }
  if (executor == nullptr) {
    std::string objection = ObjectionTo(rep, input.who);
    if (!objection.empty()) return Refuse(turn, input.who, std::move(objection));
  }
  ExecutorNode node = executor == nullptr ? ExecutorNode::kNone : NodeOf(executor->state);
  if (rep.table->At(node, ExecutorEvent::kHello).kind != RuleKind::kIgnore) Register(turn, input);
  executor = rep.FindExecutor(input.who.executor);
  if (executor == nullptr) return;
  executor->asked_held.reset();
  Hear(turn, *executor);
  rep.MarkDirty(*executor);
  turn.Do(After::kWritten, WelcomeExecutor{input.who.executor, input.who.incarnation, "", false});
  for (const FinishedAttempt& finished : input.finished) OnFinished(turn, *executor, finished);
  EndDone(turn);
  Reconcile(turn, *executor, input.held, std::nullopt);
  for (auto& [task, publishing] : rep.live.publishing) {
    if (publishing.executor == input.who.executor) publishing.asked = false;
  }
  GoOnPublishing(turn);
  if (executor->state == ExecutorState::kDraining) {
    turn.Do(After::kWritten, DrainExecutor{input.who.executor, Duration{0}, executor->why});
  }
}

void OnReport(Turn& turn, const ExecutorReport& input) {
  Executor* executor = turn.rep.FindExecutor(input.executor);
  if (executor == nullptr) return;
  Hear(turn, *executor);
  for (const HeldAttempt& started : input.started) OnHeld(turn, *executor, started);
  for (const FinishedAttempt& ended : input.ended) OnFinished(turn, *executor, ended);
  EndDone(turn);
  for (const auto& [attempt, send] : input.dropped) OnDropped(turn, *executor, attempt, send);
  for (const auto& [attempt, send] : input.published) OnPublished(turn, attempt);
  EndDone(turn);
  for (const auto& failure : input.publish_failed) OnPublishFailed(turn, failure);
  for (const auto& [attempt, send] : input.unknown) OnUnknown(turn, *executor, attempt, send);
  if (input.drained) OnDrained(turn, *executor);
}

void OnBeat(Turn& turn, const ExecutorBeat& input) {
  Executor* executor = turn.rep.FindExecutor(input.executor);
  if (executor == nullptr || executor->state == ExecutorState::kGone) return;
  Hear(turn, *executor);
  if (input.held_count == executor->held() && input.held_hash == executor->held_hash) return;
  // After everything said before it, so that its answer knows of it.
  turn.Do(After::kDurable, AskHeld{input.executor});
  executor->asked_held = turn.now.wall;
}

void OnHolds(Turn& turn, const ExecutorHolds& input) {
  Executor* executor = turn.rep.FindExecutor(input.executor);
  if (executor == nullptr || executor->state == ExecutorState::kGone) return;
  Hear(turn, *executor);
  // Unasked it proves nothing of what may be on its way.
  WallTime since = executor->asked_held.value_or(WallTime{0});
  executor->asked_held.reset();
  Reconcile(turn, *executor, input.held, since);
}

void OnDisconnected(Turn& turn, const ExecutorDisconnected& input) {
  Executor* executor = turn.rep.FindExecutor(input.executor);
  if (executor == nullptr || !executor->connected) return;
  executor->connected = false;
  executor->idle_since.reset();
  executor->asked_held.reset();
  // At once: the cluster may know that it is dead.
  executor->look_at = turn.now.boot;
  turn.ScanBy(turn.now.boot);
}

}  // namespace muster::core
