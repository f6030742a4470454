#include "core/step.h"

#include <algorithm>
#include <variant>

#include "core/turn.h"

namespace muster::core {
namespace {

void Take(Turn& turn, const ConfigureClusters& input) {
  StateRep& rep = turn.rep;
  rep.live.default_cluster = input.default_cluster;
  rep.live.store_id = input.store_id;
  rep.live.first_job = input.first_job;
  for (auto& pool : rep.pools) pool->settings.reset();
  for (const ClusterSettings& settings : input.clusters) {
    Pool& pool = *rep.pools[rep.PoolIndex(settings.name)];
    pool.settings = settings;
    pool.size = rep.CapacityOf(settings.executor_size, settings.max_attempts);
  }
  rep.live.configured = true;
  if (!rep.live.resumed) Resume(turn);
}
void Take(Turn& turn, const SubmitJob& input) { OnSubmit(turn, input); }
void Take(Turn& turn, const CancelTasks& input) { OnCancel(turn, input); }
void Take(Turn& turn, const ExecutorHello& input) { OnHello(turn, input); }
void Take(Turn& turn, const ExecutorReport& input) { OnReport(turn, input); }
void Take(Turn& turn, const ExecutorBeat& input) { OnBeat(turn, input); }
void Take(Turn& turn, const ExecutorHolds& input) { OnHolds(turn, input); }
void Take(Turn& turn, const ExecutorDisconnected& input) { OnDisconnected(turn, input); }
void Take(Turn& turn, const LaunchAnswer& input) { OnLaunchAnswer(turn, input); }
void Take(Turn& turn, const ObserveLaunch& input) { OnObservation(turn, input.observation); }
void Take(Turn& turn, const JobStored& input) { OnStored(turn, input); }
void Take(Turn& turn, const StopController&) {
  if (turn.rep.live.stopped) return;
  turn.Emit(ControllerStopped{turn.now.wall});
}
void Take(Turn&, const Tick&) {}

// The loop must come by at least so often while there are executors to be heard of; if it came much
// later, it stood still, and the silence is ours.
bool StoodStill(const Turn& turn) {
  const Live& live = turn.rep.live;
  if (turn.now.boot - live.last_step <= kHeartbeat + kStall) return false;
  return std::any_of(turn.rep.pools.begin(), turn.rep.pools.end(),
                     [](const auto& pool) { return !pool->executors.empty(); });
}

void TellWatchers(Turn& turn) {
  for (JobId id : turn.rep.changed) {
    Job* job = turn.rep.FindJob(id);
    if (job == nullptr) continue;
    job->changed = false;
    turn.Do(After::kWritten, JobChanged{id});
  }
  turn.rep.changed.clear();
}

}  // namespace

void Step(State& state, std::span<const Input> inputs, Now now, Facts& facts, Effects& effects) {
  Turn turn{state, state.rep(), now, facts, effects};
  if (StoodStill(turn)) CountLeasesAnew(turn);
  turn.rep.live.last_step = now.boot;
  turn.rep.live.last_wall = now.wall;
  for (const Input& input : inputs) {
    std::visit([&](const auto& body) { Take(turn, body); }, input);
  }
  if (turn.rep.live.configured) {
    DoWhatIsDue(turn);
    Place(turn);
    Scale(turn);
  }
  TellWatchers(turn);
}

std::optional<WallTime> NextDue(const State& state, Now now) {
  const StateRep& rep = state.rep();
  std::optional<WallTime> due;
  if (!rep.live.configured) return due;  // nothing is done before
  auto by = [&](WallTime time) {
    if (!due || time < *due) due = time;
  };
  auto by_boot = [&](BootTime time) { by(now.wall + (time - now.boot)); };
  if (!rep.retries.empty()) by(rep.retries.begin()->first);
  for (auto [ended, number] : rep.ended_jobs) {
    const Job* job = rep.FindJob(JobId{number});
    by(job->store_asked ? *job->store_asked + kStoreAgain : ended + kKeepEndedJob);
    if (!job->store_asked) break;
  }
  if (rep.live.next_scan.us < INT64_MAX / 4) by_boot(rep.live.next_scan);
  if (rep.live.steal_at.us != 0 && !rep.live.stopped) by_boot(rep.live.steal_at);
  for (const auto& pool : rep.pools) {
    if (!pool->executors.empty()) by_boot(rep.live.last_step + kHeartbeat);
    if (!pool->settings || rep.live.stopped) continue;
    if (auto next = NextStart(*pool); next && *next > now.wall) by(*next);
  }
  return due;
}

}  // namespace muster::core
