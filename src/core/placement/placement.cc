// Placement by offers: executors whose room changed, and classes with more to do than before.
//
// First every candidate is filled as far as it has room, then executors get a few short tasks more than
// they can run, so that a slot need not idle for a round trip. The cost is O(candidates × classes with
// something ready) and never depends on the number of tasks.
#include <algorithm>

#include "core/turn.h"

namespace muster::core {
namespace {

// Prefetch: enough for so much work in each slot, at most so many, from so many samples on, and only
// for tasks shorter than the limit.
constexpr int64_t kPrefetchUs = 20'000;
constexpr int64_t kMostPerSlot = 64;
constexpr uint16_t kEnoughSamples = 5;
constexpr int64_t kShortUs = 50'000;
// How many retried tasks a pass looks at that would better go elsewhere.
constexpr int kMostSkips = 16;

enum class Pass { kRoom, kPrefetch };

const SpecState& HeadOf(const ReadyClass& ready_class) {
  const auto& [key, job] = *ready_class.queue.begin();
  return job->specs[key.spec];
}

int64_t PrefetchAllowance(const SpecState& spec, const ReadyClass& ready_class,
                          const Executor& executor, size_t executors) {
  if (spec.once || spec.samples < kEnoughSamples || spec.mean_wall_us >= kShortUs) return 0;
  int64_t slots = FitCount(executor.capacity, ready_class.need, 4096);
  int64_t mean = std::max<int64_t>(spec.mean_wall_us, 1);
  int64_t per_slot = std::min(kMostPerSlot, (kPrefetchUs + mean - 1) / mean);
  int64_t left = slots * per_slot - executor.extra.size;
  // Nobody takes more than an equal share of what is left.
  auto share = (static_cast<int64_t>(spec.ready()) + static_cast<int64_t>(executors) - 1) /
               static_cast<int64_t>(executors);
  return std::max<int64_t>(0, std::min(left, share));
}

// How many tasks of the class the executor may take now.
int64_t Offer(const Turn& turn, const ReadyClass& ready_class, const Executor& executor, Pass pass) {
  if (pass == Pass::kRoom) {
    // Whoever waits there for room comes first.
    return executor.extra.size > 0 ? 0 : FitCount(executor.free, ready_class.need, UINT32_MAX);
  }
  if (FitCount(executor.capacity, ready_class.need, 1) == 0) return 0;
  size_t executors = turn.rep.pools[executor.cluster]->executors.size();
  return PrefetchAllowance(HeadOf(ready_class), ready_class, executor, executors);
}

// The last attempt of this task had trouble on this executor or its node, and there is another place.
bool BetterElsewhere(const Turn& turn, const Trouble& trouble, const ReadyClass& ready_class,
                     const Executor& executor) {
  if (!trouble.infrastructure) return false;
  const Executor* last = turn.rep.FindExecutor(trouble.last_executor);
  if (last == nullptr) return false;
  bool same_host = last->who.host == executor.who.host;
  if (last != &executor && !same_host) return false;
  bool other_executor = false;
  for (const Executor* other : turn.rep.pools[executor.cluster]->executors) {
    if (other == &executor || other == last || !Usable(*other, turn.now.boot)) continue;
    if (FitCount(other->capacity, ready_class.need, 1) == 0) continue;
    if (other->who.host != last->who.host) return true;
    other_executor = true;
  }
  return last == &executor && other_executor;
}

void Plan(Turn& turn, const SpecState& spec, const Executor& executor, TaskRange tasks,
          const Trouble* trouble) {
  AttemptsPlanned fact;
  fact.executor = executor.who.executor;
  fact.tasks = tasks;
  fact.at = turn.now.wall;
  if (trouble != nullptr) {
    fact.n = trouble->ended + 1;
    fact.send = trouble->send;
    if (trouble->unconfirmed) {
      const Executor* last = turn.rep.FindExecutor(trouble->last_executor);
      fact.may_overlap = last == nullptr || last->state != ExecutorState::kGone;
    }
  }
  turn.Do(AfterFor(spec), RunAttempts{fact.executor, tasks, fact.n, fact.send});
  turn.Emit(std::move(fact));
}

// Hands tasks of the first TaskSpec in the queue to the executor, at most `limit`; how many.
uint32_t PlanFrom(Turn& turn, const ReadyClass& ready_class, Executor& executor, int64_t limit) {
  auto [key, job] = *ready_class.queue.begin();
  SpecState& spec = job->specs[key.spec];
  auto most = static_cast<uint32_t>(std::min<int64_t>(limit, spec.offered));
  constexpr CodeMask kReady = MaskOf(kFresh) | MaskOf(kAgain);
  StateColumn::Run run = job->codes.NextRun(spec.cursor - 1, spec.last(), kReady, most);
  if (run.count == 0) return 0;
  spec.cursor = run.first + 1;
  for (int skips = 0; skips < kMostSkips; ++skips) {
    if (job->codes.Get(run.first) == kFresh) {
      run = job->codes.NextRun(run.first, run.first + run.count, MaskOf(kFresh), most);
      Plan(turn, spec, executor, {job->id, run.first + 1, run.count}, nullptr);
      return run.count;
    }
    const Trouble* trouble = job->trouble.Find(run.first + 1);
    if (trouble == nullptr || !BetterElsewhere(turn, *trouble, ready_class, executor)) {
      Plan(turn, spec, executor, {job->id, run.first + 1, 1}, trouble);
      return 1;
    }
    run = job->codes.NextRun(run.first + 1, spec.last(), kReady, most);
    if (run.count == 0) return 0;
  }
  return 0;
}

bool GoesBefore(const ReadyClass& a, const ReadyClass& b) {
  return a.queue.begin()->first < b.queue.begin()->first;
}

void Fill(Turn& turn, Executor& executor, Pass pass) {
  std::vector<const ReadyClass*> refused;
  while (true) {
    const ReadyClass* best = nullptr;
    int64_t offer = 0;
    for (uint32_t index : turn.rep.open_classes) {
      const ReadyClass& candidate = *turn.rep.classes[index];
      if (candidate.cluster != executor.cluster) continue;
      if (best != nullptr && !GoesBefore(candidate, *best)) continue;
      if (std::find(refused.begin(), refused.end(), &candidate) != refused.end()) continue;
      int64_t count = Offer(turn, candidate, executor, pass);
      if (count == 0) continue;
      best = &candidate;
      offer = count;
    }
    if (best == nullptr) return;
    if (PlanFrom(turn, *best, executor, offer) == 0) refused.push_back(best);
  }
}

void AddNews(Turn& turn) {
  StateRep& rep = turn.rep;
  if (!rep.news) return;
  rep.news = false;
  for (uint32_t index : rep.open_classes) {
    ReadyClass& ready_class = *rep.classes[index];
    if (!ready_class.news) continue;
    ready_class.news = false;
    for (Executor* executor : rep.pools[ready_class.cluster]->executors) {
      if (Offer(turn, ready_class, *executor, Pass::kRoom) > 0 ||
          Offer(turn, ready_class, *executor, Pass::kPrefetch) > 0) {
        rep.MarkDirty(*executor);
      }
    }
  }
}

void NoteIdle(Turn& turn, Executor& executor) {
  if (executor.held() > 0 || executor.idle_since || !executor.connected) return;
  executor.idle_since = turn.now.boot;
  const Pool& pool = *turn.rep.pools[executor.cluster];
  if (pool.settings && pool.settings->idle.count() > 0) {
    turn.ScanBy(turn.now.boot + pool.settings->idle);
  }
}

// Takes back what waits on one executor behind longer work while another has room for it.
int64_t StealFrom(Turn& turn, const Executor& victim, int64_t room) {
  int64_t taken = 0;
  for (uint32_t slot = victim.extra.tail; slot != 0 && taken < room;) {
    const Attempt& attempt = turn.rep.attempts[slot];
    slot = attempt.prev;
    if (attempt.state == AttemptState::kRecalling) {
      ++taken;
      continue;
    }
    if (attempt.state != AttemptState::kSent || turn.now.wall - attempt.planned < kStealAfter) {
      continue;
    }
    AttemptId id = attempt.attempt_id();
    turn.Do(AfterFor(attempt.job->specs[attempt.spec]),
            RecallAttempt{victim.who.executor, id, attempt.send});
    turn.Emit(AttemptRecalled{id});
    ++taken;
  }
  return taken;
}

void Steal(Turn& turn) {
  StateRep& rep = turn.rep;
  BootTime now = turn.now.boot;
  if (now < rep.live.steal_at) return;
  rep.live.steal_at = BootTime{0};
  if (rep.waiting_there == 0) return;
  for (auto& pool : rep.pools) {
    if (pool->executors.size() < 2) continue;
    int64_t room = 0;
    bool waiting = false;
    for (const Executor* executor : pool->executors) {
      waiting = waiting || executor->extra.size > 0;
      if (!Usable(*executor, now) || executor->extra.size > 0) continue;
      // Thousandths of a processor are the one dimension everybody has.
      room += std::min(executor->free.attempts,
                       std::max<int64_t>(0, executor->free.milli_cpus) / 1000);
    }
    if (waiting) rep.live.steal_at = now + kStealAfter;
    for (const Executor* executor : pool->executors) {
      if (room <= 0) break;
      if (executor->extra.size == 0 || !InContact(*executor, now)) continue;
      room -= StealFrom(turn, *executor, room);
    }
  }
}

}  // namespace

void Place(Turn& turn) {
  StateRep& rep = turn.rep;
  if (rep.live.stopped) return;
  AddNews(turn);
  if (rep.dirty.empty() && rep.live.steal_at.us == 0) return;
  std::vector<ExecutorId> dirty;
  dirty.swap(rep.dirty);
  if (dirty.size() > 1) std::sort(dirty.begin(), dirty.end());
  for (Pass pass : {Pass::kRoom, Pass::kPrefetch}) {
    for (ExecutorId id : dirty) {
      Executor* executor = rep.FindExecutor(id);
      if (executor == nullptr) continue;
      executor->dirty = false;
      if (!rep.open_classes.empty() && Usable(*executor, turn.now.boot)) Fill(turn, *executor, pass);
      if (pass == Pass::kPrefetch) NoteIdle(turn, *executor);
    }
  }
  Steal(turn);
}

}  // namespace muster::core
