// Facts about controllers, launches and executors.
#include <algorithm>

#include <fmt/format.h>

#include "core/apply_parts.h"

namespace muster::core {
namespace {

bool IsStarting(const Launch& launch) {
  return !launch.registered && launch.state != LaunchState::kStopping &&
         launch.state != LaunchState::kEnded;
}

// Changes a launch and keeps the counts of its pool.
template <typename Change>
void ChangeLaunch(StateRep& rep, Launch& launch, Change&& change) {
  Pool& pool = *rep.pools[launch.cluster];
  auto count = [&](int sign) {
    if (launch.state != LaunchState::kEnded) pool.launches += static_cast<uint32_t>(sign);
    if (IsStarting(launch)) pool.starting += static_cast<uint32_t>(sign);
  };
  count(-1);
  change(launch);
  count(1);
}

// Asks the table; nullptr when nothing is to change.
Launch* MoveLaunch(StateRep& rep, LaunchId id, LaunchEvent event, LaunchState& to) {
  Launch* launch = rep.FindLaunch(id);
  LaunchNode node = launch == nullptr ? LaunchNode::kNone : NodeOf(launch->state);
  const Rule& rule = rep.table->At(node, event);
  if (rule.kind == RuleKind::kIgnore) return nullptr;
  if (rule.kind == RuleKind::kBug) {
    rep.OnBug(nullptr, 0, fmt::format("launch {} in {} does not know {}", Render(id), ToString(node),
                                      ToString(event)));
    return nullptr;
  }
  to = static_cast<LaunchState>(rule.to - 1);
  return launch;
}

// Asks the table; false when nothing is to change.
bool MoveExecutor(StateRep& rep, const Executor* executor, ExecutorId id, ExecutorEvent event,
                  ExecutorState& to) {
  ExecutorNode node = executor == nullptr ? ExecutorNode::kNone : NodeOf(executor->state);
  const Rule& rule = rep.table->At(node, event);
  if (rule.kind == RuleKind::kBug) {
    rep.OnBug(nullptr, 0, fmt::format("executor {} in {} does not know {}", Render(id),
                                      ToString(node), ToString(event)));
  }
  if (rule.kind != RuleKind::kMove) return false;
  to = static_cast<ExecutorState>(rule.to - 1);
  return true;
}

void SetCapacity(StateRep& rep, Executor& executor) {
  Amounts capacity = rep.CapacityOf(executor.who.capacity, executor.who.max_attempts);
  executor.free.Subtract(executor.capacity);
  executor.free.Add(capacity);
  executor.capacity = std::move(capacity);
}

Executor& MakeExecutor(StateRep& rep, const ExecutorRegistered& fact) {
  auto made = std::make_unique<Executor>();
  made->who = fact;
  made->cluster = rep.PoolIndex(fact.cluster);
  Executor& executor = *(rep.executors[fact.executor.number] = std::move(made));
  rep.last_executor = std::max(rep.last_executor, fact.executor.number);
  rep.pools[executor.cluster]->executors.push_back(&executor);
  return executor;
}

}  // namespace

void ApplyFact(StateRep& rep, const ControllerStarted& fact) {
  bool other_boot = !rep.boot_id.empty() && rep.boot_id != fact.boot_id;
  bool any_executor = false;
  for (auto& [id, executor] : rep.executors) {
    if (executor->state == ExecutorState::kGone) continue;
    any_executor = true;
    ExecutorState to{};
    if (MoveExecutor(rep, executor.get(), executor->who.executor, ExecutorEvent::kRestart, to)) {
      executor->state = to;
    }
    executor->connected = false;
    executor->idle_since.reset();
  }
  rep.after_power_cut = !rep.clean && other_boot && any_executor;
  rep.epoch = fact.epoch;
  rep.started_at = fact.at;
  rep.boot_id = fact.boot_id;
  rep.clean = false;
  rep.live.resumed = false;
  rep.live.stopped = false;
  rep.live.publishing.clear();
  rep.HoldBack(rep.after_power_cut ? rep.last_job : 0);
}

void ApplyFact(StateRep& rep, const ControllerStopped& fact) {
  rep.clean = true;
  rep.stopped_at = fact.at;
  rep.live.stopped = true;
}

void ApplyFact(StateRep& rep, const LaunchPlanned& fact) {
  Launch* known = rep.FindLaunch(fact.launch);
  LaunchNode node = known == nullptr ? LaunchNode::kNone : NodeOf(known->state);
  if (rep.table->At(node, LaunchEvent::kPlanned).kind != RuleKind::kMove) {
    return rep.OnBug(nullptr, 0, fmt::format("{} planned in {}", Render(fact.launch), ToString(node)));
  }
  Launch& launch = rep.launches[fact.launch.number];
  launch.planned = fact;
  launch.cluster = rep.PoolIndex(fact.cluster);
  launch.epoch = rep.epoch;
  rep.open_launches.insert(fact.launch.number);
  ++rep.pools[launch.cluster]->launches;
  ++rep.pools[launch.cluster]->starting;
  rep.last_launch = std::max(rep.last_launch, fact.launch.number);
  rep.last_executor = std::max(rep.last_executor, fact.executor.number);
}

void ApplyFact(StateRep& rep, const LaunchSent& fact) {
  LaunchState to{};
  Launch* launch = MoveLaunch(rep, fact.launch, LaunchEvent::kAccepted, to);
  if (launch == nullptr) return;
  ChangeLaunch(rep, *launch, [&](Launch& l) {
    l.state = to;
    l.external_id = fact.external_id;
  });
}

void ApplyFact(StateRep& rep, const LaunchObserved& fact) {
  LaunchState to{};
  LaunchEvent event =
      fact.state == LaunchState::kUp ? LaunchEvent::kUp : LaunchEvent::kStarting;
  Launch* launch = MoveLaunch(rep, fact.launch, event, to);
  if (launch == nullptr) return;
  ChangeLaunch(rep, *launch, [&](Launch& l) { l.state = to; });
}

void ApplyFact(StateRep& rep, const LaunchStopping& fact) {
  LaunchState to{};
  Launch* launch = MoveLaunch(rep, fact.launch, LaunchEvent::kStopping, to);
  if (launch == nullptr) return;
  ChangeLaunch(rep, *launch, [&](Launch& l) {
    l.state = to;
    l.words = fact.why;
    l.stopping = fact.at;
  });
}

void ApplyFact(StateRep& rep, const LaunchEnded& fact) {
  LaunchState to{};
  Launch* launch = MoveLaunch(rep, fact.launch, LaunchEvent::kEnded, to);
  if (launch == nullptr) return;
  rep.open_launches.erase(fact.launch.number);
  Pool& pool = *rep.pools[launch->cluster];
  if (!launch->registered && fact.reason.kind != EndKind::kCancelled) {
    ++pool.failures;
    pool.last_failure = fact.at;
    pool.last_words = fact.raw_reason.empty() ? Render(fact.reason) : fact.raw_reason;
  }
  ChangeLaunch(rep, *launch, [&](Launch& l) {
    l.state = to;
    l.end = fact.reason;
    l.words = fact.raw_reason;
    l.ended = fact.at;
  });
}

void ApplyFact(StateRep& rep, const ExecutorRegistered& fact) {
  Executor* executor = rep.FindExecutor(fact.executor);
  ExecutorState to{};
  if (!MoveExecutor(rep, executor, fact.executor, ExecutorEvent::kHello, to)) return;
  if (executor == nullptr) {
    executor = &MakeExecutor(rep, fact);
  } else {
    WallTime since = executor->who.at;
    executor->who = fact;
    executor->who.at = since;
  }
  executor->state = to;
  SetCapacity(rep, *executor);
  rep.MarkDirty(*executor);
  if (Launch* launch = rep.FindLaunch(fact.launch)) {
    ChangeLaunch(rep, *launch, [](Launch& l) { l.registered = true; });
  }
  rep.pools[executor->cluster]->failures = 0;
}

void ApplyFact(StateRep& rep, const ExecutorDraining& fact) {
  Executor* executor = rep.FindExecutor(fact.executor);
  ExecutorState to{};
  if (!MoveExecutor(rep, executor, fact.executor, ExecutorEvent::kDraining, to)) return;
  executor->state = to;
  executor->why = fact.why;
  executor->changed = fact.at;
}

void ApplyFact(StateRep& rep, const ExecutorGone& fact) {
  Executor* executor = rep.FindExecutor(fact.executor);
  ExecutorState to{};
  if (!MoveExecutor(rep, executor, fact.executor, ExecutorEvent::kGone, to)) return;
  executor->state = to;
  executor->why = fact.why;
  executor->changed = fact.at;
  executor->connected = false;
  std::erase(rep.pools[executor->cluster]->executors, executor);
}

}  // namespace muster::core
