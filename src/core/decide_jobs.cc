// Submit and cancel.
#include <algorithm>

#include <fmt/format.h>

#include "core/turn.h"

namespace muster::core {
namespace {

std::string RenderSize(const Resources& size) {
  std::string words = fmt::format("{} cpus, {}", Render(size.cpus), Render(size.memory));
  if (size.gpus != 0) words += fmt::format(", {} gpus", size.gpus);
  for (const auto& [name, amount] : size.named) words += fmt::format(", {} {}", amount, name);
  return words;
}

// "here 2 cpus, 4Gi; hadoop 4 cpus, 8Gi"
std::string RenderClusters(const StateRep& rep) {
  std::string words;
  for (const auto& pool : rep.pools) {
    if (!pool->settings) continue;
    words += fmt::format("{}{} has {}", words.empty() ? "" : "; ", pool->name,
                         RenderSize(pool->settings->executor_size));
  }
  return words.empty() ? "no cluster is configured" : words;
}

const Pool* FindPool(const StateRep& rep, const std::string& name) {
  auto it = rep.pool_index.find(name);
  if (it == rep.pool_index.end() || !rep.pools[it->second]->settings) return nullptr;
  return rep.pools[it->second].get();
}

// Each dimension in which `request` is more than an executor of the cluster has.
std::string TooMuch(const Resources& request, const Resources& size) {
  std::string words;
  auto add = [&](const std::string& what, const std::string& asked, const std::string& there) {
    words += fmt::format("{}{} {}, an executor has {}", words.empty() ? "" : "; ", asked, what, there);
  };
  if (request.cpus > size.cpus) add("cpus", Render(request.cpus), Render(size.cpus));
  if (request.memory > size.memory) add("memory", Render(request.memory), Render(size.memory));
  if (request.gpus > size.gpus) {
    add("gpus", fmt::format("{}", request.gpus), fmt::format("{}", size.gpus));
  }
  for (const auto& [name, amount] : request.named) {
    auto it = std::find_if(size.named.begin(), size.named.end(),
                           [&](const auto& there) { return there.first == name; });
    uint64_t there = it == size.named.end() ? 0 : it->second;
    if (amount > there) add(name, fmt::format("{}", amount), fmt::format("{}", there));
  }
  return words;
}

// Why the job can never run here, if so.
std::optional<Error> Infeasible(const StateRep& rep, const JobSpec& spec,
                                const std::string& cluster) {
  const Pool* pool = FindPool(rep, cluster);
  if (pool == nullptr) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("submit job '{}': there is no cluster '{}' ({})", spec.name, cluster,
                                 RenderClusters(rep)));
  }
  for (const TaskSpec& task : spec.tasks) {
    std::string words = TooMuch(task.request, pool->settings->executor_size);
    if (words.empty()) continue;
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("submit job '{}': task '{}' can never run on cluster '{}': {} ({})",
                                 spec.name, task.name, cluster, words, RenderClusters(rep)));
  }
  return std::nullopt;
}

void Answer(Turn& turn, Reply reply) { turn.Do(After::kDurable, std::move(reply)); }

void Refuse(Turn& turn, ReplyToken token, Error error) {
  Reply reply;
  reply.token = token;
  reply.error = std::move(error);
  // It depends on no fact of its own.
  turn.Do(After::kWritten, std::move(reply));
}

// Ends of a cancel, counted.
struct Cancelled {
  uint64_t ended = 0;
  uint64_t stopping = 0;
};

void CancelWaiting(Turn& turn, Job& job, uint32_t first, uint32_t end, Cancelled& counts) {
  constexpr CodeMask kOpen =
      MaskOf(kFresh) | MaskOf(kBackOff) | MaskOf(kAgain) | MaskOf(kSetAside);
  for (uint32_t s = job.SpecOf(first); s < job.specs.size() && job.specs[s].first < end; ++s) {
    uint32_t from = std::max(first, job.specs[s].first) - 1;
    uint32_t to = std::min(end - 1, job.specs[s].last());
    while (from < to) {
      StateColumn::Run run = job.codes.NextRun(from, to, kOpen, UINT32_MAX);
      if (run.count == 0) break;
      from = run.first + run.count;
      TaskRange range{job.id, run.first + 1, run.count};
      turn.Emit(TasksEnded{range, {EndKind::kCancelled}, turn.now.wall});
      turn.Do(After::kWritten, TasksDone{range});
      counts.ended += run.count;
    }
  }
}

void AbandonOne(Turn& turn, Job& job, uint32_t task) {
  const Attempt attempt = *turn.rep.FindAttempt(job, task);
  AttemptEnded fact;
  fact.attempt = attempt.attempt_id();
  fact.send = attempt.send;
  fact.executor = attempt.executor->who.executor;
  fact.reason.kind = EndKind::kCancelled;
  fact.reason.unconfirmed = true;
  fact.facts.how = ExitFacts::How::kLost;
  fact.facts.started = attempt.started;
  fact.at = turn.now.wall;
  EndReason reason = fact.reason;
  turn.Emit(std::move(fact));
  EndTasks(turn, job, attempt.spec, {job.id, task, 1}, reason);
}

void CancelActive(Turn& turn, Job& job, uint32_t task, bool abandon, Cancelled& counts) {
  const Attempt attempt = *turn.rep.FindAttempt(job, task);
  // Its result came first and stands; only its output is not published yet.
  if (attempt.state == AttemptState::kEnded) {
    ++counts.stopping;
    return;
  }
  const Executor& executor = *attempt.executor;
  const SpecState& spec = job.specs[attempt.spec];
  bool known = turn.rep.table->At(NodeOf(attempt.state), AttemptEvent::kStopping).kind ==
               RuleKind::kIgnore;
  if (!known) {
    turn.Emit(AttemptStopping{attempt.attempt_id(), StopCause::kCancelled, turn.now.wall});
  }
  // Said again it does no harm, and helps if it was lost.
  turn.Do(AfterFor(spec), StopAttempt{executor.who.executor, attempt.attempt_id(), attempt.send,
                                      StopCause::kCancelled, job.spec->tasks[attempt.spec].grace});
  if (abandon && (known || !InContact(executor, turn.now.boot))) {
    AbandonOne(turn, job, task);
    ++counts.ended;
    return;
  }
  ++counts.stopping;
}

void CancelRange(Turn& turn, Job& job, uint32_t first, uint32_t end, bool abandon,
                 Cancelled& counts) {
  CancelWaiting(turn, job, first, end, counts);
  std::vector<uint32_t> active;
  job.attempts.ForEach([&](uint32_t task, uint32_t) {
    if (task >= first && task < end) active.push_back(task);
  });
  std::sort(active.begin(), active.end());
  for (uint32_t task : active) CancelActive(turn, job, task, abandon, counts);
}

}  // namespace

void OnSubmit(Turn& turn, const SubmitJob& input) {
  StateRep& rep = turn.rep;
  Reply reply;
  reply.token = input.token;
  if (auto it = rep.requests.find(input.request_id);
      !input.request_id.empty() && it != rep.requests.end()) {
    reply.job = it->second;
    reply.repeated = true;
    return Answer(turn, std::move(reply));
  }
  if (rep.live.stopped) {
    return Refuse(turn, input.token,
                  OperatorError(ErrorCode::kUnavailable,
                                "submit job: the controller is stopping; submit again once it is back"));
  }
  const std::string& cluster =
      input.spec->cluster.empty() ? rep.live.default_cluster : input.spec->cluster;
  if (auto error = Infeasible(rep, *input.spec, cluster)) {
    return Refuse(turn, input.token, *std::move(error));
  }
  JobAccepted fact;
  fact.job = JobId{std::max(rep.last_job + 1, rep.live.first_job)};
  fact.spec = input.spec;
  if (input.spec->cluster.empty()) {
    // A fact holds what was chosen: another default later does not move this job.
    auto chosen = std::make_shared<JobSpec>(*input.spec);
    chosen->cluster = cluster;
    fact.spec = std::move(chosen);
  }
  fact.owner = input.owner;
  fact.request_id = input.request_id;
  fact.at = turn.now.wall;
  reply.job = fact.job;
  turn.Emit(std::move(fact));
  Answer(turn, std::move(reply));
}

void OnCancel(Turn& turn, const CancelTasks& input) {
  Job* job = turn.rep.FindJob(input.job);
  if (job == nullptr) {
    return Refuse(turn, input.token,
                  UserError(ErrorCode::kNotFound,
                            fmt::format("cancel {}: there is no such job here; `muster ps` lists them",
                                        Render(input.job))));
  }
  for (const TaskRange& range : input.tasks) {
    if (range.first > 0 && range.count > 0 && range.first <= job->task_count() &&
        range.count <= job->task_count() - range.first + 1) {
      continue;
    }
    return Refuse(turn, input.token,
                  UserError(ErrorCode::kNotFound,
                            fmt::format("cancel {}.{} and {} more: {} has tasks 1 to {}",
                                        Render(input.job), range.first,
                                        range.count == 0 ? 0 : range.count - 1, Render(input.job),
                                        job->task_count())));
  }
  Cancelled counts;
  if (input.tasks.empty() && !job->ended) {
    if (!job->cancel) turn.Emit(JobCancelRequested{job->id, input.by, turn.now.wall});
    CancelRange(turn, *job, 1, job->task_count() + 1, input.abandon, counts);
  }
  for (const TaskRange& range : input.tasks) {
    CancelRange(turn, *job, range.first, range.first + range.count, input.abandon, counts);
  }
  for (uint32_t s = 0; s < job->specs.size(); ++s) {
    if (job->specs[s].bad > 0) EndDependants(turn, *job, s);
  }
  EndJobIfOver(turn, *job);
  Reply reply;
  reply.token = input.token;
  reply.job = job->id;
  reply.ended = counts.ended;
  reply.stopping = counts.stopping;
  Answer(turn, std::move(reply));
}

void OnStored(Turn& turn, const JobStored& input) {
  const Job* job = turn.rep.FindJob(input.job);
  if (job != nullptr && job->ended) turn.Emit(JobArchived{input.job});
}

}  // namespace muster::core
