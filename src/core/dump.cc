// The facts that rebuild a state: what snapshots and the archive hold.
#include <algorithm>

#include "core/apply.h"
#include "core/state_rep.h"

namespace muster::core {
namespace {

constexpr size_t kPiece = 4096;

AttemptsPlanned PlannedFact(const Job& job, uint32_t task, const EndedAttempt& row) {
  return {row.executor, {job.id, task, 1}, row.n, row.send, row.may_overlap, row.planned};
}

AttemptEnded EndedFact(const Job& job, uint32_t task, const EndedAttempt& row) {
  return {{{job.id, task}, row.n}, row.send, row.executor, row.reason, row.facts, row.accepted,
          row.ended};
}

class Dumper {
 public:
  Dumper(const StateRep& rep, const std::function<void(Facts&&)>& sink) : rep_(rep), sink_(sink) {}
  ~Dumper() { Flush(); }
  Dumper(const Dumper&) = delete;

  void Whole() {
    Clusters();
    uint64_t last = 0;
    for (const auto& [number, job] : rep_.jobs) {
      History(*job);
      last = number;
    }
    if (last < rep_.last_job) Put(JobArchived{JobId{rep_.last_job}});
    for (const auto& [number, executor] : rep_.executors) {
      for (const AttemptList* list : {&executor->counted, &executor->extra}) {
        for (uint32_t slot = list->head; slot != 0; slot = rep_.attempts[slot].next) {
          LiveAttempt(rep_.attempts[slot]);
        }
      }
    }
    for (const auto& [number, job] : rep_.jobs) {
      if (job->ended) Put(JobEnded{job->id, *job->ended});
    }
    if (rep_.clean && rep_.epoch > 0) Put(ControllerStopped{rep_.stopped_at});
  }

  void One(const Job& job) {
    std::set<uint64_t> executors;
    job.ended_attempts.ForEachTask([&](uint32_t at) {
      for (const EndedAttempt& row : job.ended_attempts.Read(at)) {
        executors.insert(row.executor.number);
      }
    });
    std::vector<uint32_t> live;
    job.attempts.ForEach([&](uint32_t, uint32_t slot) {
      executors.insert(rep_.attempts[slot].executor->who.executor.number);
      if (rep_.attempts[slot].state != AttemptState::kEnded) live.push_back(slot);
    });
    for (uint64_t id : executors) {
      const Executor* executor = rep_.FindExecutor(ExecutorId{id});
      if (executor == nullptr) continue;
      Put(executor->who);
      if (executor->state == ExecutorState::kGone) Put(GoneFact(*executor));
    }
    History(job);
    for (uint32_t slot : live) LiveAttempt(rep_.attempts[slot]);
    if (job.ended) Put(JobEnded{job.id, *job.ended});
  }

 private:
  static ExecutorGone GoneFact(const Executor& executor) {
    return {executor.who.executor, executor.why, executor.changed};
  }
  void Put(Fact fact) {
    FlushRange();
    PutNow(std::move(fact));
  }
  void PutNow(Fact fact) {
    piece_.push_back(std::move(fact));
    if (piece_.size() < kPiece) return;
    sink_(std::move(piece_));
    piece_ = Facts();
  }
  void Flush() {
    FlushRange();
    if (!piece_.empty()) sink_(std::move(piece_));
  }
  // A plan for one task, with its end if it has one. Consecutive ones that differ in the task alone become
  // one fact, followed by their ends.
  void PutPlanned(const AttemptsPlanned& fact, std::optional<AttemptEnded> end) {
    AttemptsPlanned next = range_;
    next.tasks.first += next.tasks.count;
    next.tasks.count = 1;
    if (range_.tasks.count > 0 && next == fact && ends_.size() < kPiece &&
        range_end_ > fact.tasks.first) {
      ++range_.tasks.count;
    } else {
      FlushRange();
      range_ = fact;
      const Job& job = *rep_.FindJob(fact.tasks.job);
      range_end_ = job.specs[job.SpecOf(fact.tasks.first)].last() + 1;
    }
    if (end) ends_.push_back(*std::move(end));
  }
  void FlushRange() {
    if (range_.tasks.count == 0) return;
    AttemptsPlanned planned = range_;
    std::vector<AttemptEnded> ends = std::move(ends_);
    range_.tasks.count = 0;
    ends_.clear();
    PutNow(planned);
    for (AttemptEnded& end : ends) PutNow(std::move(end));
  }

  void Clusters();
  void LaunchFacts(const Launch& launch);
  void History(const Job& job);
  void TaskHistory(const Job& job, uint32_t task);
  void Retry(const Job& job, uint32_t task, WallTime not_before, bool due);
  void EndsOfRun(const Job& job, StateColumn::Run run, EndKind kind);
  void LiveAttempt(const Attempt& attempt);

  const StateRep& rep_;
  const std::function<void(Facts&&)>& sink_;
  Facts piece_;
  AttemptsPlanned range_;
  uint32_t range_end_ = 0;
  std::vector<AttemptEnded> ends_;
  std::vector<RetryClass> charges_;  // of the task at hand, not given out yet
};

void Dumper::LaunchFacts(const Launch& launch) {
  LaunchId id = launch.planned.launch;
  Put(launch.planned);
  if (!launch.external_id.empty() || launch.state == LaunchState::kSent) {
    Put(LaunchSent{id, launch.external_id});
  }
  if (launch.state == LaunchState::kStarting || launch.state == LaunchState::kUp) {
    Put(LaunchObserved{id, launch.state});
  }
  if (launch.state == LaunchState::kStopping) {
    Put(LaunchStopping{id, launch.words, launch.stopping});
  }
  // In this order, so that starts that failed in a row are counted as such.
  if (const Executor* executor = rep_.FindExecutor(launch.planned.executor)) Put(executor->who);
  if (launch.state == LaunchState::kEnded) {
    Put(LaunchEnded{id, launch.end, launch.words, launch.ended});
  }
}

// Launches in the epochs they were planned in, executors, and the last start of a controller.
void Dumper::Clusters() {
  uint64_t epoch = 0;
  for (const auto& [number, launch] : rep_.launches) {
    if (launch.epoch != epoch) {
      epoch = launch.epoch;
      Put(ControllerStarted{epoch, rep_.started_at, rep_.boot_id});
    }
    LaunchFacts(launch);
  }
  for (const auto& [number, executor] : rep_.executors) {
    if (rep_.FindLaunch(executor->who.launch) == nullptr) Put(executor->who);
  }
  if (rep_.epoch > 0) Put(ControllerStarted{rep_.epoch, rep_.started_at, rep_.boot_id});
  for (const auto& [number, executor] : rep_.executors) {
    if (executor->state == ExecutorState::kServing && rep_.epoch > 0) Put(executor->who);
    if (executor->state == ExecutorState::kDraining) {
      Put(ExecutorDraining{executor->who.executor, executor->why, executor->changed});
    }
    if (executor->state == ExecutorState::kGone) Put(GoneFact(*executor));
  }
}

void Dumper::History(const Job& job) {
  Put(JobAccepted{job.id, job.spec, job.owner, job.request_id, job.submitted});
  if (job.cancel) Put(*job.cancel);
  job.ended_attempts.ForEachTask([&](uint32_t at) { TaskHistory(job, at + 1); });
  std::vector<uint32_t> dropped;
  job.trouble.ForEach([&](uint32_t task, const Trouble&) {
    if (!job.ended_attempts.Has(task - 1)) dropped.push_back(task);
  });
  std::sort(dropped.begin(), dropped.end());
  for (uint32_t task : dropped) TaskHistory(job, task);
  for (const SpecState& spec : job.specs) {
    if (spec.ended == 0) continue;
    for (int k = 0; k < kEndKinds; ++k) {
      auto kind = static_cast<EndKind>(k);
      for (uint32_t from = spec.first - 1; from < spec.last();) {
        StateColumn::Run run = job.codes.NextRun(from, spec.last(), MaskOf(CodeOf(kind)), UINT32_MAX);
        if (run.count == 0) break;
        from = run.first + run.count;
        EndsOfRun(job, run, kind);
      }
    }
  }
  if (rep_.on_bug == StateRep::BugRule::kAbort) return;
  // What was set aside is so again by a fact that does not fit.
  for (const auto& [task, what] : rep_.set_aside) {
    if (task.job == job.id) Put(RetryDue{task});
  }
}

void Dumper::Retry(const Job& job, uint32_t task, WallTime not_before, bool due) {
  RetryClass charged = RetryClass::kNone;
  if (!charges_.empty()) {
    charged = charges_.back();
    charges_.pop_back();
  }
  Put(RetryPlanned{{job.id, task}, charged, not_before});
  if (due) Put(RetryDue{{job.id, task}});
}

void Dumper::TaskHistory(const Job& job, uint32_t task) {
  const Trouble* trouble = job.trouble.Find(task);
  std::vector<EndedAttempt> rows = job.ended_attempts.Read(task - 1);
  if (rows.size() == 1 && trouble == nullptr) {
    return PutPlanned(PlannedFact(job, task, rows[0]), EndedFact(job, task, rows[0]));
  }
  charges_.clear();
  for (size_t c = 0; trouble != nullptr && c < trouble->charges.size(); ++c) {
    charges_.insert(charges_.end(), trouble->charges[c], static_cast<RetryClass>(c));
  }
  WallTime not_before = trouble == nullptr ? WallTime{0} : trouble->not_before;
  std::vector<uint32_t> seen;
  bool open = false;        // an attempt ended and its task is not settled
  bool superseded = false;  // that attempt's end was not accepted
  for (const EndedAttempt& row : rows) {
    bool first = std::find(seen.begin(), seen.end(), row.n) == seen.end();
    // A late end that was accepted either replaces the superseded attempt or took the task up again.
    bool plan = first || (row.accepted && !superseded);
    if (plan && open) Retry(job, task, not_before, true);
    if (plan) Put(PlannedFact(job, task, row));
    Put(EndedFact(job, task, row));
    open = open || plan;
    if (first || row.accepted) superseded = !row.accepted;
    if (first) seen.push_back(row.n);
  }
  uint8_t code = job.codes.Get(task - 1);
  const Attempt* attempt = rep_.FindAttempt(job, task);
  bool lives = attempt != nullptr && attempt->state != AttemptState::kEnded;
  if (open && (code == kBackOff || code == kAgain || lives)) {
    Retry(job, task, not_before, code != kBackOff);
  }
  // Given back under its last send number: the next one is higher.
  if (code == kAgain && trouble != nullptr && trouble->send > 1) {
    AttemptsPlanned fact;
    fact.executor = trouble->dropped_by;
    fact.tasks = {job.id, task, 1};
    fact.n = trouble->ended + 1;
    fact.send = trouble->send - 1;
    Put(fact);
    Put(AttemptDropped{{{job.id, task}, fact.n}});
  }
}

// Tasks of one TaskSpec that ended in one kind; their reasons may differ.
void Dumper::EndsOfRun(const Job& job, StateColumn::Run run, EndKind kind) {
  uint32_t end = run.first + 1 + run.count;
  for (uint32_t task = run.first + 1; task < end;) {
    auto after = job.notes.upper_bound(task);
    uint32_t told_end = after == job.notes.end() ? end : std::min(end, after->first);
    if (after != job.notes.begin()) {
      auto note = std::prev(after);
      uint32_t note_end = note->first + note->second.count;
      if (task < note_end) {
        uint32_t stop = std::min(end, note_end);
        Put(TasksEnded{{job.id, task, stop - task}, note->second.reason, note->second.at});
        task = stop;
        continue;
      }
    }
    if (kind == EndKind::kOk) {
      Put(TasksEnded{{job.id, task, told_end - task}, {EndKind::kOk}, job.submitted});
    } else {
      for (uint32_t one = task; one < told_end; ++one) {
        Put(TasksEnded{{job.id, one, 1}, ReasonOf(job, one), job.submitted});
      }
    }
    task = told_end;
  }
}

void Dumper::LiveAttempt(const Attempt& attempt) {
  AttemptId id = attempt.attempt_id();
  PutPlanned({attempt.executor->who.executor, {attempt.job->id, attempt.task, 1}, attempt.n,
              attempt.send, attempt.may_overlap, attempt.planned},
             std::nullopt);
  if (attempt.started.us != 0) Put(AttemptStarted{id, attempt.pid, attempt.started});
  if (attempt.state == AttemptState::kRecalling) Put(AttemptRecalled{id});
  if (attempt.state == AttemptState::kStopping) {
    Put(AttemptStopping{id, attempt.stop_cause, attempt.stopping});
  }
}

}  // namespace

void DumpFacts(const State& state, const std::function<void(Facts&&)>& sink) {
  Dumper(state.rep(), sink).Whole();
}

void DumpJob(const State& state, JobId id, const std::function<void(Facts&&)>& sink) {
  const Job* job = state.rep().FindJob(id);
  if (job != nullptr) Dumper(state.rep(), sink).One(*job);
}

}  // namespace muster::core
