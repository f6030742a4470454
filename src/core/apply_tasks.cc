// Facts about jobs and tasks.
#include <algorithm>

#include <fmt/format.h>

#include "core/apply_parts.h"

namespace muster::core {
namespace {

void BuildDependants(Job& job) {
  const auto& tasks = job.spec->tasks;
  size_t edges = 0;
  for (const TaskSpec& task : tasks) edges += task.needs.size();
  if (edges == 0) return;
  job.dependants_begin.assign(tasks.size() + 1, 0);
  for (const TaskSpec& task : tasks) {
    for (uint32_t need : task.needs) ++job.dependants_begin[need + 1];
  }
  for (size_t s = 0; s < tasks.size(); ++s) job.dependants_begin[s + 1] += job.dependants_begin[s];
  job.dependants.resize(edges);
  std::vector<uint32_t> next(job.dependants_begin.begin(), job.dependants_begin.end() - 1);
  for (uint32_t s = 0; s < tasks.size(); ++s) {
    for (uint32_t need : tasks[s].needs) job.dependants[next[need]++] = s;
  }
}

void Release(StateRep& rep, Job& job, uint32_t s) {
  SpecState& spec = job.specs[s];
  if (spec.fresh > 0) {
    const Rule& rule = rep.table->At(TaskNode::kWaiting, TaskEvent::kNeedsMet);
    if (rule.kind != RuleKind::kMove) {
      rep.OnBug(&job, spec.first, "Waiting does not know NeedsMet");
      return;
    }
  }
  spec.released = true;
  job.waiting -= spec.fresh;
  rep.Requeue(job, s);
}

// After the last task of a TaskSpec: what needs it may go on.
void FinishSpec(StateRep& rep, Job& job, uint32_t s) {
  if (job.dependants.empty() || job.specs[s].bad > 0) return;
  for (uint32_t i = job.dependants_begin[s]; i < job.dependants_begin[s + 1]; ++i) {
    uint32_t dependant = job.dependants[i];
    if (--job.specs[dependant].needs_left == 0) Release(rep, job, dependant);
  }
}

void FreeSlot(StateRep& rep, Job& job, uint32_t task) {
  uint32_t* slot = job.attempts.Find(task);
  rep.free_attempts.push_back(*slot);
  rep.attempts[*slot] = Attempt{};
  job.attempts.Erase(task);
}

// The task's reason can be read from its attempt.
bool ToldByAttempt(const Job& job, const Attempt& attempt, const EndReason& reason) {
  if (attempt.end_kind != reason.kind || attempt.end_number != reason.number ||
      attempt.end_unconfirmed != reason.unconfirmed) {
    return false;
  }
  if (!attempt.end_detail && reason.detail.empty()) return true;
  return LastAccepted(job, attempt.task)->reason == reason;
}

CodeCounts CountsOf(const Job& job, const TaskRange& range) {
  CodeCounts counts{};
  if (range.count == 1) {
    counts[job.codes.Get(range.first - 1)] = 1;
  } else {
    job.codes.AddCounts(range.first - 1, range.first - 1 + range.count, counts);
  }
  return counts;
}

// What stands against the end of these tasks, "" for nothing.
std::string ObjectionToEnd(StateRep& rep, Job& job, uint32_t s, const TaskRange& range,
                           const CodeCounts& counts) {
  for (uint8_t code = 0; code < kTaskCodes; ++code) {
    if (counts[code] == 0) continue;
    TaskNode node = NodeOfCode(code, job.specs[s]);
    if (rep.table->At(node, TaskEvent::kEnded).kind == RuleKind::kMove) continue;
    return fmt::format("{} does not know Ended", ToString(node));
  }
  if (counts[kActive] + counts[kRunning] == 0) return "";
  for (uint32_t i = 0; i < range.count; ++i) {
    const Attempt* attempt = rep.FindAttempt(job, range.first + i);
    if (attempt != nullptr && attempt->state != AttemptState::kEnded) {
      return "ended while its attempt lives";
    }
  }
  return "";
}

// Puts down the reason where no attempt tells it; frees the attempts.
void SettleRange(StateRep& rep, Job& job, const TasksEnded& fact, const CodeCounts& counts) {
  uint32_t note_first = 0;
  uint32_t note_count = 0;
  auto flush = [&] {
    if (note_count > 0) job.notes[note_first] = EndNote{note_count, fact.reason, fact.at};
    note_count = 0;
  };
  bool failed = fact.reason.kind != EndKind::kOk && fact.reason.kind != EndKind::kCancelled;
  auto failure = [&](uint32_t task, WallTime at) {
    if (!failed) return;
    std::pair<WallTime, uint32_t> candidate{at, task};
    if (!job.first_failure || candidate < *job.first_failure) job.first_failure = candidate;
  };
  bool with_attempts = counts[kActive] + counts[kRunning] > 0;
  bool with_trouble = !job.trouble.empty() &&
                      (with_attempts || counts[kBackOff] + counts[kAgain] > 0);
  if (!with_attempts && !with_trouble) {
    job.notes[fact.tasks.first] = EndNote{fact.tasks.count, fact.reason, fact.at};
    failure(fact.tasks.first, fact.at);
    return;
  }
  for (uint32_t i = 0; i < fact.tasks.count; ++i) {
    uint32_t task = fact.tasks.first + i;
    const Attempt* attempt = with_attempts ? rep.FindAttempt(job, task) : nullptr;
    if (attempt != nullptr && ToldByAttempt(job, *attempt, fact.reason)) {
      failure(task, attempt->ended);
      flush();
    } else {
      failure(task, fact.at);
      if (note_count == 0) note_first = task;
      ++note_count;
    }
    if (attempt != nullptr) FreeSlot(rep, job, task);
    if (!with_trouble) continue;
    if (const Trouble* trouble = job.trouble.Find(task)) {
      rep.retries.erase({trouble->not_before, {job.id, task}});
      job.trouble.Erase(task);
    }
  }
  flush();
}

}  // namespace

TaskNode NodeOfCode(uint8_t code, const SpecState& spec) {
  switch (code) {
    case kFresh: return spec.released ? TaskNode::kReady : TaskNode::kWaiting;
    case kBackOff: return TaskNode::kBackOff;
    case kAgain: return TaskNode::kReady;
    case kSetAside: return TaskNode::kHeld;
    case kActive:
    case kRunning: return TaskNode::kActive;
    default: return TaskNode::kEnded;
  }
}

void SetCodes(Job& job, uint32_t s, uint32_t first, uint32_t count, uint8_t code) {
  CodeCounts replaced{};
  job.codes.SetRange(first - 1, count, code, replaced);
  SpecState& spec = job.specs[s];
  for (uint8_t old = 0; old < kTaskCodes; ++old) {
    if (replaced[old] == 0) continue;
    auto n = static_cast<uint32_t>(replaced[old]);
    job.counts[old] -= n;
    if (old == kFresh) {
      spec.fresh -= n;
      if (!spec.released) job.waiting -= n;
    } else if (old == kAgain) {
      spec.again -= n;
    } else if (old == kActive || old == kRunning) {
      spec.live -= n;
    } else if (old >= kEnded) {
      spec.ended -= n;
      if (old != CodeOf(EndKind::kOk)) spec.bad -= n;
    }
  }
  job.counts[code] += count;
  if (code == kFresh) {
    spec.fresh += count;
    if (!spec.released) job.waiting += count;
  } else if (code == kAgain) {
    spec.again += count;
    spec.cursor = std::min(spec.cursor, first);
  } else if (code == kActive || code == kRunning) {
    spec.live += count;
  } else if (code >= kEnded) {
    spec.ended += count;
    if (code != CodeOf(EndKind::kOk)) spec.bad += count;
  }
}

void SetAside(StateRep& rep, Job& job, uint32_t task, const std::string& what) {
  rep.OnBug(&job, task, what);
  uint8_t code = job.codes.Get(task - 1);
  if (code == kSetAside || code >= kEnded) return;
  if (const uint32_t* slot = job.attempts.Find(task)) {
    if (rep.attempts[*slot].state != AttemptState::kEnded) Detach(rep, *slot);
    FreeSlot(rep, job, task);
  }
  if (const Trouble* trouble = job.trouble.Find(task)) {
    rep.retries.erase({trouble->not_before, {job.id, task}});
    job.trouble.Erase(task);
  }
  uint32_t s = job.SpecOf(task);
  SetCodes(job, s, task, 1, kSetAside);
  rep.Requeue(job, s);
  rep.set_aside[{job.id, task}] = what;
  rep.MarkChanged(job);
}

void ApplyFact(StateRep& rep, const JobAccepted& fact) {
  if (rep.jobs.contains(fact.job.number)) {
    rep.OnBug(nullptr, 0, fmt::format("{} accepted twice", Render(fact.job)));
    return;
  }
  auto task_count = static_cast<uint32_t>(fact.spec->task_count());
  auto job = std::make_unique<Job>(fact.job, task_count, fact.at);
  job->spec = fact.spec;
  job->owner = fact.owner;
  job->request_id = fact.request_id;
  job->cluster = rep.PoolIndex(fact.spec->cluster);
  job->counts[kFresh] = task_count;
  job->specs.resize(fact.spec->tasks.size());
  BuildDependants(*job);
  Job& made = *(rep.jobs[fact.job.number] = std::move(job));
  rep.last_job = std::max(rep.last_job, fact.job.number);
  if (!fact.request_id.empty()) rep.requests.emplace(fact.request_id, fact.job);
  uint32_t next = 1;
  for (uint32_t s = 0; s < made.specs.size(); ++s) {
    const TaskSpec& task = fact.spec->tasks[s];
    SpecState& spec = made.specs[s];
    spec.first = spec.cursor = next;
    spec.count = spec.fresh = static_cast<uint32_t>(task.count());
    next += spec.count;
    spec.needs_left = static_cast<uint32_t>(task.needs.size());
    spec.released = spec.needs_left == 0;
    spec.ready_class = rep.ClassIndex(made.cluster, task.request, task.needs_time);
    spec.cap = task.array_cap;
    spec.uses_out = UsesOut(task);
    spec.once = task.once;
    if (!spec.released) made.waiting += spec.fresh;
    rep.Requeue(made, s);
  }
  rep.MarkChanged(made);
}

void ApplyFact(StateRep& rep, const JobCancelRequested& fact) {
  Job* job = rep.FindJob(fact.job);
  if (job == nullptr) return rep.OnBug(nullptr, 0, "cancel of a job that is not there");
  if (!job->cancel) job->cancel = fact;
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const JobEnded& fact) {
  Job* job = rep.FindJob(fact.job);
  if (job == nullptr) return rep.OnBug(nullptr, 0, "end of a job that is not there");
  if (job->ended) return rep.OnBug(job, 0, "ended twice");
  job->ended = fact.at;
  rep.ended_jobs.emplace(fact.at, fact.job.number);
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const JobArchived& fact) {
  rep.last_job = std::max(rep.last_job, fact.job.number);
  Job* job = rep.FindJob(fact.job);
  if (job == nullptr) return;  // a snapshot names the last job this way
  if (!job->ended) return rep.OnBug(job, 0, "archived before its end");
  rep.ended_jobs.erase({*job->ended, fact.job.number});
  if (auto it = rep.requests.find(job->request_id);
      it != rep.requests.end() && it->second == fact.job) {
    rep.requests.erase(it);
  }
  rep.RemoveJob(*job);
}

void ApplyFact(StateRep& rep, const RetryPlanned& fact) {
  Job* job = rep.FindJob(fact.task.job);
  if (job == nullptr) return rep.OnBug(nullptr, 0, "retry in a job that is not there");
  uint32_t task = fact.task.number;
  uint32_t s = job->SpecOf(task);
  TaskNode node = NodeOfCode(job->codes.Get(task - 1), job->specs[s]);
  Attempt* attempt = rep.FindAttempt(*job, task);
  if (rep.table->At(node, TaskEvent::kRetryPlanned).kind != RuleKind::kMove || attempt == nullptr ||
      attempt->state != AttemptState::kEnded) {
    return SetAside(rep, *job, task, fmt::format("{} does not know RetryPlanned", ToString(node)));
  }
  Trouble& trouble = job->trouble.At(task);
  trouble.ended = std::max(trouble.ended, attempt->n);
  trouble.send = 1;
  if (fact.charged != RetryClass::kNone) ++trouble.charges[static_cast<size_t>(fact.charged)];
  trouble.not_before = fact.not_before;
  trouble.last_executor = attempt->executor->who.executor;
  trouble.infrastructure = RetryClassOf({attempt->end_kind, attempt->end_number}) ==
                           RetryClass::kInfrastructure;
  trouble.unconfirmed = attempt->end_unconfirmed;
  FreeSlot(rep, *job, task);
  SetCodes(*job, s, task, 1, kBackOff);
  rep.retries.insert({fact.not_before, fact.task});
  rep.Requeue(*job, s);
  rep.MarkChanged(*job);
}

void ApplyFact(StateRep& rep, const RetryDue& fact) {
  Job* job = rep.FindJob(fact.task.job);
  if (job == nullptr) return rep.OnBug(nullptr, 0, "retry in a job that is not there");
  uint32_t task = fact.task.number;
  uint32_t s = job->SpecOf(task);
  TaskNode node = NodeOfCode(job->codes.Get(task - 1), job->specs[s]);
  if (rep.table->At(node, TaskEvent::kRetryDue).kind != RuleKind::kMove) {
    return SetAside(rep, *job, task, fmt::format("{} does not know RetryDue", ToString(node)));
  }
  rep.retries.erase({job->trouble.At(task).not_before, fact.task});
  SetCodes(*job, s, task, 1, kAgain);
  rep.Requeue(*job, s);
}

void ApplyFact(StateRep& rep, const TasksEnded& fact) {
  Job* job = rep.FindJob(fact.tasks.job);
  if (job == nullptr) return rep.OnBug(nullptr, 0, "end of tasks in a job that is not there");
  uint32_t s = job->SpecOf(fact.tasks.first);
  SpecState& spec = job->specs[s];
  if (fact.tasks.first == 0 || fact.tasks.first + fact.tasks.count - 1 > spec.last()) {
    return rep.OnBug(job, fact.tasks.first, "a range beyond its TaskSpec");
  }
  CodeCounts counts = CountsOf(*job, fact.tasks);
  std::string objection = ObjectionToEnd(rep, *job, s, fact.tasks, counts);
  if (!objection.empty()) {
    if (fact.tasks.count == 1) return SetAside(rep, *job, fact.tasks.first, objection);
    // Only what does not fit is set aside.
    for (uint32_t i = 0; i < fact.tasks.count; ++i) {
      ApplyFact(rep, TasksEnded{{fact.tasks.job, fact.tasks.first + i, 1}, fact.reason, fact.at});
    }
    return;
  }
  if (!rep.set_aside.empty()) {
    for (auto it = rep.set_aside.lower_bound({job->id, fact.tasks.first});
         it != rep.set_aside.end() && it->first.job == job->id &&
         it->first.number < fact.tasks.first + fact.tasks.count;) {
      it = rep.set_aside.erase(it);
    }
  }
  SettleRange(rep, *job, fact, counts);
  SetCodes(*job, s, fact.tasks.first, fact.tasks.count, CodeOf(fact.reason.kind));
  if (spec.cursor >= fact.tasks.first && spec.cursor <= fact.tasks.first + fact.tasks.count - 1) {
    spec.cursor = fact.tasks.first + fact.tasks.count;
  }
  rep.Requeue(*job, s);
  if (spec.ended == spec.count) FinishSpec(rep, *job, s);
  rep.MarkChanged(*job);
}

}  // namespace muster::core
