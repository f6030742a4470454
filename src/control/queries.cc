#include "control/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/job_check.h"

namespace muster::control {
namespace {

std::optional<uint64_t> ToNumber(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::string CommandText(const TaskSpec& spec, const PlaceholderValues& values) {
  if (std::holds_alternative<ShellCommand>(spec.command)) {
    return ExpandCommand(spec.command, values).back();
  }
  std::string text;
  for (const std::string& argument : ExpandCommand(spec.command, values)) {
    if (!text.empty()) text += ' ';
    bool plain = !argument.empty() &&
                 argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_./=:,+@%") == std::string::npos;
    text += plain ? argument : ShellQuote(argument);
  }
  return text;
}

}  // namespace

Error NoSuchJob(JobId job) {
  return UserError(ErrorCode::kNotFound,
                   fmt::format("there is no job {}; `muster ps` lists the jobs", Render(job)));
}

Error NoSuchTask(TaskId task) {
  return UserError(ErrorCode::kNotFound,
                   fmt::format("job {} has no task {}; `muster ps {}` lists its tasks",
                               Render(task.job), task.number, Render(task.job)));
}

Page<JobView> ListJobs(const core::State& state, const JobQuery& query) {
  Page<JobView> page;
  page.total = state.CountJobs(query.ended_since);
  auto ids = state.ListJobs(query.ended_since, query.after, query.limit + 1);
  bool more = ids.size() > query.limit;
  if (more) ids.resize(query.limit);
  for (JobId id : ids) {
    if (auto view = state.ViewJob(id)) page.items.push_back(std::move(*view));
  }
  if (more && !ids.empty()) page.next = Render(ids.back());
  return page;
}

Result<JobView> GetJob(const core::State& state, JobId job) {
  auto view = state.ViewJob(job);
  if (!view) return NoSuchJob(job);
  return std::move(*view);
}

Result<Page<TaskView>> ListTasks(const core::State& state, JobId job, const TaskQuery& query) {
  auto spec = state.SpecOf(job);
  if (spec == nullptr) return NoSuchJob(job);
  core::State::TaskFilter filter{query.state, query.ended_as, query.failed_only, std::nullopt};
  if (!query.spec.empty()) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < spec->tasks.size(); ++i) {
      if (spec->tasks[i].name == query.spec) filter.spec = i;
      if (names.size() < 1000) names.push_back(spec->tasks[i].name);
    }
    if (!filter.spec) {
      std::string close = Suggest(query.spec, names);
      return UserError(ErrorCode::kNotFound,
                       fmt::format("job {} has no task named '{}'{}", Render(job), query.spec,
                                   close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
    }
  }
  Page<TaskView> page;
  page.total = state.CountTasks(job, filter);
  auto numbers = state.ListTasks(job, filter, query.from, query.limit + 1);
  if (numbers.size() > query.limit) {
    page.next = fmt::format("{}", numbers[query.limit]);
    numbers.resize(query.limit);
  }
  page.items.reserve(numbers.size());
  for (uint32_t number : numbers) {
    if (auto view = state.ViewTask({job, number})) page.items.push_back(std::move(*view));
  }
  return page;
}

Result<TaskDetail> GetTask(const core::State& state, TaskId task, Now now) {
  auto spec = state.SpecOf(task.job);
  if (spec == nullptr) return NoSuchJob(task.job);
  auto view = state.ViewTask(task);
  auto place = state.PlaceOf(task);
  if (!view || !place) return NoSuchTask(task);
  const TaskSpec& of = spec->tasks[place->spec];
  TaskDetail detail;
  std::string item = view->item.value_or(view->index ? fmt::format("{}", *view->index) : "");
  int64_t index = view->index.value_or(int64_t{place->position} + 1);
  std::string out = "out/" + PathSafeName(of.name);
  if (of.is_array()) out += fmt::format("/{}", index);
  detail.command = CommandText(of, {item, index, out});
  detail.cwd = of.cwd.empty() ? spec->cwd : of.cwd;
  detail.request = of.request;
  detail.memory_limit = of.memory_limit;
  detail.time_limit = of.time_limit;
  detail.retries = of.retries;
  detail.attempts = state.ViewAttempts(task);
  detail.task = std::move(*view);
  if (auto why = state.Why(task, now)) detail.why = std::move(*why);
  return detail;
}

Result<TaskId> ResolveTask(const core::State& state, JobId job, std::string_view text) {
  auto spec = state.SpecOf(job);
  if (spec == nullptr) return NoSuchJob(job);
  if (auto number = ToNumber(text)) {
    if (*number == 0 || *number > spec->task_count()) {
      return UserError(ErrorCode::kNotFound,
                       fmt::format("job {} has tasks 1 to {}, there is no {}", Render(job),
                                   spec->task_count(), text));
    }
    return TaskId{job, static_cast<uint32_t>(*number)};
  }
  // Names may hold dots and digits: the whole text first, then the text before the last dot.
  std::vector<std::string> names;
  size_t dot = text.rfind('.');
  for (uint32_t i = 0; i < spec->tasks.size(); ++i) {
    const TaskSpec& task = spec->tasks[i];
    uint32_t first = state.FirstTaskOf(job, i).value_or(1);
    if (task.name == text) {
      if (task.count() == 1) return TaskId{job, first};
      return UserError(ErrorCode::kInvalidArgument,
                       fmt::format("'{}' of job {} is {} tasks; name one, as in {}.{}.1", text,
                                   Render(job), task.count(), Render(job), text));
    }
    if (dot != std::string_view::npos && task.name == text.substr(0, dot)) {
      auto position = ToNumber(text.substr(dot + 1));
      if (position && *position >= 1 && *position <= task.count()) {
        return TaskId{job, first + static_cast<uint32_t>(*position - 1)};
      }
      return UserError(ErrorCode::kNotFound,
                       fmt::format("'{}' of job {} has tasks 1 to {}, there is no '{}'", task.name,
                                   Render(job), task.count(), text.substr(dot + 1)));
    }
    if (names.size() < 1000) names.push_back(task.name);
  }
  std::string close = Suggest(text.substr(0, dot), names);
  return UserError(ErrorCode::kNotFound,
                   fmt::format("job {} has no task '{}'{}", Render(job), text,
                               close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
}

Result<WhyView> GetWhy(const core::State& state, TaskId task, Now now) {
  if (state.SpecOf(task.job) == nullptr) return NoSuchJob(task.job);
  auto why = state.Why(task, now);
  if (!why) return NoSuchTask(task);
  return std::move(*why);
}

Result<OutputPlace> FindOutput(const core::State& state, TaskId task, std::optional<uint32_t> n,
                               Now now) {
  if (state.SpecOf(task.job) == nullptr) return NoSuchJob(task.job);
  auto task_state = state.StateOf(task);
  if (!task_state) return NoSuchTask(task);
  auto attempts = state.ViewAttempts(task);
  const AttemptView* chosen = nullptr;
  for (const AttemptView& attempt : attempts) {
    if (n ? attempt.id.n == *n : true) chosen = &attempt;
  }
  if (chosen == nullptr && n && !attempts.empty()) {
    return UserError(ErrorCode::kNotFound,
                     fmt::format("task {} has {} attempts, there is no {}", Render(task),
                                 attempts.size(), *n));
  }
  if (chosen == nullptr) {
    auto why = state.Why(task, now);
    return Error{ErrorCode::kUnavailable, ErrorOwner::kUser,
                 fmt::format("task {} has no output yet: {}", Render(task),
                             why ? why->sentence : "it has not started"),
                 ""};
  }
  OutputPlace place;
  place.attempt = chosen->id;
  place.dir = state.OutputDirOf(chosen->executor);
  place.attempt_ended = chosen->state == AttemptState::kEnded;
  place.task_ended = *task_state == TaskState::kEnded;
  return place;
}

}  // namespace muster::control
