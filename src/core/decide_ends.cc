// Ends: of attempts by evidence, of tasks by their attempts, of jobs by their tasks.
#include <algorithm>

#include <fmt/format.h>

#include "core/lifecycle/end_policy.h"
#include "core/turn.h"

namespace muster::core {
namespace {

// What was put down of an attempt that is not the present one.
struct Past {
  bool known = false;        // it ended before, by our own verdict
  bool later_ended = false;  // and so did a later one
  bool has_result = false;   // a process's own end is put down
};
Past PastOf(const Job& job, AttemptId id) {
  Past past;
  for (const EndedAttempt& row : job.ended_attempts.Read(id.task.number - 1)) {
    if (row.n > id.n && row.accepted) past.later_ended = true;
    if (row.n != id.n) continue;
    past.known = true;
    if (row.facts.how != ExitFacts::How::kLost) past.has_result = true;
  }
  return past;
}

void Ack(Turn& turn, const Executor& executor, const FinishedAttempt& finished) {
  turn.Do(After::kDurable, AckAttempt{executor.who.executor, finished.attempt, finished.send});
}

AttemptEnded EndFact(const Turn& turn, const Executor& executor, const FinishedAttempt& finished) {
  AttemptEnded fact;
  fact.attempt = finished.attempt;
  fact.send = finished.send;
  fact.executor = executor.who.executor;
  fact.reason = DecideEnd(finished.facts);
  fact.facts = finished.facts;
  fact.at = turn.now.wall;
  return fact;
}

void Accept(Turn& turn, Job& job, AttemptEnded fact) {
  EndReason reason = fact.reason;
  uint32_t task = fact.attempt.task.number;
  turn.Emit(std::move(fact));
  Settle(turn, job, task, reason);
}

Charges ChargesOf(const Job& job, uint32_t task) {
  const Trouble* trouble = job.trouble.Find(task);
  return trouble == nullptr ? Charges{} : trouble->charges;
}

// True if this end settles its task: it would not be tried again.
bool IsFinal(const Job& job, uint32_t task, const EndReason& reason) {
  if (reason.kind == EndKind::kCancelled || reason.kind == EndKind::kEvicted) return false;
  const RetryBudgets& budgets = job.spec->tasks[job.SpecOf(task)].retries;
  return NextCharge(reason, budgets, ChargesOf(job, task)) == RetryClass::kNone;
}

// The present attempt is superseded by a late result: it is stopped and kept as history.
void Supersede(Turn& turn, Job& job, uint32_t task) {
  const Attempt attempt = *turn.rep.FindAttempt(job, task);
  AttemptEnded fact;
  fact.attempt = attempt.attempt_id();
  fact.send = attempt.send;
  fact.executor = attempt.executor->who.executor;
  fact.reason = {EndKind::kCancelled, 0, "an earlier attempt's result came", true};
  fact.facts.how = ExitFacts::How::kLost;
  fact.facts.started = attempt.started;
  fact.accepted = false;
  fact.at = turn.now.wall;
  StopHeld(turn, *attempt.executor, fact.attempt, attempt.send);
  turn.Emit(std::move(fact));
}

void Adopt(Turn& turn, const Executor& executor, const FinishedAttempt& finished) {
  AttemptsPlanned fact;
  fact.executor = executor.who.executor;
  fact.tasks = {finished.attempt.task.job, finished.attempt.task.number, 1};
  fact.n = finished.attempt.n;
  fact.send = finished.send;
  fact.at = turn.now.wall;
  turn.Emit(std::move(fact));
}

// True if the attempt was given back under this send number, or is one of those that ended.
bool IsOutdated(const Job& job, AttemptId id, uint32_t send) {
  const Trouble* trouble = job.trouble.Find(id.task.number);
  if (trouble == nullptr) return false;
  return id.n <= trouble->ended || (id.n == trouble->ended + 1 && send < trouble->send);
}

// A result of an attempt that is not the one its task has now.
void LateResult(Turn& turn, Executor& executor, Job& job, const FinishedAttempt& finished) {
  uint32_t task = finished.attempt.task.number;
  TaskNode node = NodeOfCode(job.codes.Get(task - 1), job.specs[job.SpecOf(task)]);
  const Attempt* present = turn.rep.FindAttempt(job, task);
  Past past = PastOf(job, finished.attempt);
  AttemptEnded fact = EndFact(turn, executor, finished);
  bool open = node != TaskNode::kEnded && node != TaskNode::kHeld;
  bool counts = open && !past.later_ended && !past.has_result;
  if (present != nullptr && present->state == AttemptState::kEnded) counts = false;
  if (counts && past.known && IsFinal(job, task, fact.reason)) {
    if (present != nullptr) {
      Supersede(turn, job, task);
    } else {
      Adopt(turn, executor, finished);
    }
    return Accept(turn, job, std::move(fact));
  }
  if (past.known) {
    if (past.has_result) return;  // said again
    fact.accepted = false;
    return turn.Emit(std::move(fact));
  }
  if (!counts || present != nullptr || IsOutdated(job, finished.attempt, finished.send)) return;
  // Planned by us, but that was lost in a power cut.
  Adopt(turn, executor, finished);
  Accept(turn, job, std::move(fact));
}

}  // namespace

void EndJobIfOver(Turn& turn, Job& job) {
  if (job.ended || job.EndedTasks() != job.task_count()) return;
  turn.Emit(JobEnded{job.id, turn.now.wall});
}

void EndDependants(Turn& turn, Job& job, uint32_t spec) {
  if (job.dependants.empty()) return;
  constexpr CodeMask kOpen = MaskOf(kFresh) | MaskOf(kAgain) | MaskOf(kBackOff);
  std::vector<uint32_t> broken{spec};
  while (!broken.empty()) {
    uint32_t need = broken.back();
    broken.pop_back();
    for (uint32_t i = job.dependants_begin[need]; i < job.dependants_begin[need + 1]; ++i) {
      uint32_t s = job.dependants[i];
      const SpecState& dependant = job.specs[s];
      if (dependant.ended == dependant.count) continue;
      bool was_broken = dependant.bad > 0;
      EndReason reason{EndKind::kDependency, 0, job.spec->tasks[need].name};
      uint32_t end = dependant.last();
      for (uint32_t from = dependant.first - 1; from < end;) {
        StateColumn::Run run = job.codes.NextRun(from, end, kOpen, UINT32_MAX);
        if (run.count == 0) break;
        from = run.first + run.count;
        TaskRange range{job.id, run.first + 1, run.count};
        turn.Emit(TasksEnded{range, reason, turn.now.wall});
        turn.Do(After::kWritten, TasksDone{range});
      }
      if (!was_broken && dependant.bad > 0) broken.push_back(s);
    }
  }
}

void EndTasks(Turn& turn, Job& job, uint32_t spec, TaskRange tasks, const EndReason& reason) {
  bool was_broken = job.specs[spec].bad > 0;
  turn.Emit(TasksEnded{tasks, reason, turn.now.wall});
  turn.Do(After::kWritten, TasksDone{tasks});
  if (!was_broken && job.specs[spec].bad > 0) EndDependants(turn, job, spec);
  EndJobIfOver(turn, job);
}

void EndDone(Turn& turn) {
  if (turn.done.empty()) return;
  auto done = std::move(turn.done);
  turn.done.clear();
  std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->id, a.second) < std::pair(b.first->id, b.second);
  });
  for (size_t i = 0; i < done.size();) {
    auto [job, first] = done[i];
    uint32_t s = job->SpecOf(first);
    uint32_t count = 0;
    while (i < done.size() && done[i].first == job && done[i].second == first + count &&
           done[i].second <= job->specs[s].last()) {
      ++count;
      ++i;
    }
    EndTasks(turn, *job, s, {job->id, first, count}, {EndKind::kOk});
  }
}

void Settle(Turn& turn, Job& job, uint32_t task, const EndReason& reason) {
  const Attempt* attempt = turn.rep.FindAttempt(job, task);
  if (attempt == nullptr) return;
  uint32_t s = attempt->spec;
  if (reason.kind == EndKind::kOk) {
    if (job.specs[s].uses_out) {
      StartPublishing(turn, job, task);
    } else {
      turn.done.emplace_back(&job, task);
    }
    return;
  }
  RetryClass charge = EndWanted(*attempt) ? RetryClass::kNone
                                          : NextCharge(reason, job.spec->tasks[s].retries,
                                                       ChargesOf(job, task));
  if (charge == RetryClass::kNone) {
    EndTasks(turn, job, s, {job.id, task, 1}, reason);
    return;
  }
  Duration delay = RetryDelay(turn.rep.live.store_id, attempt->attempt_id());
  turn.Emit(RetryPlanned{{job.id, task}, charge, turn.now.wall + delay});
}

void OnFinished(Turn& turn, Executor& executor, const FinishedAttempt& finished) {
  Job* job = turn.rep.FindJob(finished.attempt.task.job);
  uint32_t task = finished.attempt.task.number;
  if (job != nullptr && task > 0 && task <= job->task_count()) {
    const Attempt* attempt = turn.rep.FindAttempt(*job, task);
    bool present = attempt != nullptr && attempt->n == finished.attempt.n;
    if (present && attempt->executor == &executor && attempt->send == finished.send &&
        attempt->state != AttemptState::kEnded) {
      AttemptEnded fact = EndFact(turn, executor, finished);
      // One word on when it started: the one that was shown while it ran.
      if (attempt->started.us != 0) fact.facts.started = attempt->started;
      Accept(turn, *job, std::move(fact));
    } else if (!present) {
      LateResult(turn, executor, *job, finished);
    }
  }
  // Also for what was ignored: else it would be sent for ever.
  Ack(turn, executor, finished);
}

void OnNeverStarted(Turn& turn, Executor& executor, AttemptId id, uint32_t send) {
  Job* job = turn.rep.FindJob(id.task.job);
  if (job == nullptr) return;
  const Attempt* attempt = turn.rep.FindAttempt(*job, id.task.number);
  if (attempt == nullptr || attempt->n != id.n || attempt->send != send ||
      attempt->executor != &executor ||
      turn.rep.table->At(NodeOf(attempt->state), AttemptEvent::kDropped).kind == RuleKind::kIgnore) {
    return;
  }
  bool end_wanted = EndWanted(*attempt);
  uint32_t s = attempt->spec;
  turn.Emit(AttemptDropped{id});
  if (end_wanted) EndTasks(turn, *job, s, {job->id, id.task.number, 1}, {EndKind::kCancelled});
}

void EndLost(Turn& turn, Job& job, uint32_t task, LossKind kind, const std::string& detail) {
  const Attempt& attempt = *turn.rep.FindAttempt(job, task);
  AttemptEnded fact;
  fact.attempt = attempt.attempt_id();
  fact.send = attempt.send;
  fact.executor = attempt.executor->who.executor;
  fact.facts.how = ExitFacts::How::kLost;
  fact.facts.started = attempt.started;
  fact.at = turn.now.wall;
  if (EndWanted(attempt)) {
    fact.reason.kind = EndKind::kCancelled;
  } else {
    fact.reason.kind = kind == LossKind::kForgotten ? EndKind::kUnknown : EndKind::kExecutorLost;
    fact.reason.detail = detail;
    fact.reason.unconfirmed = kind == LossKind::kOutOfContact;
  }
  Accept(turn, job, std::move(fact));
}

}  // namespace muster::core
