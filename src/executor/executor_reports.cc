// What ExecutorMachine says: hello, reports, lists.
#include <utility>

#include "executor/executor_machine.h"
#include "wire/executor_frames.h"

namespace muster::executor {
namespace {

v1::Held::Phase ToWire(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return v1::Held::STARTING;
    case Phase::kRunning:
      return v1::Held::RUNNING;
    case Phase::kStopping:
      return v1::Held::STOPPING;
    default:
      return v1::Held::SENT;
  }
}

void ToWire(const HeldAttempt& held, v1::Held& entry) {
  ToRef(held.id, held.send, entry.mutable_attempt());
  entry.set_phase(ToWire(held.phase));
  entry.set_pid(held.pid);
  entry.set_started_us(held.started.us);
}

void ToEnded(const HeldAttempt& held, v1::Ended* ended) {
  muster::ToEnded(held.id, held.send, held.facts, held.pid, ended);
}

bool EndedOrLater(Phase phase) {
  return phase == Phase::kFinished || phase == Phase::kAcknowledged;
}

}  // namespace

void ExecutorMachine::SayStarted(HeldAttempt& held, BootTime now) {
  if (!welcomed_ && !connected_) return;  // the next hello says it
  if (held.started_unsaid) {
    unsent_.started_since = std::min(unsent_.started_since, now);
    return;
  }
  held.started_unsaid = true;
  if (unsent_.started.empty() || now < unsent_.started_since) unsent_.started_since = now;
  unsent_.started.push_back(held.id);
}

void ExecutorMachine::SayEnded(HeldAttempt& held) {
  if (!connected_ || held.ended_unsaid) return;
  held.ended_unsaid = true;
  unsent_.ended.push_back(held.id);
}

void ExecutorMachine::FillHello(Now now, v1::Hello& hello) {
  hello_sent_ = now.boot;
  hello.set_protocol(kExecutorProtocol);
  hello.set_muster_version(identity_.version);
  hello.set_executor(identity_.executor.number);
  hello.set_launch(identity_.launch.number);
  hello.set_store_id(identity_.store_id);
  hello.set_incarnation(identity_.incarnation);
  hello.set_boot_id(identity_.boot_id);
  hello.set_pid(identity_.pid);
  hello.set_pid_start_time(identity_.pid_start_time);
  hello.set_host(identity_.host);
  ToCapacity(identity_.capacity, identity_.max_attempts, hello.mutable_capacity());
  for (const auto& [key, value] : identity_.labels) {
    v1::Label& label = *hello.add_labels();
    label.set_key(key);
    label.set_value(value);
  }
  hello.set_limits(identity_.limits);
  hello.set_output_dir(identity_.output_dir);
  hello.set_highest_epoch(highest_epoch_);
  hello.set_token(identity_.token);
  // It holds all that reports before it would say.
  unsent_ = {};
  for (auto& [id, held] : table_.all()) {
    held.started_unsaid = held.ended_unsaid = false;
    if (held.phase == Phase::kFinished) ToEnded(held, hello.add_finished());
    if (!EndedOrLater(held.phase)) ToWire(held, *hello.add_held());
  }
}

void ExecutorMachine::FillReports(Now now, v1::FromExecutor& batch) {
  if (unsent_.heartbeat) {
    v1::Heartbeat& beat = *batch.mutable_heartbeat();
    beat.set_sent_boot_us(now.boot.us);
    beat.set_held_count(static_cast<uint32_t>(table_.held_count()));
    beat.set_held_hash(table_.held_hash());
  }
  for (AttemptId id : unsent_.started) {
    HeldAttempt* held = table_.Find(id);
    if (held == nullptr || !held->started_unsaid) continue;
    held->started_unsaid = false;
    v1::Started& started = *batch.add_started();
    ToRef(id, held->send, started.mutable_attempt());
    started.set_pid(held->pid);
    started.set_started_us(held->started.us);
  }
  for (AttemptId id : unsent_.ended) {
    HeldAttempt* held = table_.Find(id);
    if (held == nullptr || !held->ended_unsaid) continue;
    held->ended_unsaid = false;
    ToEnded(*held, batch.add_ended());
  }
  for (Named named : unsent_.dropped) ToRef(named.id, named.send, batch.add_dropped());
  for (Named named : unsent_.published) ToRef(named.id, named.send, batch.add_published());
  for (const PublishFailure& failure : unsent_.publish_failed) {
    v1::PublishFailed& failed = *batch.add_publish_failed();
    ToRef(failure.attempt.id, failure.attempt.send, failed.mutable_attempt());
    failed.set_error_number(failure.error_number);
    failed.set_what_failed(failure.what_failed);
  }
  for (Named named : unsent_.unknown) ToRef(named.id, named.send, batch.add_unknown());
  if (unsent_.full_list) {
    for (const auto& [id, held] : table_.all()) {
      if (!EndedOrLater(held.phase)) ToWire(held, *batch.add_held());
    }
  }
  batch.set_drained(unsent_.drained);
}

bool ExecutorMachine::TakeMessage(Now now, v1::FromExecutor& batch) {
  batch.Clear();
  if (left_ || !connected_) return false;
  if (hello_unsent_) {
    hello_unsent_ = false;
    FillHello(now, *batch.mutable_hello());
    return true;
  }
  if (!welcomed_ || !ReportsAreDue(now)) return false;
  FillReports(now, batch);
  bool drained = unsent_.drained;
  unsent_ = {};
  if (drained) LeaveNow(drain_->why);
  return true;
}

}  // namespace muster::executor
