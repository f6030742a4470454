#include "core/state_rep.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace muster::core {

uint32_t Job::SpecOf(uint32_t task) const {
  if (specs.size() == 1) return 0;
  auto after = std::upper_bound(specs.begin(), specs.end(), task,
                                [](uint32_t t, const SpecState& s) { return t < s.first; });
  return static_cast<uint32_t>(after - specs.begin()) - 1;
}

uint64_t Job::EndedTasks() const {
  uint64_t total = 0;
  for (int code = kEnded; code < kTaskCodes; ++code) total += counts[code];
  return total;
}

StateRep::StateRep() : attempts(1) {}

Job* StateRep::FindJob(JobId job) {
  if (last_found_job_ != nullptr && last_found_job_->id == job) return last_found_job_;
  auto it = jobs.find(job.number);
  if (it == jobs.end()) return nullptr;
  last_found_job_ = it->second.get();
  return last_found_job_;
}

Executor* StateRep::FindExecutor(ExecutorId executor) {
  if (last_found_executor_ != nullptr && last_found_executor_->who.executor == executor) {
    return last_found_executor_;
  }
  auto it = executors.find(executor.number);
  if (it == executors.end()) return nullptr;
  last_found_executor_ = it->second.get();
  return last_found_executor_;
}

Launch* StateRep::FindLaunch(LaunchId launch) {
  auto it = launches.find(launch.number);
  return it == launches.end() ? nullptr : &it->second;
}

Attempt* StateRep::FindAttempt(Job& job, uint32_t task) {
  uint32_t* slot = job.attempts.Find(task);
  return slot == nullptr ? nullptr : &attempts[*slot];
}

const Attempt* StateRep::FindAttempt(const Job& job, uint32_t task) const {
  const uint32_t* slot = job.attempts.Find(task);
  return slot == nullptr ? nullptr : &attempts[*slot];
}

uint32_t StateRep::PoolIndex(const std::string& name) {
  auto [it, fresh] = pool_index.try_emplace(name, static_cast<uint32_t>(pools.size()));
  if (fresh) {
    pools.push_back(std::make_unique<Pool>());
    pools.back()->name = name;
  }
  return it->second;
}

Amounts StateRep::AmountsOf(const Resources& resources) {
  Amounts amounts;
  amounts.milli_cpus = static_cast<int64_t>(resources.cpus.value);
  amounts.memory = static_cast<int64_t>(resources.memory.value);
  amounts.gpus = resources.gpus;
  amounts.attempts = 1;
  for (const auto& [name, amount] : resources.named) {
    auto it = std::find(resource_names.begin(), resource_names.end(), name);
    auto index = static_cast<size_t>(it - resource_names.begin());
    if (it == resource_names.end()) resource_names.push_back(name);
    if (amounts.named.size() <= index) amounts.named.resize(index + 1);
    amounts.named[index] += static_cast<int64_t>(amount);
  }
  return amounts;
}

Amounts StateRep::CapacityOf(const Resources& resources, uint32_t max_attempts) {
  Amounts capacity = AmountsOf(resources);
  capacity.attempts = max_attempts == 0 ? INT64_MAX / 4 : int64_t{max_attempts};
  return capacity;
}

uint32_t StateRep::ClassIndex(uint32_t cluster, const Resources& request,
                              std::optional<Duration> needs_time) {
  // Newest first: the TaskSpecs of one job tend to ask for the same.
  for (size_t i = classes.size(); i > 0; --i) {
    const ReadyClass& known = *classes[i - 1];
    if (known.cluster == cluster && known.request == request && known.needs_time == needs_time) {
      return static_cast<uint32_t>(i - 1);
    }
  }
  auto made = std::make_unique<ReadyClass>();
  made->cluster = cluster;
  made->request = request;
  made->needs_time = needs_time;
  made->need = AmountsOf(request);
  classes.push_back(std::move(made));
  return static_cast<uint32_t>(classes.size() - 1);
}

void StateRep::Requeue(Job& job, uint32_t s) {
  SpecState& spec = job.specs[s];
  uint32_t offered = 0;
  if (spec.released && !HeldBack(job)) {
    offered = spec.ready();
    if (spec.cap != 0) offered = std::min(offered, spec.cap > spec.live ? spec.cap - spec.live : 0);
  }
  if (offered == spec.offered) return;
  ReadyClass& ready_class = *classes[spec.ready_class];
  if (spec.offered == 0 || offered == 0) {
    QueueKey key{-(int64_t{job.spec->priority} + job.spec->tasks[s].priority), job.id.number, s};
    if (spec.offered == 0) {
      if (ready_class.queue.empty()) open_classes.push_back(spec.ready_class);
      ready_class.queue.emplace(key, &job);
    } else {
      ready_class.queue.erase(key);
      if (ready_class.queue.empty()) std::erase(open_classes, spec.ready_class);
    }
  }
  ready_class.demand += offered;
  ready_class.demand -= spec.offered;
  if (offered > spec.offered) {
    ready_class.news = true;
    news = true;
  }
  spec.offered = offered;
}

void StateRep::HoldBack(uint64_t job) {
  uint64_t reach = std::max(job, hold_back);
  hold_back = job;
  for (auto& [number, held] : jobs) {
    if (number > reach) break;
    for (uint32_t s = 0; s < held->specs.size(); ++s) Requeue(*held, s);
  }
}

void StateRep::NoteUse(Job& job, Executor& executor) {
  uint64_t number = executor.who.executor.number;
  if (!job.executors.empty() && job.executors.back() == number) return;
  auto at = std::lower_bound(job.executors.begin(), job.executors.end(), number);
  if (at != job.executors.end() && *at == number) return;
  job.executors.insert(at, number);
  ++executor.jobs;
}

void StateRep::RemoveJob(Job& job) {
  for (uint64_t number : job.executors) --executors.at(number)->jobs;
  WallTime ended = *job.ended;
  last_found_job_ = nullptr;
  last_found_executor_ = nullptr;
  jobs.erase(job.id.number);
  for (auto it = executors.begin(); it != executors.end();) {
    const Executor& executor = *it->second;
    auto launch = launches.find(executor.who.launch.number);
    bool over = executor.state == ExecutorState::kGone && executor.changed < ended &&
                (launch == launches.end() || launch->second.state == LaunchState::kEnded);
    // The last numbers stay, so that none is given out twice.
    if (!over || executor.jobs > 0 || it->first == last_executor) {
      ++it;
      continue;
    }
    if (launch != launches.end()) launches.erase(launch);
    it = executors.erase(it);
  }
  for (auto it = launches.begin(); it != launches.end();) {
    const Launch& launch = it->second;
    bool over = launch.state == LaunchState::kEnded && launch.ended < ended && !launch.registered;
    it = over && it->first != last_launch ? launches.erase(it) : std::next(it);
  }
}

void StateRep::MarkDirty(Executor& executor) {
  if (executor.dirty) return;
  executor.dirty = true;
  dirty.push_back(executor.who.executor);
}

void StateRep::MarkChanged(Job& job) {
  if (job.changed) return;
  job.changed = true;
  changed.push_back(job.id);
}

void StateRep::OnBug(Job* job, uint32_t task, const std::string& what) {
  ++bugs;
  std::string where = job == nullptr ? "" : task == 0 ? Render(job->id) : Render(TaskId{job->id, task});
  if (on_bug == BugRule::kAbort) {
    std::fprintf(stderr, "core: %s: %s\n", where.c_str(), what.c_str());
    std::abort();
  }
  LogError("core: {}: {}; set aside", where, what);
}

std::optional<EndedAttempt> LastAccepted(const Job& job, uint32_t task) {
  std::optional<EndedAttempt> newest = job.ended_attempts.Newest(task - 1);
  if (!newest || newest->accepted) return newest;
  std::vector<EndedAttempt> rows = job.ended_attempts.Read(task - 1);
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (row->accepted) return *row;
  }
  return std::nullopt;
}

EndReason ReasonOf(const Job& job, uint32_t task) {
  auto note = job.notes.upper_bound(task);
  if (note != job.notes.begin()) {
    --note;
    if (task < note->first + note->second.count) return note->second.reason;
  }
  std::optional<EndedAttempt> row = LastAccepted(job, task);
  return row ? row->reason : EndReason{};
}

namespace {

size_t TextBytes(const std::string& text) { return text.capacity() > 15 ? text.capacity() + 17 : 0; }

size_t SpecBytes(const JobSpec& spec) {
  size_t total = sizeof(JobSpec) + spec.tasks.capacity() * sizeof(TaskSpec) + TextBytes(spec.name);
  for (const TaskSpec& task : spec.tasks) {
    total += TextBytes(task.name) + TextBytes(task.cwd) + task.needs.capacity() * sizeof(uint32_t);
    if (const auto* items = std::get_if<ItemList>(&task.each)) total += items->MemoryBytes();
    if (const auto* shell = std::get_if<ShellCommand>(&task.command)) {
      total += TextBytes(shell->text);
    } else {
      for (const std::string& argument : std::get<ExecCommand>(task.command).argv) {
        total += sizeof(std::string) + TextBytes(argument);
      }
    }
    for (const auto& [key, value] : task.env) {
      total += 2 * sizeof(std::string) + TextBytes(key) + TextBytes(value);
    }
  }
  return total;
}

// A node of a std::map or std::set costs its value, three pointers, a colour, and malloc's word.
constexpr size_t kNode = 48;

}  // namespace

size_t StateRep::MemoryBytes() const {
  size_t total = sizeof(StateRep);
  for (const auto& [number, job] : jobs) {
    total += kNode + sizeof(Job) + SpecBytes(*job->spec) + job->codes.MemoryBytes() +
             job->ended_attempts.MemoryBytes() + job->specs.capacity() * sizeof(SpecState) +
             (job->dependants.capacity() + job->dependants_begin.capacity()) * sizeof(uint32_t) +
             job->attempts.MemoryBytes() + job->trouble.MemoryBytes() +
             job->notes.size() * (kNode + sizeof(EndNote));
  }
  total += attempts.capacity() * sizeof(Attempt) + free_attempts.capacity() * sizeof(uint32_t);
  total += retries.size() * (kNode + 24);
  total += executors.size() * (kNode + sizeof(Executor)) + launches.size() * (kNode + sizeof(Launch));
  for (const auto& one : classes) {
    total += sizeof(ReadyClass) + one->queue.size() * (kNode + sizeof(QueueKey) + sizeof(void*));
  }
  total += requests.size() * (kNode + sizeof(std::string) + sizeof(JobId));
  return total;
}

}  // namespace muster::core
