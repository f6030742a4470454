// What ExecutorMachine says: hello, reports, lists.
#include <utility>

#include "executor/executor_machine.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

void ToWire(AttemptId id, uint32_t send, v1::AttemptRef& ref) {
  ref.set_job(id.task.job.number);
  ref.set_task(id.task.number);
  ref.set_n(id.n);
  ref.set_send(send);
}

v1::Ended::Cause ToWire(StopCause cause) {
  switch (cause) {
    case StopCause::kNone: return v1::Ended::NONE;
    case StopCause::kTimeLimit: return v1::Ended::TIME_LIMIT;
    case StopCause::kCancelled: return v1::Ended::CANCELLED;
    case StopCause::kDraining: return v1::Ended::DRAINING;
  }
  return v1::Ended::NONE;
}

v1::Ended::How ToWire(ExitFacts::How how) {
  switch (how) {
    case ExitFacts::How::kExited: return v1::Ended::EXITED;
    case ExitFacts::How::kSignalled: return v1::Ended::SIGNALLED;
    case ExitFacts::How::kNotStarted: return v1::Ended::NOT_STARTED;
    case ExitFacts::How::kLost: return v1::Ended::LOST;
  }
  return v1::Ended::LOST;
}

void ToWire(const HeldAttempt& held, v1::Ended& ended) {
  const ExitFacts& facts = held.facts;
  ToWire(held.id, held.send, *ended.mutable_attempt());
  ended.set_how(ToWire(facts.how));
  ended.set_code(facts.code);
  if (!facts.what_failed.empty()) ended.set_what_failed(facts.what_failed);
  ended.set_stop_cause(ToWire(facts.stop_cause));
  ended.set_started_us(facts.started.us);
  ended.set_wall_us(facts.wall.count());
  ended.set_user_us(facts.user_cpu.count());
  ended.set_system_us(facts.system_cpu.count());
  ended.set_max_rss(facts.max_rss.value);
  ended.set_left_behind(facts.left_behind);
  ended.set_output_bytes(facts.output_bytes);
  ended.set_output_dropped(facts.output_dropped);
  ended.set_pid(held.pid);
}

v1::Held::Phase ToWire(Phase phase) {
  switch (phase) {
    case Phase::kStarting: return v1::Held::STARTING;
    case Phase::kRunning: return v1::Held::RUNNING;
    case Phase::kStopping: return v1::Held::STOPPING;
    default: return v1::Held::SENT;
  }
}

void ToWire(const HeldAttempt& held, v1::Held& entry) {
  ToWire(held.id, held.send, *entry.mutable_attempt());
  entry.set_phase(ToWire(held.phase));
  entry.set_pid(held.pid);
  entry.set_started_us(held.started.us);
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
  hello.set_protocol(1);
  hello.set_muster_version(identity_.version);
  hello.set_executor(identity_.executor.number);
  hello.set_launch(identity_.launch.number);
  hello.set_store_id(identity_.store_id);
  hello.set_incarnation(identity_.incarnation);
  hello.set_boot_id(identity_.boot_id);
  hello.set_pid(identity_.pid);
  hello.set_pid_start_time(identity_.pid_start_time);
  hello.set_host(identity_.host);
  v1::Capacity& capacity = *hello.mutable_capacity();
  capacity.set_milli_cpus(identity_.capacity.cpus.value);
  capacity.set_memory(identity_.capacity.memory.value);
  capacity.set_gpus(identity_.capacity.gpus);
  capacity.set_max_attempts(identity_.max_attempts);
  for (const auto& [name, amount] : identity_.capacity.named) {
    v1::NamedResource& named = *capacity.add_named();
    named.set_name(name);
    named.set_amount(amount);
  }
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
    if (held.phase == Phase::kFinished) ToWire(held, *hello.add_finished());
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
    ToWire(id, held->send, *started.mutable_attempt());
    started.set_pid(held->pid);
    started.set_started_us(held->started.us);
  }
  for (AttemptId id : unsent_.ended) {
    HeldAttempt* held = table_.Find(id);
    if (held == nullptr || !held->ended_unsaid) continue;
    held->ended_unsaid = false;
    ToWire(*held, *batch.add_ended());
  }
  for (Named named : unsent_.dropped) ToWire(named.id, named.send, *batch.add_dropped());
  for (Named named : unsent_.published) ToWire(named.id, named.send, *batch.add_published());
  for (const PublishFailure& failure : unsent_.publish_failed) {
    v1::PublishFailed& failed = *batch.add_publish_failed();
    ToWire(failure.attempt.id, failure.attempt.send, *failed.mutable_attempt());
    failed.set_error_number(failure.error_number);
    failed.set_what_failed(failure.what_failed);
  }
  for (Named named : unsent_.unknown) ToWire(named.id, named.send, *batch.add_unknown());
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
