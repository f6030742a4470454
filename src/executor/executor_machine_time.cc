// The half of ExecutorMachine that time drives: limits, draining, contact, leaving.
#include <algorithm>

#include "executor/executor_machine.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

// A controller that does not answer a hello for so long is dialled anew.
constexpr Duration kWelcomeLimit = std::chrono::seconds(10);
// A started report waits so long for company: most short programs have ended by then, and their end
// says it all.
constexpr Duration kStartedDelay = std::chrono::milliseconds(10);
// After an acknowledgement a draining executor waits so long for the order to publish.
constexpr Duration kPublishWait = std::chrono::seconds(10);
constexpr Duration kOrphanGrace = std::chrono::seconds(1);

}  // namespace

void ExecutorMachine::ClearAlarm(HeldAttempt& held) {
  if (held.alarm) alarms_.erase({*held.alarm, held.id});
  held.alarm.reset();
}

Duration ExecutorMachine::DrainGrace(const HeldAttempt& held) const {
  return std::min(held.what->grace, drain_->grace / 2);
}

void ExecutorMachine::SetAlarm(HeldAttempt& held) {
  ClearAlarm(held);
  if (held.limit_at && held.phase != Phase::kStopping) held.alarm = held.limit_at;
  if (drain_ && (held.phase != Phase::kStopping || held.kill_at > drain_->kill_by)) {
    BootTime stop_at = drain_->kill_by - DrainGrace(held);
    held.alarm = held.alarm ? std::min(*held.alarm, stop_at) : stop_at;
  }
  if (held.alarm) alarms_.insert({*held.alarm, held.id});
}

void ExecutorMachine::FireAlarms(Now now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now.boot) {
    HeldAttempt& held = *table_.Find(alarms_.begin()->second);
    ClearAlarm(held);
    if (held.phase != Phase::kStopping && held.limit_at && *held.limit_at <= now.boot) {
      Stop(held, StopCause::kTimeLimit, held.what->grace, now);
    } else {
      Duration left = std::max(drain_->kill_by - now.boot, Duration{0});
      Stop(held, StopCause::kDraining, std::min(DrainGrace(held), left), now);
    }
  }
}

void ExecutorMachine::BeginDrain(Draining drain) {
  if (drain_) {
    drain_->kill_by = std::min(drain_->kill_by, drain.kill_by);
    drain_->grace = std::min(drain_->grace, drain.grace);
    drain_->patience = std::min(drain_->patience, drain.patience);
  } else {
    drain_ = std::move(drain);
  }
  std::vector<AttemptId> waiting;
  for (auto& [id, held] : table_.all()) {
    if (held.phase == Phase::kWaiting) waiting.push_back(id);
    if (held.phase == Phase::kStarting || held.phase == Phase::kRunning ||
        held.phase == Phase::kStopping) {
      SetAlarm(held);
    }
  }
  for (AttemptId id : waiting) Drop(*table_.Find(id), 0);
}

void ExecutorMachine::LoseContact(Now now) {
  if (welcomed_) contact_lost_ = now.boot;
  connected_ = welcomed_ = hello_unsent_ = false;
  templates_.clear();
  // The next hello says all of it.
  unsent_ = {};
}

void ExecutorMachine::Cut(std::string why, Now now) {
  actions_.push_back(CutConnection{std::move(why)});
  LoseContact(now);
}

void ExecutorMachine::CheckContact(Now now) {
  if (welcomed_ && now.boot >= heartbeat_at_) {
    unsent_.heartbeat = true;
    heartbeat_at_ = now.boot + heartbeat_;
  }
  if (welcomed_ && now.boot >= last_heard_ + lease_) {
    Cut("nothing was heard from the controller for " + Render(lease_), now);
  } else if (connected_ && !welcomed_ && now.boot >= last_heard_ + kWelcomeLimit) {
    Cut("the controller did not answer the hello for " + Render(kWelcomeLimit), now);
  }
  bool orphaned = !welcomed_ && rules_.stop_orphaned.count() > 0 &&
                  now.boot >= contact_lost_ + rules_.stop_orphaned;
  if (orphaned && (!drain_ || drain_->patience.count() > 0)) {
    BeginDrain({"no controller for " + Render(rules_.stop_orphaned), now.boot + kOrphanGrace,
                kOrphanGrace});
  }
}

std::optional<BootTime> ExecutorMachine::LeaveAt() const {
  if (left_ || unsent_.drained || table_.running() > 0) return std::nullopt;
  // A hello is under way.
  if (connected_ && !welcomed_) return std::nullopt;
  bool holding = table_.finished() > 0 || table_.unpublished() > 0;
  if (drain_ && welcomed_) {
    if (table_.finished() > 0) return std::nullopt;
    return table_.unpublished() > 0 ? last_ended_ + kPublishWait : last_ended_;
  }
  if (drain_) {
    return holding ? std::max(contact_lost_, last_ended_) + drain_->patience : last_ended_;
  }
  if (welcomed_) return std::nullopt;
  if (!ever_welcomed_) return contact_lost_ + rules_.leave_unwelcomed;
  return contact_lost_ + (holding ? rules_.leave_holding : rules_.leave_idle);
}

void ExecutorMachine::CheckLeave(Now now) {
  std::optional<BootTime> at = LeaveAt();
  if (!at || now.boot < *at) return;
  if (welcomed_) {
    unsent_.drained = true;
    return;
  }
  LeaveNow(drain_ ? drain_->why : "no controller since " + Render(now.boot - contact_lost_));
}

void ExecutorMachine::LeaveNow(std::string why) {
  left_ = true;
  actions_.push_back(Leave{std::move(why)});
}

std::optional<BootTime> ExecutorMachine::NextWake() const {
  if (left_) return std::nullopt;
  std::optional<BootTime> next = LeaveAt();
  auto consider = [&](BootTime at) { next = next ? std::min(*next, at) : at; };
  if (!alarms_.empty()) consider(alarms_.begin()->first);
  if (welcomed_) {
    consider(heartbeat_at_);
    consider(last_heard_ + lease_);
    if (!unsent_.started.empty()) consider(unsent_.started_since + kStartedDelay);
  } else {
    if (connected_) consider(last_heard_ + kWelcomeLimit);
    if (rules_.stop_orphaned.count() > 0 && (!drain_ || drain_->patience.count() > 0)) {
      consider(contact_lost_ + rules_.stop_orphaned);
    }
  }
  return next;
}

bool ExecutorMachine::ReportsAreDue(Now now) const {
  const Unsent& u = unsent_;
  if (!u.ended.empty() || !u.dropped.empty() || !u.published.empty() || !u.publish_failed.empty() ||
      !u.unknown.empty() || u.full_list || u.heartbeat || u.drained) {
    return true;
  }
  return !u.started.empty() && now.boot >= u.started_since + kStartedDelay;
}

}  // namespace muster::executor
