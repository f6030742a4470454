// Pools that grow: what cannot be placed asks for launches.
#include <algorithm>

#include "core/turn.h"

namespace muster::core {
namespace {

void StartOne(Turn& turn, uint32_t cluster) {
  StateRep& rep = turn.rep;
  const Pool& pool = *rep.pools[cluster];
  LaunchPlanned fact;
  fact.launch = LaunchId{rep.last_launch + 1};
  fact.cluster = pool.name;
  fact.executor = ExecutorId{rep.last_executor + 1};
  fact.size = pool.settings->executor_size;
  fact.max_attempts = pool.settings->max_attempts;
  fact.at = turn.now.wall;
  LaunchId id = fact.launch;
  turn.Emit(std::move(fact));
  turn.Do(After::kDurable, SubmitLaunch{pool.name, SpecOfLaunch(rep, *rep.FindLaunch(id))});
  turn.ScanBy(turn.now.boot + kLookAtStart);
}

void ScalePool(Turn& turn, uint32_t cluster) {
  StateRep& rep = turn.rep;
  Pool& pool = *rep.pools[cluster];
  const ClusterSettings& settings = *pool.settings;
  uint64_t wanted = ExecutorsWanted(rep, cluster);
  uint64_t least = settings.pool_min > pool.launches ? settings.pool_min - pool.launches : 0;
  if (wanted == 0 && pool.failures == 0) pool.ramp = 1;
  uint64_t starts = wanted > pool.starting ? wanted - pool.starting : 0;
  starts = std::max(starts, least);
  if (starts == 0) return;
  uint64_t room = settings.pool_max > pool.launches ? settings.pool_max - pool.launches : 0;
  uint64_t ramp = pool.failures > 0 ? 1 : pool.ramp;
  uint64_t pending = ramp > pool.starting ? ramp - pool.starting : 0;
  starts = std::min({starts, room, pending});
  if (auto next = NextStart(pool); next && turn.now.wall < *next) return;
  for (uint64_t i = 0; i < starts; ++i) StartOne(turn, cluster);
}

}  // namespace

std::optional<WallTime> NextStart(const Pool& pool) {
  if (pool.failures == 0) return std::nullopt;
  Duration delay = pool.failures >= kStartsBeforeGivingUp
                       ? kLongestStartDelay
                       : BackOff(pool.failures, kFirstStartDelay, kLongestStartDelay);
  return pool.last_failure + delay;
}

uint64_t ExecutorsWanted(const StateRep& rep, uint32_t cluster) {
  const Pool& pool = *rep.pools[cluster];
  if (!pool.settings) return 0;
  uint64_t wanted = 0;
  for (uint32_t index : rep.open_classes) {
    const ReadyClass& ready_class = *rep.classes[index];
    if (ready_class.cluster != cluster) continue;
    int64_t slots = FitCount(pool.size, ready_class.need, INT64_MAX / 8);
    if (slots <= 0) continue;  // no executor of this pool could ever hold it
    wanted += (ready_class.demand + static_cast<uint64_t>(slots) - 1) / static_cast<uint64_t>(slots);
  }
  if (wanted > 0 || !pool.executors.empty()) return wanted;
  // Somebody must publish what an executor that is gone left behind.
  for (const auto& [task, publishing] : rep.live.publishing) {
    const Job* job = rep.FindJob(task.job);
    if (!publishing.asked && job != nullptr && job->cluster == cluster) return 1;
  }
  return 0;
}

void Scale(Turn& turn) {
  if (turn.rep.live.stopped) return;
  for (uint32_t cluster = 0; cluster < turn.rep.pools.size(); ++cluster) {
    if (turn.rep.pools[cluster]->settings) ScalePool(turn, cluster);
  }
}

}  // namespace muster::core
