#include "control/catalog.h"

#include <fmt/format.h>

#include <utility>

#include "control/queries.h"

namespace muster::control {
namespace {

Error ReadOnly() {
  return UserError(ErrorCode::kUnavailable,
                   "no controller runs here, the stores of past runs are opened read-only; start one "
                   "with `muster serve`, or use `muster run`");
}

}  // namespace

Catalog::Catalog(const Clock& clock, std::string version)
    : clock_(clock), version_(std::move(version)), started_(clock.Read().wall) {}

void Catalog::Add(core::State state, std::string where) {
  for (JobId job : state.ListJobs(WallTime{0}, std::nullopt, SIZE_MAX / 2)) {
    jobs_.emplace(job, entries_.size());
  }
  entries_.push_back({std::move(state), std::move(where)});
}

const core::State* Catalog::Find(JobId job) const {
  auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &entries_[it->second].state;
}

ServerView Catalog::Server() const {
  ServerView view;
  view.version = version_;
  view.started = started_;
  for (const Entry& entry : entries_) view.jobs_active += entry.state.jobs_active();
  return view;
}

void Catalog::Submit(SubmitCall, std::function<void(Result<SubmitAnswer>)> done) {
  done(ReadOnly());
}
void Catalog::Cancel(CancelCall call, std::function<void(Result<CancelAnswer>)> done) {
  auto job = GetJob(call.job);
  if (!job.ok()) return done(std::move(job).error());
  if (job->ended) return done(CancelAnswer{});
  done(ReadOnly());
}

Page<JobView> Catalog::ListJobs(const JobQuery& query) const {
  Page<JobView> page;
  for (const auto& [id, entry] : jobs_) {
    auto view = entries_[entry].state.ViewJob(id);
    if (!view) continue;
    bool wanted = !view->ended || (query.ended_since && *view->ended >= *query.ended_since);
    if (!wanted) continue;
    ++page.total;
    if (query.after && id >= *query.after) continue;
    if (page.items.size() < query.limit) {
      page.items.push_back(std::move(*view));
    } else if (page.next.empty()) {
      page.next = Render(page.items.empty() ? id : page.items.back().id);
    }
  }
  return page;
}

Result<JobView> Catalog::GetJob(JobId job) const {
  const core::State* state = Find(job);
  if (state == nullptr) return NoSuchJob(job);
  return control::GetJob(*state, job);
}
Result<std::shared_ptr<const JobSpec>> Catalog::GetSpec(JobId job) const {
  const core::State* state = Find(job);
  if (state == nullptr) return NoSuchJob(job);
  return state->SpecOf(job);
}
Result<Page<TaskView>> Catalog::ListTasks(JobId job, const TaskQuery& query) const {
  const core::State* state = Find(job);
  if (state == nullptr) return NoSuchJob(job);
  return control::ListTasks(*state, job, query);
}
Result<TaskDetail> Catalog::GetTask(TaskId task) const {
  const core::State* state = Find(task.job);
  if (state == nullptr) return NoSuchJob(task.job);
  return control::GetTask(*state, task, clock_.Read());
}
Result<TaskId> Catalog::ResolveTask(JobId job, std::string_view text) const {
  const core::State* state = Find(job);
  if (state == nullptr) return NoSuchJob(job);
  return control::ResolveTask(*state, job, text);
}
Result<WhyView> Catalog::Why(TaskId task) const {
  const core::State* state = Find(task.job);
  if (state == nullptr) return NoSuchJob(task.job);
  return control::GetWhy(*state, task, clock_.Read());
}
Page<ExecutorView> Catalog::ListExecutors() const {
  Page<ExecutorView> page;
  for (const Entry& entry : entries_) {
    for (ExecutorView& view : entry.state.ViewExecutors()) page.items.push_back(std::move(view));
  }
  page.total = page.items.size();
  return page;
}
std::vector<LaunchSummary> Catalog::ListLaunches() const { return {}; }
Result<OutputPlace> Catalog::FindOutput(TaskId task, std::optional<uint32_t> n) const {
  const core::State* state = Find(task.job);
  if (state == nullptr) return NoSuchJob(task.job);
  return control::FindOutput(*state, task, n, clock_.Read());
}
std::optional<JobId> Catalog::LastJob() const {
  if (jobs_.empty()) return std::nullopt;
  return jobs_.begin()->first;
}
Service::WatchId Catalog::Watch(JobId, std::function<void(const JobEvent&)>) { return 0; }
void Catalog::Unwatch(WatchId) {}
std::string Catalog::Metrics() const { return ""; }

}  // namespace muster::control
