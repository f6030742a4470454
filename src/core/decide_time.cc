// What happens by time alone, and what a controller does first.
#include <algorithm>

#include <fmt/format.h>

#include "core/step.h"
#include "core/turn.h"

namespace muster::core {
namespace {

constexpr BootTime kFar{INT64_MAX / 2};
constexpr Duration kStopAgain = std::chrono::seconds(30);

void ResumeLaunches(Turn& turn) {
  for (auto& [number, launch] : turn.rep.launches) {
    const std::string& cluster = launch.planned.cluster;
    switch (launch.state) {
      case LaunchState::kPlanned:
        turn.Do(After::kDurable, SubmitLaunch{cluster, SpecOfLaunch(turn.rep, launch)});
        break;
      case LaunchState::kStopping:
        turn.Do(After::kDurable, StopLaunch{cluster, launch.planned.launch});
        break;
      case LaunchState::kEnded:
        if (turn.now.wall - launch.ended < kKeepGone) {
          turn.Do(After::kDurable, ForgetLaunch{cluster, launch.planned.launch});
        }
        continue;
      default: turn.Do(After::kWritten, FindLaunch{cluster, launch.planned.launch}); break;
    }
    launch.look_at = turn.now.boot + kLookAgain;
    turn.ScanBy(launch.look_at);
  }
}

// A crash may have cut a batch of facts in two: what follows from them is decided again.
void ResumeJob(Turn& turn, Job& job) {
  std::vector<uint32_t> tasks;
  job.attempts.ForEach([&](uint32_t task, uint32_t) { tasks.push_back(task); });
  std::sort(tasks.begin(), tasks.end());
  for (uint32_t task : tasks) {
    const Attempt& attempt = *turn.rep.FindAttempt(job, task);
    if (attempt.state == AttemptState::kEnded) {
      if (auto row = LastAccepted(job, task)) Settle(turn, job, task, row->reason);
    } else if (attempt.executor->state == ExecutorState::kGone) {
      EndLost(turn, job, task, LossKind::kProven,
              fmt::format("{}: {}", Render(attempt.executor->who.executor), attempt.executor->why));
    }
  }
  EndDone(turn);
  for (uint32_t s = 0; s < job.specs.size(); ++s) {
    const SpecState& spec = job.specs[s];
    if (spec.bad > 0) EndDependants(turn, job, s);
    if (!job.cancel || spec.ended + spec.live == spec.count) continue;
    constexpr CodeMask kOpen = MaskOf(kFresh) | MaskOf(kAgain) | MaskOf(kBackOff);
    for (uint32_t from = spec.first - 1; from < spec.last();) {
      StateColumn::Run run = job.codes.NextRun(from, spec.last(), kOpen, UINT32_MAX);
      if (run.count == 0) break;
      from = run.first + run.count;
      EndTasks(turn, job, s, {job.id, run.first + 1, run.count}, {EndKind::kCancelled});
    }
  }
  EndJobIfOver(turn, job);
}

void ApplyLease(Turn& turn, Executor& executor) {
  Duration silent = turn.now.boot - executor.heard;
  if (executor.held() == 0) return;
  if (silent < kLease + kLeaseMargin) {
    turn.ScanBy(executor.heard + (kLease + kLeaseMargin));
    return;
  }
  std::vector<TaskId> tasks;
  for (const AttemptList* list : {&executor.counted, &executor.extra}) {
    for (uint32_t slot = list->head; slot != 0; slot = turn.rep.attempts[slot].next) {
      const Attempt& attempt = turn.rep.attempts[slot];
      // What must not run twice, or is wanted to end, waits for proof.
      if (attempt.job->specs[attempt.spec].once || EndWanted(attempt)) continue;
      tasks.push_back(attempt.id());
    }
  }
  std::string detail = fmt::format("{} is silent for {} s", Render(executor.who.executor),
                                   silent.count() / 1000000);
  for (TaskId task : tasks) {
    EndLost(turn, *turn.rep.FindJob(task.job), task.number, LossKind::kOutOfContact, detail);
  }
}

void LookAfterSilent(Turn& turn, Executor& executor) {
  BootTime now = turn.now.boot;
  if (now >= executor.look_at) {
    executor.look_at = now + kLookAgain;
    if (const Launch* launch = turn.rep.FindLaunch(executor.who.launch);
        launch != nullptr && launch->state != LaunchState::kEnded) {
      turn.Do(After::kWritten, FindLaunch{launch->planned.cluster, launch->planned.launch});
    }
  }
  turn.ScanBy(executor.look_at);
  ApplyLease(turn, executor);
}

uint32_t Serving(const Pool& pool) {
  uint32_t serving = 0;
  for (const Executor* executor : pool.executors) {
    if (executor->state != ExecutorState::kDraining) ++serving;
  }
  return serving;
}

bool IsPublisher(const StateRep& rep, const Executor& executor) {
  for (const auto& [task, publishing] : rep.live.publishing) {
    if (publishing.executor == executor.who.executor) return true;
  }
  return false;
}

void DrainIfIdle(Turn& turn, Pool& pool, Executor& executor) {
  if (executor.state != ExecutorState::kServing || executor.held() > 0 || turn.rep.live.stopped) {
    executor.idle_since.reset();
    return;
  }
  BootTime now = turn.now.boot;
  if (!executor.idle_since) executor.idle_since = now;
  if (!pool.settings || pool.settings->idle.count() == 0) return;
  BootTime due = *executor.idle_since + pool.settings->idle;
  if (now < due) return turn.ScanBy(due);
  if (Serving(pool) <= pool.settings->pool_min) return;
  if (IsPublisher(turn.rep, executor)) return;
  DrainIt(turn, executor, fmt::format("idle for {}", Render(pool.settings->idle)));
}

void ScanExecutors(Turn& turn) {
  BootTime now = turn.now.boot;
  for (auto& pool : turn.rep.pools) {
    std::vector<Executor*> executors = pool->executors;
    for (Executor* executor : executors) {
      if (InContact(*executor, now)) {
        turn.ScanBy(executor->heard + kSilence);
        DrainIfIdle(turn, *pool, *executor);
      } else {
        LookAfterSilent(turn, *executor);
      }
    }
  }
}

// A start that nothing waits for any more, or that never says hello.
void EndUselessStart(Turn& turn, Launch& launch) {
  Pool& pool = *turn.rep.pools[launch.cluster];
  Duration age = turn.now.wall - launch.planned.at;
  bool too_late = age >= kHelloLimit;
  bool not_needed = pool.settings && pool.settings->idle.count() > 0 && age >= pool.settings->idle &&
                    pool.launches > pool.settings->pool_min &&
                    ExecutorsWanted(turn.rep, launch.cluster) == 0;
  if (!too_late && !not_needed) return;
  turn.Emit(LaunchStopping{launch.planned.launch,
                           too_late ? "its executor never said hello" : "no longer needed",
                           turn.now.wall});
  turn.Do(After::kDurable, StopLaunch{launch.planned.cluster, launch.planned.launch});
  launch.look_at = turn.now.boot;
}

void ScanLaunches(Turn& turn) {
  BootTime now = turn.now.boot;
  std::vector<uint64_t> open(turn.rep.open_launches.begin(), turn.rep.open_launches.end());
  for (uint64_t number : open) {
    Launch& launch = turn.rep.launches.at(number);
    bool stopping = launch.state == LaunchState::kStopping;
    if (launch.registered && !stopping) continue;  // looked after with its executor
    if (!stopping) EndUselessStart(turn, launch);
    if (launch.look_at.us == 0) launch.look_at = now + kLookAtStart;
    if (now >= launch.look_at) {
      launch.look_at = now + (stopping ? kLookAgain : kLookAtStart);
      turn.Do(After::kWritten, FindLaunch{launch.planned.cluster, launch.planned.launch});
      if (stopping && turn.now.wall - launch.stopping >= kStopAgain) {
        turn.Do(After::kDurable, StopLaunch{launch.planned.cluster, launch.planned.launch});
      }
    }
    turn.ScanBy(launch.look_at);
  }
}

void StoreOldJobs(Turn& turn) {
  for (auto [ended, number] : turn.rep.ended_jobs) {
    if (ended + kKeepEndedJob > turn.now.wall) return;
    Job& job = *turn.rep.FindJob(JobId{number});
    if (job.store_asked && turn.now.wall - *job.store_asked < kStoreAgain) continue;
    job.store_asked = turn.now.wall;
    turn.Do(After::kDurable, StoreJob{job.id});
  }
}

// After a power cut nothing of the last life is dispatched before every executor was heard of, is dead, or
// its lease has passed: it may hold what we no longer know of.
void EndHoldBack(Turn& turn) {
  if (turn.rep.hold_back == 0) return;
  BootTime due = turn.rep.live.started + (kLease + kLeaseMargin);
  if (turn.now.boot < due) {
    for (const auto& [id, executor] : turn.rep.executors) {
      if (executor->state == ExecutorState::kGone || executor->heard > turn.rep.live.started ||
          executor->connected) {
        continue;
      }
      return turn.ScanBy(due);
    }
  }
  turn.rep.HoldBack(0);
}

}  // namespace

void Resume(Turn& turn) {
  Live& live = turn.rep.live;
  live.resumed = true;
  live.started = turn.now.boot;
  live.last_step = turn.now.boot;
  live.next_scan = turn.now.boot;
  CountLeasesAnew(turn);
  ResumeLaunches(turn);
  std::vector<Job*> jobs;
  for (auto& [number, job] : turn.rep.jobs) {
    if (!job->ended) jobs.push_back(job.get());
  }
  for (Job* job : jobs) ResumeJob(turn, *job);
}

void CountLeasesAnew(Turn& turn) {
  for (auto& pool : turn.rep.pools) {
    for (Executor* executor : pool->executors) executor->heard = turn.now.boot;
  }
}

void DoWhatIsDue(Turn& turn) {
  StateRep& rep = turn.rep;
  while (!rep.retries.empty() && rep.retries.begin()->first <= turn.now.wall) {
    turn.Emit(RetryDue{rep.retries.begin()->second});
  }
  EndHoldBack(turn);
  if (!rep.ended_jobs.empty()) StoreOldJobs(turn);
  if (turn.now.boot < rep.live.next_scan) return;
  rep.live.next_scan = kFar;
  ScanExecutors(turn);
  ScanLaunches(turn);
  GoOnPublishing(turn);
}

}  // namespace muster::core
