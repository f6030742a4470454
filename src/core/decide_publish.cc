// Publishing: the output of a result that was accepted, durably, gets its final name.
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/turn.h"

namespace muster::core {
namespace {

// The one that ran it, or, when that is gone or silent for long, another of its cluster.
Executor* PublisherFor(Turn& turn, const Attempt& attempt) {
  Executor& holder = *attempt.executor;
  BootTime now = turn.now.boot;
  if (holder.state != ExecutorState::kGone && now - holder.heard < kLease + kLeaseMargin) {
    return &holder;
  }
  for (Executor* other : turn.rep.pools[holder.cluster]->executors) {
    if (InContact(*other, now)) return other;
  }
  return holder.state == ExecutorState::kGone ? nullptr : &holder;
}

void Ask(Turn& turn, Publishing& publishing, const Attempt& attempt) {
  Executor* executor = PublisherFor(turn, attempt);
  publishing.asked = false;
  publishing.executor = executor == nullptr ? ExecutorId{} : executor->who.executor;
  if (executor == nullptr || !executor->connected) return;
  publishing.asked = true;
  turn.Do(After::kDurable,
          PublishAttempt{executor->who.executor, attempt.attempt_id(), attempt.send});
}

// The attempt whose output this is about, nullptr when that is settled.
const Attempt* FindPublishing(Turn& turn, AttemptId id) {
  if (!turn.rep.live.publishing.contains(id.task)) return nullptr;
  Job* job = turn.rep.FindJob(id.task.job);
  if (job == nullptr) return nullptr;
  const Attempt* attempt = turn.rep.FindAttempt(*job, id.task.number);
  bool fits = attempt != nullptr && attempt->n == id.n && attempt->state == AttemptState::kEnded;
  return fits ? attempt : nullptr;
}

}  // namespace

void StartPublishing(Turn& turn, Job& job, uint32_t task) {
  Publishing& publishing = turn.rep.live.publishing[{job.id, task}];
  publishing = Publishing{};
  Ask(turn, publishing, *turn.rep.FindAttempt(job, task));
  turn.ScanBy(turn.now.boot + kLookAgain);
}

void OnPublished(Turn& turn, AttemptId id) {
  const Attempt* attempt = FindPublishing(turn, id);
  if (attempt == nullptr) return;
  turn.rep.live.publishing.erase(id.task);
  turn.done.emplace_back(attempt->job, attempt->task);
}

void OnPublishFailed(Turn& turn, const ExecutorReport::PublishFailure& failure) {
  const Attempt* attempt = FindPublishing(turn, failure.attempt);
  if (attempt == nullptr) return;
  Job& job = *attempt->job;
  uint32_t task = attempt->task;
  Publishing& publishing = turn.rep.live.publishing[failure.attempt.task];
  if (failure.error_number == ENOENT) {
    turn.rep.live.publishing.erase(failure.attempt.task);
    return Settle(turn, job, task, {EndKind::kFailed, 0, "{out} was not written"});
  }
  if (++publishing.tries < kPublishTries) {
    Duration delay = BackOff(publishing.tries, std::chrono::seconds(1), std::chrono::minutes(1));
    publishing.again = turn.now.wall + delay;
    turn.ScanBy(turn.now.boot + delay);
    return;
  }
  turn.rep.live.publishing.erase(failure.attempt.task);
  EndReason reason{failure.error_number == ENOSPC ? EndKind::kDiskFull : EndKind::kFailed, 0,
                   fmt::format("publish {{out}}: {}: {}", failure.what_failed,
                               std::strerror(failure.error_number))};
  Settle(turn, job, task, reason);
}

void GoOnPublishing(Turn& turn) {
  BootTime now = turn.now.boot;
  for (auto& [task, publishing] : turn.rep.live.publishing) {
    Job* job = turn.rep.FindJob(task.job);
    const Attempt* attempt = job == nullptr ? nullptr : turn.rep.FindAttempt(*job, task.number);
    if (attempt == nullptr) continue;
    turn.ScanBy(now + kLookAgain);
    if (publishing.again) {
      if (*publishing.again > turn.now.wall) {
        turn.ScanBy(now + (*publishing.again - turn.now.wall));
        continue;
      }
      publishing.again.reset();
      publishing.asked = false;
    }
    const Executor* asked = turn.rep.FindExecutor(publishing.executor);
    bool answering = publishing.asked && asked != nullptr && asked->connected;
    if (!answering) Ask(turn, publishing, *attempt);
  }
}

}  // namespace muster::core
