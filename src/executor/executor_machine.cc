#include "executor/executor_machine.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

AttemptId FromWire(const v1::AttemptRef& ref) { return {{{ref.job()}, ref.task()}, ref.n()}; }

StopCause FromWire(v1::Ended::Cause cause) {
  switch (cause) {
    case v1::Ended::TIME_LIMIT:
      return StopCause::kTimeLimit;
    case v1::Ended::CANCELLED:
      return StopCause::kCancelled;
    case v1::Ended::DRAINING:
      return StopCause::kDraining;
    default:
      return StopCause::kNone;
  }
}

bool Succeeded(const ExitFacts& facts) {
  return facts.how == ExitFacts::How::kExited && facts.code == 0;
}

}  // namespace

ExecutorMachine::ExecutorMachine(ExecutorIdentity identity, ContactRules rules, Now now)
    : identity_(std::move(identity)),
      table_({identity_.capacity, identity_.max_attempts}),
      rules_(rules),
      contact_lost_(now.boot),
      last_ended_(now.boot) {}

void ExecutorMachine::OnConnected(Now now) {
  if (left_) return;
  if (connected_) LoseContact(now);
  connected_ = true;
  hello_unsent_ = true;
  last_heard_ = now.boot;
}

void ExecutorMachine::OnDisconnected(Now now) {
  if (left_ || !connected_) return;
  LoseContact(now);
  Settle(now);
}

void ExecutorMachine::OnMessage(const v1::FromController& message, Now now) {
  uint64_t epoch = std::max(message.epoch(), message.welcome().epoch());
  if (left_ || !connected_ || epoch < highest_epoch_) return;
  highest_epoch_ = epoch;
  last_heard_ = now.boot;
  if (message.has_refusal()) {
    const v1::Refusal& refusal = message.refusal();
    if (refusal.leave()) {
      BeginDrain({refusal.why(), now.boot + std::chrono::seconds(5), std::chrono::seconds(5)});
    }
    Cut("the controller refused this executor: " + refusal.why(), now);
    return Settle(now);
  }
  if (message.has_welcome()) OnWelcome(message.welcome(), now);
  if (!welcomed_) return;
  if (message.heartbeat_echo_us() > 0) {
    BootTime sent{std::min(message.heartbeat_echo_us(), now.boot.us)};
    lease_end_ = std::max(lease_end_, sent + lease_);
  }
  for (const v1::Template& sent : message.templates()) {
    auto what = executor::FromWire(sent);
    // One that cannot be read is as good as not sent: its runs say so.
    if (what.ok()) templates_[sent.id()] = std::make_shared<const RunTemplate>(std::move(*what));
  }
  for (const v1::Run& run : message.runs()) OnRun(run, now);
  for (const auto& ref : message.acks()) OnAck({FromWire(ref), ref.send()}, now);
  for (const auto& ref : message.publishes()) OnPublish({FromWire(ref), ref.send()});
  for (const auto& ref : message.recalls()) OnRecall({FromWire(ref), ref.send()});
  for (const v1::Stop& stop : message.stops()) {
    OnStop({FromWire(stop.attempt()), stop.attempt().send()}, FromWire(stop.cause()),
           Duration(stop.grace_us()), now);
  }
  // The heartbeat beside it says "nothing" where the list would be empty.
  if (message.send_held()) unsent_.full_list = unsent_.heartbeat = true;
  if (message.has_drain()) {
    Duration grace(std::max<int64_t>(message.drain().grace_us(), 0));
    BeginDrain({message.drain().why(), now.boot + grace, grace, rules_.leave_holding});
  }
  for (uint64_t id : message.forget_templates()) OnForgetTemplate(id);
  Settle(now);
}

void ExecutorMachine::OnWelcome(const v1::Welcome& welcome, Now now) {
  if (welcome.lease_us() > 0) lease_ = Duration(welcome.lease_us());
  if (welcome.heartbeat_us() > 0) heartbeat_ = Duration(welcome.heartbeat_us());
  if (welcome.leave_idle_us() > 0) rules_.leave_idle = Duration(welcome.leave_idle_us());
  if (welcome.leave_holding_us() > 0) rules_.leave_holding = Duration(welcome.leave_holding_us());
  rules_.stop_orphaned = Duration(welcome.stop_orphaned_us());
  if (!welcomed_) heartbeat_at_ = now.boot + heartbeat_;
  welcomed_ = ever_welcomed_ = true;
  lease_end_ = std::max(lease_end_, hello_sent_ + lease_);
}

void ExecutorMachine::OnRun(const v1::Run& run, Now now) {
  AttemptId id = FromWire(run.attempt());
  uint32_t send = run.attempt().send();
  if (HeldAttempt* held = table_.Find(id)) return OnRunHeld(*held, send);
  if (auto past = table_.FindPast(id)) {
    if (past->how != Past::kDropped) return unsent_.unknown.push_back({id, send});
    if (send <= past->send) return unsent_.dropped.push_back({id, send});
  }
  if (drain_) {
    table_.RememberDropped(id, send);
    return unsent_.dropped.push_back({id, send});
  }
  HeldAttempt attempt;
  attempt.id = id;
  attempt.send = send;
  attempt.template_id = run.template_id();
  attempt.index = run.index();
  attempt.item = run.item();
  attempt.out_name = run.out_name();
  auto found = templates_.find(run.template_id());
  if (found != templates_.end()) {
    attempt.what = found->second;
    table_.Add(std::move(attempt));
    return;
  }
  // The controller broke the protocol; EAGAIN is a passing cause, so that the user is not charged.
  attempt.what = std::make_shared<const RunTemplate>();
  ExitFacts facts;
  facts.how = ExitFacts::How::kNotStarted;
  facts.code = EAGAIN;
  facts.what_failed =
      fmt::format("find template {} of the run, which was never sent", run.template_id());
  Finish(table_.Add(std::move(attempt)), facts, now);
}

void ExecutorMachine::OnRunHeld(HeldAttempt& held, uint32_t send) {
  bool ended = held.phase == Phase::kFinished || held.phase == Phase::kAcknowledged;
  if (send > held.send || (ended && send == held.send)) SayAgain(held, send);
}

// Answers a question about what may not be taken back any more: with its state.
void ExecutorMachine::SayAgain(HeldAttempt& held, uint32_t send) {
  if (send > held.send) table_.SetSend(held, send);
  if (held.phase == Phase::kFinished || held.phase == Phase::kAcknowledged) SayEnded(held);
  if (held.phase == Phase::kRunning || held.phase == Phase::kStopping) {
    SayStarted(held, BootTime{0});
  }
}

void ExecutorMachine::OnRecall(Named named) {
  HeldAttempt* held = table_.Find(named.id);
  if (held == nullptr) return OnNotHeld(named);
  if (named.send < held->send) return;
  if (held->phase == Phase::kWaiting) return Drop(*held, named.send);
  SayAgain(*held, named.send);
}

void ExecutorMachine::OnStop(Named named, StopCause cause, Duration grace, Now now) {
  HeldAttempt* held = table_.Find(named.id);
  if (held == nullptr) return OnNotHeld(named);
  if (named.send < held->send) return;
  switch (held->phase) {
    case Phase::kWaiting:
      return Drop(*held, named.send);
    case Phase::kStarting:
    case Phase::kRunning:
    case Phase::kStopping:
      return Stop(*held, cause, grace, now);
    case Phase::kFinished:
      return SayAgain(*held, named.send);
    case Phase::kAcknowledged:  // superseded: it will not be published
      actions_.push_back(DiscardOutput{held->id, held->what, held->out_name});
      table_.Forget(*held, Past::kAcknowledged);
      return unsent_.unknown.push_back(named);
  }
}

void ExecutorMachine::OnNotHeld(Named named) {
  auto past = table_.FindPast(named.id);
  if (past && past->how == Past::kDropped && named.send <= past->send) {
    return unsent_.dropped.push_back(named);
  }
  // If its run is still on its way, it must not start after this answer.
  table_.RememberDropped(named.id, named.send);
  unsent_.unknown.push_back(named);
}

void ExecutorMachine::OnAck(Named named, Now now) {
  HeldAttempt* held = table_.Find(named.id);
  if (held == nullptr || held->phase != Phase::kFinished) return;
  last_ended_ = now.boot;
  if (!held->what->out_dir.empty() && Succeeded(held->facts)) {
    return table_.SetPhase(*held, Phase::kAcknowledged);
  }
  table_.Forget(*held, Past::kAcknowledged);
}

void ExecutorMachine::OnPublish(Named named) {
  HeldAttempt* held = table_.Find(named.id);
  if (held != nullptr && (held->phase == Phase::kFinished || held->phase == Phase::kAcknowledged)) {
    actions_.push_back(PublishOutput{held->id, named.send, held->what, held->out_name});
    return;
  }
  if (held != nullptr) return;
  auto past = table_.FindPast(named.id);
  if (past && past->how == Past::kPublished) return unsent_.published.push_back(named);
  PublishFound order{named.id, named.send, {}};
  for (const auto& [id, what] : templates_) {
    if (!what->out_dir.empty()) order.candidates.push_back(what);
  }
  actions_.push_back(std::move(order));
}

// Its job is over: what is left of it unpublished will stay so.
void ExecutorMachine::OnForgetTemplate(uint64_t id) {
  auto found = templates_.find(id);
  if (found == templates_.end()) return;
  const RunTemplate& gone = *found->second;
  std::vector<AttemptId> superseded;
  for (const auto& [attempt, held] : table_.all()) {
    // The number alone would not do: it may have meant another one on an earlier connection.
    if (held.phase == Phase::kAcknowledged && held.template_id == id &&
        held.what->out_dir == gone.out_dir && held.what->cwd == gone.cwd) {
      superseded.push_back(attempt);
    }
  }
  for (AttemptId attempt : superseded) {
    HeldAttempt& held = *table_.Find(attempt);
    actions_.push_back(DiscardOutput{attempt, held.what, held.out_name});
    table_.Forget(held, Past::kAcknowledged);
  }
  templates_.erase(found);
}

void ExecutorMachine::OnPublished(AttemptId id, uint32_t send, Now now) {
  if (left_) return;
  last_ended_ = now.boot;
  unsent_.published.push_back({id, send});
  if (HeldAttempt* held = table_.Find(id)) {
    table_.Forget(*held, Past::kPublished);
  } else {
    table_.RememberPublished(id, send);
  }
  Settle(now);
}

void ExecutorMachine::OnPublishFailed(AttemptId id, uint32_t send, int error_number,
                                      std::string what_failed, Now now) {
  if (left_) return;
  unsent_.publish_failed.push_back({{id, send}, error_number, std::move(what_failed)});
  HeldAttempt* held = table_.Find(id);
  if (held != nullptr && held->phase == Phase::kFinished) OnAck({id, send}, now);
  Settle(now);
}

void ExecutorMachine::Drop(HeldAttempt& held, uint32_t send) {
  table_.SetSend(held, std::max(send, held.send));
  unsent_.dropped.push_back({held.id, held.send});
  table_.Forget(held, Past::kDropped);
}

void ExecutorMachine::Stop(HeldAttempt& held, StopCause cause, Duration grace, Now now) {
  grace = std::max(grace, Duration{0});
  BootTime kill_at = now.boot + grace;
  if (held.phase == Phase::kStopping && kill_at >= held.kill_at) return;
  held.kill_at = kill_at;
  table_.SetPhase(held, Phase::kStopping);
  SetAlarm(held);
  actions_.push_back(StopRunning{held.id, cause, grace});
}

void ExecutorMachine::StartWhatFits(Now now) {
  if (drain_ || now.boot >= lease_end_) return;
  while (HeldAttempt* next = table_.NextThatFits()) {
    table_.SetPhase(*next, Phase::kStarting);
    actions_.push_back(
        StartAttempt{next->id, next->what, next->index, std::move(next->item), next->out_name});
  }
}

void ExecutorMachine::OnProgramStarted(AttemptId id, int64_t pid, WallTime started, Now now) {
  HeldAttempt* held = table_.Find(id);
  if (left_ || held == nullptr) return;
  CHECK(held->phase == Phase::kStarting || held->phase == Phase::kStopping);
  held->pid = pid;
  held->started = started;
  if (held->phase == Phase::kStarting) table_.SetPhase(*held, Phase::kRunning);
  if (held->what->time_limit.count() > 0) held->limit_at = now.boot + held->what->time_limit;
  SetAlarm(*held);
  SayStarted(*held, now.boot);
  Settle(now);
}

void ExecutorMachine::OnProgramEnded(AttemptId id, const ExitFacts& facts, int64_t pid, Now now) {
  HeldAttempt* held = table_.Find(id);
  if (left_ || held == nullptr) return;
  CHECK(held->phase == Phase::kStarting || held->phase == Phase::kRunning ||
        held->phase == Phase::kStopping);
  if (pid != 0) held->pid = pid;
  Finish(*held, facts, now);
  Settle(now);
}

void ExecutorMachine::Finish(HeldAttempt& held, const ExitFacts& facts, Now now) {
  ClearAlarm(held);
  held.started_unsaid = false;
  held.facts = facts;
  last_ended_ = now.boot;
  table_.SetPhase(held, Phase::kFinished);
  SayEnded(held);
  if (!held.what->out_dir.empty() && !Succeeded(facts)) {
    actions_.push_back(DiscardOutput{held.id, held.what, held.out_name});
  }
}

void ExecutorMachine::OnAskedToLeave(Duration grace, std::string why, Now now) {
  if (left_) return;
  Duration patience = std::min<Duration>(std::max<Duration>(grace, std::chrono::seconds(1)),
                                         std::chrono::seconds(10));
  BeginDrain({std::move(why), now.boot + grace, grace, patience});
  Settle(now);
}

void ExecutorMachine::OnTime(Now now) {
  if (left_) return;
  CheckContact(now);
  Settle(now);
}

void ExecutorMachine::Settle(Now now) {
  if (left_) return;
  FireAlarms(now);
  StartWhatFits(now);
  CheckLeave(now);
}

std::vector<Action> ExecutorMachine::TakeActions() { return std::exchange(actions_, {}); }

}  // namespace muster::executor
