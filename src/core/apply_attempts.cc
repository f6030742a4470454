// Facts about attempts.
#include <algorithm>

#include <fmt/format.h>

#include "core/apply_parts.h"

namespace muster::core {
namespace {

uint32_t MakeSlot(StateRep& rep) {
  if (rep.free_attempts.empty()) {
    rep.attempts.emplace_back();
    return static_cast<uint32_t>(rep.attempts.size() - 1);
  }
  uint32_t slot = rep.free_attempts.back();
  rep.free_attempts.pop_back();
  return slot;
}

// The slot of the attempt, 0 if it is not the one its task has.
uint32_t SlotOf(const Job& job, const StateRep& rep, AttemptId id) {
  const uint32_t* slot = job.attempts.Find(id.task.number);
  return slot != nullptr && rep.attempts[*slot].n == id.n ? *slot : 0;
}

// What an attempt fact is about; `slot` 0 after a bug, which has been dealt with.
struct Subject {
  Job* job = nullptr;
  uint32_t slot = 0;
};

// Finds the attempt and asks the table; the attempt gets its new state.
Subject Move(StateRep& rep, AttemptId id, AttemptEvent event) {
  Job* job = rep.FindJob(id.task.job);
  if (job == nullptr || id.task.number == 0 || id.task.number > job->task_count()) {
    rep.OnBug(nullptr, 0, fmt::format("{} of {}, which is not there", ToString(event), Render(id)));
    return {};
  }
  uint32_t slot = SlotOf(*job, rep, id);
  AttemptNode node = slot == 0 ? AttemptNode::kNone : NodeOf(rep.attempts[slot].state);
  const Rule& rule = rep.table->At(node, event);
  if (rule.kind == RuleKind::kIgnore) return {job, 0};
  if (rule.kind == RuleKind::kBug) {
    SetAside(rep, *job, id.task.number,
             fmt::format("attempt {} in {} does not know {}", id.n, ToString(node), ToString(event)));
    return {job, 0};
  }
  auto to = static_cast<AttemptNode>(rule.to);
  if (to != AttemptNode::kNone) {
    rep.attempts[slot].state = static_cast<AttemptState>(static_cast<int>(to) - 1);
  }
  return {job, slot};
}

bool MayPlan(StateRep& rep, Job& job, uint32_t s, uint32_t task, std::string& objection) {
  TaskNode node = NodeOfCode(job.codes.Get(task - 1), job.specs[s]);
  if (rep.table->At(node, TaskEvent::kPlanned).kind != RuleKind::kMove) {
    objection = fmt::format("{} does not know Planned", ToString(node));
    return false;
  }
  if (rep.table->At(AttemptNode::kNone, AttemptEvent::kPlanned).kind != RuleKind::kMove) {
    objection = "an attempt cannot be Planned";
    return false;
  }
  return true;
}

void PlanOne(StateRep& rep, Job& job, uint32_t s, uint32_t task, Executor& executor,
             const AttemptsPlanned& fact) {
  if (const Trouble* trouble = job.trouble.Find(task)) {
    rep.retries.erase({trouble->not_before, {job.id, task}});
  }
  uint32_t slot = MakeSlot(rep);
  Attempt& attempt = rep.attempts[slot];
  attempt.job = &job;
  attempt.task = task;
  attempt.spec = s;
  attempt.n = fact.n;
  attempt.send = fact.send;
  attempt.state = AttemptState::kSent;
  attempt.may_overlap = fact.may_overlap;
  attempt.executor = &executor;
  attempt.planned = fact.at;
  job.attempts.At(task) = slot;
  Attach(rep, slot);
}

// What attempts of this TaskSpec take, as a moving mean over the last eight or so.
void Learn(SpecState& spec, const ExitFacts& facts) {
  if (facts.how != ExitFacts::How::kExited && facts.how != ExitFacts::How::kSignalled) return;
  if (spec.samples < UINT16_MAX) ++spec.samples;
  int64_t weight = std::min<int64_t>(spec.samples, 8);
  int64_t wall = std::clamp<int64_t>(facts.wall.count(), 0, UINT32_MAX);
  int64_t mean = spec.mean_wall_us;
  spec.mean_wall_us = static_cast<uint32_t>(mean + (wall - mean) / weight);
}

EndedAttempt RowOf(const AttemptEnded& fact, const Attempt* attempt) {
  EndedAttempt row;
  row.n = fact.attempt.n;
  row.send = fact.send;
  row.executor = fact.executor;
  row.accepted = fact.accepted;
  row.ended = fact.at;
  row.reason = fact.reason;
  row.facts = fact.facts;
  if (attempt != nullptr) {
    row.may_overlap = attempt->may_overlap;
    row.planned = attempt->planned;
  }
  return row;
}

// The attempt is over; it stays until its task is settled.
void NoteEnd(Attempt& attempt, const AttemptEnded& fact) {
  attempt.state = AttemptState::kEnded;
  attempt.n = fact.attempt.n;
  attempt.send = fact.send;
  attempt.end_kind = fact.reason.kind;
  attempt.end_number = fact.reason.number;
  attempt.end_detail = !fact.reason.detail.empty();
  attempt.end_unconfirmed = fact.reason.unconfirmed;
  attempt.ended = fact.at;
}

void LateEnd(StateRep& rep, Job& job, const AttemptEnded& fact) {
  uint32_t task = fact.attempt.task.number;
  EndedAttempt row = RowOf(fact, nullptr);
  bool known = false;
  for (const EndedAttempt& earlier : job.ended_attempts.Read(task - 1)) {
    if (earlier.n != row.n) continue;
    known = true;
    row.planned = earlier.planned;
    row.may_overlap = earlier.may_overlap;
  }
  AttemptNode node = known ? AttemptNode::kEnded : AttemptNode::kNone;
  Attempt* attempt = rep.FindAttempt(job, task);
  bool fits = !fact.accepted || (attempt != nullptr && attempt->state == AttemptState::kEnded);
  if (rep.table->At(node, AttemptEvent::kEnded).kind != RuleKind::kMove || !fits) {
    return SetAside(rep, job, task,
                    fmt::format("attempt {} in {} does not know Ended", row.n, ToString(node)));
  }
  job.ended_attempts.Append(task - 1, row);
  Executor* executor = rep.FindExecutor(fact.executor);
  if (executor != nullptr) rep.NoteUse(job, *executor);
  if (!fact.accepted) return;
  NoteEnd(*attempt, fact);
  if (executor != nullptr) attempt->executor = executor;
  attempt->planned = row.planned;
  attempt->may_overlap = row.may_overlap;
}

}  // namespace

void ApplyFact(StateRep& rep, const AttemptsPlanned& fact) {
  Job* job = rep.FindJob(fact.tasks.job);
  Executor* executor = rep.FindExecutor(fact.executor);
  if (job == nullptr || executor == nullptr || fact.tasks.first == 0) {
    return rep.OnBug(nullptr, 0, fmt::format("{} planned on {}, one of which is not there",
                                             Render(TaskId{fact.tasks.job, fact.tasks.first}),
                                             Render(fact.executor)));
  }
  uint32_t s = job->SpecOf(fact.tasks.first);
  SpecState& spec = job->specs[s];
  uint32_t end = fact.tasks.first + fact.tasks.count;
  if (end - 1 > spec.last()) return rep.OnBug(job, fact.tasks.first, "a range beyond its TaskSpec");
  uint32_t run_first = fact.tasks.first;
  auto flush = [&](uint32_t run_end) {
    if (run_end > run_first) SetCodes(*job, s, run_first, run_end - run_first, kActive);
  };
  for (uint32_t task = fact.tasks.first; task < end; ++task) {
    std::string objection;
    if (MayPlan(rep, *job, s, task, objection)) {
      PlanOne(rep, *job, s, task, *executor, fact);
      continue;
    }
    flush(task);
    run_first = task + 1;
    SetAside(rep, *job, task, objection);
  }
  flush(end);
  if (spec.cursor >= fact.tasks.first && spec.cursor < end) spec.cursor = end;
  rep.Requeue(*job, s);
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const AttemptStarted& fact) {
  auto [job, slot] = Move(rep, fact.attempt, AttemptEvent::kStarted);
  if (slot == 0) return;
  TakeRoom(rep, slot);
  Attempt& attempt = rep.attempts[slot];
  attempt.pid = fact.pid;
  if (attempt.started.us == 0) ++attempt.executor->running;
  // An executor that does not say when: now, never "not at all".
  attempt.started = fact.at.us == 0 ? attempt.planned : fact.at;
  if (!job->first_started || attempt.started < *job->first_started) {
    job->first_started = attempt.started;
  }
  SetCodes(*job, attempt.spec, attempt.task, 1, kRunning);
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const AttemptRecalled& fact) {
  Move(rep, fact.attempt, AttemptEvent::kRecalled);
}

void ApplyFact(StateRep& rep, const AttemptDropped& fact) {
  auto [job, slot] = Move(rep, fact.attempt, AttemptEvent::kDropped);
  if (slot == 0) return;
  Attempt attempt = rep.attempts[slot];
  TaskNode node = NodeOfCode(job->codes.Get(attempt.task - 1), job->specs[attempt.spec]);
  if (rep.table->At(node, TaskEvent::kDropped).kind != RuleKind::kMove) {
    return SetAside(rep, *job, attempt.task, fmt::format("{} does not know Dropped", ToString(node)));
  }
  Detach(rep, slot);
  rep.free_attempts.push_back(slot);
  rep.attempts[slot] = Attempt{};
  job->attempts.Erase(attempt.task);
  Trouble& trouble = job->trouble.At(attempt.task);
  trouble.ended = std::max(trouble.ended, attempt.n - 1);
  trouble.send = attempt.send + 1;
  trouble.dropped_by = attempt.executor->who.executor;
  rep.NoteUse(*job, *attempt.executor);
  SetCodes(*job, attempt.spec, attempt.task, 1, kAgain);
  rep.Requeue(*job, attempt.spec);
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const AttemptStopping& fact) {
  auto [job, slot] = Move(rep, fact.attempt, AttemptEvent::kStopping);
  if (slot == 0) return;
  rep.attempts[slot].stop_cause = fact.cause;
  rep.attempts[slot].stopping = fact.at;
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const AttemptEnded& fact) {
  Job* job = rep.FindJob(fact.attempt.task.job);
  uint32_t task = fact.attempt.task.number;
  if (job == nullptr || task == 0 || task > job->task_count()) {
    return rep.OnBug(nullptr, 0, fmt::format("end of {}, which is not there", Render(fact.attempt)));
  }
  uint32_t slot = SlotOf(*job, rep, fact.attempt);
  if (slot == 0 || rep.attempts[slot].state == AttemptState::kEnded) {
    LateEnd(rep, *job, fact);
    return rep.MarkChanged(*job);
  }
  AttemptNode node = NodeOf(rep.attempts[slot].state);
  if (rep.table->At(node, AttemptEvent::kEnded).kind != RuleKind::kMove) {
    return SetAside(rep, *job, task, fmt::format("attempt {} in {} does not know Ended",
                                                 fact.attempt.n, ToString(node)));
  }
  Detach(rep, slot);
  Attempt& attempt = rep.attempts[slot];
  job->ended_attempts.Append(task - 1, RowOf(fact, &attempt));
  rep.NoteUse(*job, *attempt.executor);
  if (fact.accepted) Learn(job->specs[attempt.spec], fact.facts);
  if (attempt.started.us != 0) SetCodes(*job, attempt.spec, task, 1, kActive);
  WallTime started = fact.facts.started.us != 0 ? fact.facts.started : attempt.started;
  if (started.us != 0 && (!job->first_started || started < *job->first_started)) {
    job->first_started = started;
  }
  NoteEnd(attempt, fact);
  rep.MarkChanged(*job);
}

}  // namespace muster::core
