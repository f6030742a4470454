// The reading side of State: views for the API.
#include <algorithm>

#include "core/state.h"
#include "core/state_rep.h"

namespace muster::core {
namespace {

constexpr Duration kShowGone = std::chrono::hours(1);

void AddTo(TaskCounts& counts, const CodeCounts& codes, uint64_t waiting) {
  counts.waiting += waiting;
  counts.ready += codes[kFresh] - waiting + codes[kBackOff] + codes[kAgain];
  counts.held += codes[kSetAside];
  counts.active += codes[kActive] + codes[kRunning];
  counts.running += codes[kRunning];
  for (int kind = 0; kind < kEndKinds; ++kind) {
    counts.ended[static_cast<size_t>(kind)] += codes[static_cast<size_t>(kEnded + kind)];
  }
}

TaskCounts CountsOfSpec(const Job& job, const SpecState& spec) {
  CodeCounts codes{};
  job.codes.AddCounts(spec.first - 1, spec.last(), codes);
  TaskCounts counts;
  AddTo(counts, codes, spec.released ? 0 : codes[kFresh]);
  return counts;
}

std::string HostOf(const StateRep& rep, ExecutorId id) {
  const Executor* executor = rep.FindExecutor(id);
  return executor == nullptr ? "" : executor->who.host;
}

AttemptView ViewOf(const StateRep& rep, TaskId task, const EndedAttempt& row) {
  AttemptView view;
  view.id = {task, row.n};
  view.state = AttemptState::kEnded;
  view.executor = row.executor;
  view.host = HostOf(rep, row.executor);
  view.send = row.send;
  view.planned = row.planned;
  if (row.facts.started.us != 0) view.started = row.facts.started;
  view.ended = row.ended;
  view.reason = row.reason;
  if (row.facts.how != ExitFacts::How::kLost) view.facts = row.facts;
  view.accepted = row.accepted;
  view.may_overlap = row.may_overlap;
  return view;
}

AttemptView ViewOf(const StateRep& rep, const Attempt& attempt) {
  AttemptView view;
  view.id = attempt.attempt_id();
  view.state = attempt.state;
  view.executor = attempt.executor->who.executor;
  view.host = HostOf(rep, view.executor);
  view.send = attempt.send;
  view.planned = attempt.planned;
  if (attempt.started.us != 0) view.started = attempt.started;
  view.pid = attempt.pid;
  view.may_overlap = attempt.may_overlap;
  return view;
}

std::vector<AttemptView> AttemptsOf(const StateRep& rep, const Job& job, uint32_t task) {
  std::vector<AttemptView> views;
  for (const EndedAttempt& row : job.ended_attempts.Read(task - 1)) {
    AttemptView view = ViewOf(rep, {job.id, task}, row);
    // A later word on the same attempt replaces the earlier one.
    auto same = std::find_if(views.begin(), views.end(),
                             [&](const AttemptView& v) { return v.id.n == row.n; });
    if (same != views.end()) {
      *same = std::move(view);
    } else {
      views.push_back(std::move(view));
    }
  }
  const Attempt* attempt = rep.FindAttempt(job, task);
  if (attempt != nullptr && attempt->state != AttemptState::kEnded) {
    std::erase_if(views, [&](const AttemptView& v) { return v.id.n == attempt->n; });
    views.push_back(ViewOf(rep, *attempt));
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const AttemptView& a, const AttemptView& b) { return a.id.n < b.id.n; });
  return views;
}

TaskState StateOfCode(uint8_t code, const SpecState& spec) {
  if (code == kFresh) return spec.released ? TaskState::kReady : TaskState::kWaiting;
  if (code == kBackOff || code == kAgain) return TaskState::kReady;
  if (code == kSetAside) return TaskState::kHeld;
  return code >= kEnded ? TaskState::kEnded : TaskState::kActive;
}

// Codes of the tasks that match, for a TaskSpec whose needs are met or not.
CodeMask MaskFor(const State::TaskFilter& filter, bool released) {
  CodeMask mask = kAllCodes;
  if (filter.state) {
    switch (*filter.state) {
      case TaskState::kWaiting: mask = released ? 0 : MaskOf(kFresh); break;
      case TaskState::kReady:
        mask = MaskOf(kBackOff) | MaskOf(kAgain) | (released ? MaskOf(kFresh) : 0);
        break;
      case TaskState::kHeld: mask = MaskOf(kSetAside); break;
      case TaskState::kActive: mask = kActiveCodes; break;
      case TaskState::kEnded: mask = kEndedCodes; break;
    }
  }
  if (filter.ended_as) mask &= MaskOf(CodeOf(*filter.ended_as));
  if (filter.failed_only) {
    mask &= kEndedCodes & ~MaskOf(CodeOf(EndKind::kOk)) & ~MaskOf(CodeOf(EndKind::kCancelled));
  }
  return mask;
}

// Calls `visit(from, to, mask)` for stretches of tasks [from, to), counted from 0, that share a mask.
template <typename Visit>
void ForEachStretch(const Job& job, const State::TaskFilter& filter, uint32_t from, Visit&& visit) {
  CodeMask unmet = MaskFor(filter, false);
  CodeMask met = MaskFor(filter, true);
  if (filter.spec) {
    if (*filter.spec >= job.specs.size()) return;
    const SpecState& spec = job.specs[*filter.spec];
    (void)visit(std::max(from, spec.first - 1), spec.last(), spec.released ? met : unmet);
    return;
  }
  if (unmet == met) {
    (void)visit(from, job.task_count(), met);
    return;
  }
  if (from >= job.task_count()) return;
  for (uint32_t s = job.SpecOf(from + 1); s < job.specs.size(); ++s) {
    const SpecState& spec = job.specs[s];
    CodeMask mask = spec.released ? met : unmet;
    if (mask != 0 && !visit(std::max(from, spec.first - 1), spec.last(), mask)) return;
  }
}

}  // namespace

State::State() : rep_(std::make_unique<StateRep>()) {}
State::~State() = default;
State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;

uint64_t State::epoch() const { return rep_->epoch; }
bool State::clean() const { return rep_->clean; }
std::string State::last_boot_id() const { return rep_->boot_id; }
uint64_t State::jobs_active() const { return rep_->jobs.size() - rep_->ended_jobs.size(); }
uint64_t State::quarantined() const { return rep_->set_aside.size(); }

std::vector<JobId> State::ListJobs(std::optional<WallTime> ended_since, std::optional<JobId> after,
                                   size_t limit) const {
  std::vector<JobId> ids;
  auto it = after ? rep_->jobs.lower_bound(after->number) : rep_->jobs.end();
  while (it != rep_->jobs.begin() && ids.size() < limit) {
    --it;
    const Job& job = *it->second;
    if (!job.ended || (ended_since && *job.ended >= *ended_since)) ids.push_back(job.id);
  }
  return ids;
}

uint64_t State::CountJobs(std::optional<WallTime> ended_since) const {
  uint64_t count = jobs_active();
  if (!ended_since) return count;
  auto from = rep_->ended_jobs.lower_bound({*ended_since, 0});
  return count + static_cast<uint64_t>(std::distance(from, rep_->ended_jobs.end()));
}

std::optional<JobView> State::ViewJob(JobId id) const {
  const Job* job = rep_->FindJob(id);
  if (job == nullptr) return std::nullopt;
  JobView view;
  view.id = id;
  view.name = job->spec->name;
  view.owner = job->owner;
  view.cwd = job->spec->cwd;
  view.cluster = job->spec->cluster;
  view.priority = job->spec->priority;
  view.submitted = job->submitted;
  view.first_started = job->first_started;
  view.ended = job->ended;
  view.cancel_requested = job->cancel.has_value();
  AddTo(view.counts, job->counts, job->waiting);
  view.attempts = job->ended_attempts.rows();
  if (job->first_failure) view.first_failure = TaskId{id, job->first_failure->second};
  view.specs.reserve(job->specs.size());
  for (uint32_t s = 0; s < job->specs.size(); ++s) {
    const SpecState& spec = job->specs[s];
    JobView::SpecView one;
    one.name = job->spec->tasks[s].name;
    one.first_task = spec.first;
    one.count = spec.count;
    one.counts = CountsOfSpec(*job, spec);
    one.leaf = job->dependants.empty() || job->dependants_begin[s] == job->dependants_begin[s + 1];
    view.specs.push_back(std::move(one));
  }
  return view;
}

std::shared_ptr<const JobSpec> State::SpecOf(JobId id) const {
  const Job* job = rep_->FindJob(id);
  return job == nullptr ? nullptr : job->spec;
}

std::optional<State::TaskPlace> State::PlaceOf(TaskId task) const {
  const Job* job = rep_->FindJob(task.job);
  if (job == nullptr || task.number == 0 || task.number > job->task_count()) return std::nullopt;
  uint32_t s = job->SpecOf(task.number);
  return TaskPlace{s, task.number - job->specs[s].first};
}

std::optional<uint32_t> State::FirstTaskOf(JobId id, uint32_t spec) const {
  const Job* job = rep_->FindJob(id);
  if (job == nullptr || spec >= job->specs.size()) return std::nullopt;
  return job->specs[spec].first;
}

std::optional<TaskState> State::StateOf(TaskId task) const {
  auto place = PlaceOf(task);
  if (!place) return std::nullopt;
  const Job& job = *rep_->FindJob(task.job);
  return StateOfCode(job.codes.Get(task.number - 1), job.specs[place->spec]);
}

std::optional<TaskView> State::ViewTask(TaskId task) const {
  auto place = PlaceOf(task);
  if (!place) return std::nullopt;
  const Job& job = *rep_->FindJob(task.job);
  const TaskSpec& spec = job.spec->tasks[place->spec];
  TaskView view;
  view.id = task;
  view.name = spec.name;
  view.position = place->position + 1;
  if (const auto* range = std::get_if<IndexRange>(&spec.each)) view.index = (*range)[place->position];
  if (const auto* items = std::get_if<ItemList>(&spec.each)) {
    view.item = std::string((*items)[place->position]);
  }
  uint8_t code = job.codes.Get(task.number - 1);
  view.state = StateOfCode(code, job.specs[place->spec]);
  std::vector<AttemptView> attempts = AttemptsOf(*rep_, job, task.number);
  view.attempts = static_cast<uint32_t>(attempts.size());
  if (code == kBackOff) view.retry_at = job.trouble.Find(task.number)->not_before;
  if (code >= kEnded) view.reason = ReasonOf(job, task.number);
  if (!attempts.empty()) view.last_attempt = std::move(attempts.back());
  return view;
}

std::vector<AttemptView> State::ViewAttempts(TaskId task) const {
  if (!PlaceOf(task)) return {};
  return AttemptsOf(*rep_, *rep_->FindJob(task.job), task.number);
}

std::vector<uint32_t> State::ListTasks(JobId id, const TaskFilter& filter, uint32_t from,
                                       size_t limit) const {
  std::vector<uint32_t> tasks;
  const Job* job = rep_->FindJob(id);
  if (job == nullptr || limit == 0) return tasks;
  ForEachStretch(*job, filter, from == 0 ? 0 : from - 1,
                 [&](uint32_t at, uint32_t end, CodeMask mask) {
                   while (at < end && mask != 0 && tasks.size() < limit) {
                     auto most = static_cast<uint32_t>(
                         std::min<size_t>(limit - tasks.size(), UINT32_MAX));
                     StateColumn::Run run = job->codes.NextRun(at, end, mask, most);
                     if (run.count == 0) break;
                     for (uint32_t i = 0; i < run.count; ++i) tasks.push_back(run.first + i + 1);
                     at = run.first + run.count;
                   }
                   return tasks.size() < limit;
                 });
  return tasks;
}

uint64_t State::CountTasks(JobId id, const TaskFilter& filter) const {
  const Job* job = rep_->FindJob(id);
  if (job == nullptr) return 0;
  uint64_t total = 0;
  ForEachStretch(*job, filter, 0, [&](uint32_t at, uint32_t end, CodeMask mask) {
    CodeCounts counts{};
    job->codes.AddCounts(at, end, counts);
    for (uint8_t code = 0; code < kTaskCodes; ++code) {
      if ((mask & MaskOf(code)) != 0) total += counts[code];
    }
    return true;
  });
  return total;
}

std::vector<ExecutorView> State::ViewExecutors() const {
  std::vector<ExecutorView> views;
  WallTime last = rep_->live.last_wall;
  for (const auto& [number, executor] : rep_->executors) {
    bool gone = executor->state == ExecutorState::kGone;
    if (gone && last - executor->changed > kShowGone) continue;
    ExecutorView view;
    view.id = executor->who.executor;
    view.launch = executor->who.launch;
    view.cluster = executor->who.cluster;
    view.host = executor->who.host;
    view.pid = executor->who.pid;
    view.state = executor->state;
    view.in_contact = executor->connected;
    view.registered = executor->who.at;
    view.capacity = executor->who.capacity;
    view.free = executor->who.capacity;
    auto left = [](int64_t amount) { return static_cast<uint64_t>(std::max<int64_t>(0, amount)); };
    view.free.cpus = MilliCpu{left(executor->free.milli_cpus)};
    view.free.memory = Bytes{left(executor->free.memory)};
    view.free.gpus = static_cast<uint32_t>(left(executor->free.gpus));
    for (auto& [name, amount] : view.free.named) {
      auto at = std::find(rep_->resource_names.begin(), rep_->resource_names.end(), name);
      auto index = static_cast<size_t>(at - rep_->resource_names.begin());
      amount = index < executor->free.named.size() ? left(executor->free.named[index]) : 0;
    }
    view.held = executor->held();
    view.running = executor->running;
    if (gone) view.gone_why = executor->why;
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<State::LaunchView> State::ViewLaunches() const {
  std::vector<LaunchView> views;
  for (const auto& [number, launch] : rep_->launches) {
    bool ended = launch.state == LaunchState::kEnded;
    if (ended && rep_->live.last_wall - launch.ended > kShowGone) continue;
    LaunchView view;
    view.id = launch.planned.launch;
    view.cluster = launch.planned.cluster;
    view.executor = launch.planned.executor;
    view.state = launch.state;
    view.external_id = launch.external_id;
    view.planned = launch.planned.at;
    view.reason = ended && launch.words.empty() ? Render(launch.end) : launch.words;
    views.push_back(std::move(view));
  }
  return views;
}

std::string State::OutputDirOf(ExecutorId id) const {
  const Executor* executor = rep_->FindExecutor(id);
  return executor == nullptr ? "" : executor->who.output_dir;
}

std::optional<JobId> State::FindRequest(const std::string& request_id) const {
  auto it = rep_->requests.find(request_id);
  if (it == rep_->requests.end()) return std::nullopt;
  return it->second;
}

size_t State::MemoryBytes() const { return rep_->MemoryBytes(); }

}  // namespace muster::core
