#include "control/executor_sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "wire/executor.pb.h"

namespace muster::control {
namespace {

using executor::v1::FromController;
using executor::v1::FromExecutor;

constexpr uint32_t kProtocol = 1;

AttemptId ToAttemptId(const executor::v1::AttemptRef& ref) {
  return {{{ref.job()}, ref.task()}, ref.n()};
}

void FillRef(executor::v1::AttemptRef* ref, AttemptId attempt, uint32_t send) {
  ref->set_job(attempt.task.job.number);
  ref->set_task(attempt.task.number);
  ref->set_n(attempt.n);
  ref->set_send(send);
}

AttemptState ToPhase(executor::v1::Held::Phase phase) {
  switch (phase) {
    case executor::v1::Held::STARTING: return AttemptState::kStarting;
    case executor::v1::Held::RUNNING: return AttemptState::kRunning;
    case executor::v1::Held::STOPPING: return AttemptState::kStopping;
    default: return AttemptState::kSent;
  }
}

core::HeldAttempt ToHeld(const executor::v1::Held& held) {
  return {ToAttemptId(held.attempt()), held.attempt().send(), ToPhase(held.phase()), held.pid(),
          {held.started_us()}};
}

StopCause ToCause(executor::v1::Ended::Cause cause) {
  switch (cause) {
    case executor::v1::Ended::TIME_LIMIT: return StopCause::kTimeLimit;
    case executor::v1::Ended::CANCELLED: return StopCause::kCancelled;
    case executor::v1::Ended::DRAINING: return StopCause::kDraining;
    default: return StopCause::kNone;
  }
}

executor::v1::Ended::Cause FromCause(StopCause cause) {
  switch (cause) {
    case StopCause::kTimeLimit: return executor::v1::Ended::TIME_LIMIT;
    case StopCause::kCancelled: return executor::v1::Ended::CANCELLED;
    case StopCause::kDraining: return executor::v1::Ended::DRAINING;
    case StopCause::kNone: break;
  }
  return executor::v1::Ended::NONE;
}

ExitFacts::How ToHow(executor::v1::Ended::How how) {
  switch (how) {
    case executor::v1::Ended::EXITED: return ExitFacts::How::kExited;
    case executor::v1::Ended::SIGNALLED: return ExitFacts::How::kSignalled;
    case executor::v1::Ended::NOT_STARTED: return ExitFacts::How::kNotStarted;
    default: return ExitFacts::How::kLost;
  }
}

core::FinishedAttempt ToFinished(const executor::v1::Ended& ended) {
  core::FinishedAttempt finished;
  finished.attempt = ToAttemptId(ended.attempt());
  finished.send = ended.attempt().send();
  finished.pid = ended.pid();
  ExitFacts& facts = finished.facts;
  facts.how = ToHow(ended.how());
  facts.code = ended.code();
  facts.what_failed = ended.what_failed();
  facts.stop_cause = ToCause(ended.stop_cause());
  facts.started = {ended.started_us()};
  facts.wall = Duration(ended.wall_us());
  facts.user_cpu = Duration(ended.user_us());
  facts.system_cpu = Duration(ended.system_us());
  facts.max_rss = {ended.max_rss()};
  facts.left_behind = ended.left_behind();
  facts.output_bytes = ended.output_bytes();
  facts.output_dropped = ended.output_dropped();
  return finished;
}

core::ExecutorRegistered ToRegistered(const executor::v1::Hello& hello) {
  core::ExecutorRegistered who;
  who.executor = {hello.executor()};
  who.launch = {hello.launch()};
  who.incarnation = hello.incarnation();
  who.host = hello.host();
  who.boot_id = hello.boot_id();
  who.pid = hello.pid();
  who.capacity.cpus = {hello.capacity().milli_cpus()};
  who.capacity.memory = {hello.capacity().memory()};
  who.capacity.gpus = hello.capacity().gpus();
  for (const auto& named : hello.capacity().named()) {
    who.capacity.named.emplace_back(named.name(), named.amount());
  }
  std::sort(who.capacity.named.begin(), who.capacity.named.end());
  who.max_attempts = hello.capacity().max_attempts();
  for (const auto& label : hello.labels()) who.labels.emplace_back(label.key(), label.value());
  who.output_dir = hello.output_dir();
  return who;
}

uint64_t TemplateId(JobId job, uint32_t spec_index) {
  return (job.number << 32) | spec_index;
}

void FillTemplate(executor::v1::Template* out, uint64_t id, const JobSpec& job,
                  const TaskSpec& task) {
  out->set_id(id);
  if (const auto* shell = std::get_if<ShellCommand>(&task.command)) {
    out->set_shell(shell->text);
  } else {
    for (const std::string& argument : std::get<ExecCommand>(task.command).argv) {
      out->mutable_exec()->add_arg(argument);
    }
  }
  for (const auto* env : {&job.env, &task.env}) {
    for (const auto& [key, value] : *env) {
      auto* label = out->add_env();
      label->set_key(key);
      label->set_value(value);
    }
  }
  out->set_cwd(task.cwd.empty() ? job.cwd : task.cwd);
  if (task.time_limit) out->set_time_limit_us(task.time_limit->count());
  out->set_grace_us(task.grace.count());
  out->set_memory_limit(task.memory_limit.value_or(task.request.memory).value);
  out->set_milli_cpus(task.request.cpus.value);
  out->set_job_name(job.name);
  out->set_task_name(task.name);
  out->set_once(task.once);
  if (UsesOut(task)) out->set_out_dir("out/" + PathSafeName(task.name));
}

}  // namespace

struct ExecutorSessions::Session {
  ExecutorDoor::ChannelId id = 0;
  std::shared_ptr<ExecutorChannel> channel;
  ExecutorId executor;
  std::string incarnation;
  bool said_hello = false;
  bool welcomed = false;
  bool dirty = false;
  bool closing = false;
  FromController out;
  std::unordered_set<uint64_t> templates;
};

ExecutorSessions::ExecutorSessions(std::string store_id, ContactSettings settings,
                                   TakeInput take_input)
    : store_id_(std::move(store_id)), settings_(settings), take_input_(std::move(take_input)) {}

ExecutorSessions::~ExecutorSessions() = default;

ExecutorDoor::ChannelId ExecutorSessions::Connected(std::shared_ptr<ExecutorChannel> channel) {
  auto session = std::make_unique<Session>();
  session->id = next_id_++;
  session->channel = std::move(channel);
  auto id = session->id;
  sessions_.emplace(id, std::move(session));
  return id;
}

void ExecutorSessions::Frame(ExecutorDoor::ChannelId id, std::string_view bytes) {
  auto it = sessions_.find(id);
  if (it == sessions_.end() || it->second->closing) return;
  Session& session = *it->second;
  ++frames_in_;
  FromExecutor frame;
  if (bytes.size() > INT32_MAX || !frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    Refuse(session, fmt::format("a frame of {} bytes cannot be read", bytes.size()));
    return;
  }
  if (frame.has_hello()) {
    TakeHello(session, frame.hello());
    return;
  }
  if (!session.welcomed) {
    Refuse(session, "a report before hello was answered");
    return;
  }
  TakeReports(session, frame);
}

void ExecutorSessions::TakeHello(Session& session, const executor::v1::Hello& hello) {
  if (session.said_hello) {
    Refuse(session, "hello was said already on this connection");
    return;
  }
  session.said_hello = true;
  session.executor = {hello.executor()};
  session.incarnation = hello.incarnation();
  if (hello.protocol() != kProtocol) {
    Refuse(session, fmt::format("executor {} speaks protocol {}, this controller {}",
                                Render(session.executor), hello.protocol(), kProtocol));
    return;
  }
  if (hello.store_id() != store_id_) {
    Refuse(session, fmt::format("executor {} belongs to store {}, this is {}",
                                Render(session.executor), hello.store_id(), store_id_));
    return;
  }
  core::ExecutorHello input;
  input.who = ToRegistered(hello);
  for (const auto& held : hello.held()) input.held.push_back(ToHeld(held));
  for (const auto& ended : hello.finished()) input.finished.push_back(ToFinished(ended));
  take_input_(std::move(input));
}

void ExecutorSessions::TakeReports(Session& session, const FromExecutor& frame) {
  core::ExecutorReport report;
  report.executor = session.executor;
  auto refs = [](const auto& from, std::vector<std::pair<AttemptId, uint32_t>>& to) {
    to.reserve(static_cast<size_t>(from.size()));
    for (const auto& ref : from) to.emplace_back(ToAttemptId(ref), ref.send());
  };
  for (const auto& started : frame.started()) {
    report.started.push_back({ToAttemptId(started.attempt()), started.attempt().send(),
                              AttemptState::kRunning, started.pid(), {started.started_us()}});
  }
  report.ended.reserve(static_cast<size_t>(frame.ended_size()));
  for (const auto& ended : frame.ended()) report.ended.push_back(ToFinished(ended));
  refs(frame.dropped(), report.dropped);
  refs(frame.published(), report.published);
  refs(frame.unknown(), report.unknown);
  for (const auto& failure : frame.publish_failed()) {
    report.publish_failed.push_back({ToAttemptId(failure.attempt()), failure.attempt().send(),
                                     failure.error_number(), failure.what_failed()});
  }
  report.drained = frame.drained();
  if (frame.held_size() > 0 || session.out.send_held()) {
    core::ExecutorHolds holds{session.executor, {}};
    for (const auto& held : frame.held()) holds.held.push_back(ToHeld(held));
    if (!holds.held.empty()) take_input_(std::move(holds));
  }
  bool says_something = !report.started.empty() || !report.ended.empty() ||
                        !report.dropped.empty() || !report.published.empty() ||
                        !report.unknown.empty() || !report.publish_failed.empty() || report.drained;
  if (says_something) take_input_(std::move(report));
  if (frame.has_heartbeat()) {
    take_input_(core::ExecutorBeat{session.executor, frame.heartbeat().held_count(),
                                   frame.heartbeat().held_hash()});
    if (auto* out = Outgoing(session.executor)) {
      out->set_heartbeat_echo_us(frame.heartbeat().sent_boot_us());
    }
  }
}

void ExecutorSessions::Closed(ExecutorDoor::ChannelId id) {
  auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  Session* session = it->second.get();
  auto bound = bound_.find(session->executor);
  if (bound != bound_.end() && bound->second == session) {
    bound_.erase(bound);
    take_input_(core::ExecutorDisconnected{session->executor});
  }
  std::erase(dirty_, session);
  sessions_.erase(it);
}

void ExecutorSessions::Refuse(Session& session, const std::string& why) {
  LogWarning("executor connection refused: {}", why);
  FromController frame;
  frame.set_epoch(epoch_);
  frame.mutable_refusal()->set_why(why);
  session.closing = true;
  session.channel->Send(frame.SerializeAsString());
  session.channel->Close(why);
}

void ExecutorSessions::Welcome(const core::WelcomeExecutor& effect) {
  // The newest connection that said this hello; an older one of the same incarnation is stale.
  Session* chosen = nullptr;
  for (auto& [id, session] : sessions_) {
    if (session->closing || session->welcomed || !session->said_hello) continue;
    if (session->executor != effect.executor || session->incarnation != effect.incarnation) continue;
    if (chosen == nullptr || session->id > chosen->id) chosen = session.get();
  }
  if (chosen == nullptr) return;
  if (!effect.refusal.empty()) {
    FromController frame;
    frame.set_epoch(epoch_);
    frame.mutable_refusal()->set_why(effect.refusal);
    frame.mutable_refusal()->set_leave(effect.leave);
    chosen->closing = true;
    chosen->channel->Send(frame.SerializeAsString());
    chosen->channel->Close(effect.refusal);
    return;
  }
  if (Session* old = Bound(effect.executor); old != nullptr && old != chosen) {
    old->closing = true;
    bound_.erase(effect.executor);
    old->channel->Close("a newer connection of the same executor took over");
  }
  chosen->welcomed = true;
  bound_[effect.executor] = chosen;
  auto* welcome = Outgoing(effect.executor)->mutable_welcome();
  welcome->set_epoch(epoch_);
  welcome->set_lease_us(settings_.lease.count());
  welcome->set_heartbeat_us(settings_.heartbeat.count());
  welcome->set_leave_idle_us(settings_.leave_idle.count());
  welcome->set_leave_holding_us(settings_.leave_holding.count());
  welcome->set_stop_orphaned_us(settings_.stop_orphaned.count());
}

ExecutorSessions::Session* ExecutorSessions::Bound(ExecutorId executor) {
  auto it = bound_.find(executor);
  return it == bound_.end() ? nullptr : it->second;
}

FromController* ExecutorSessions::Outgoing(ExecutorId executor) {
  Session* session = Bound(executor);
  if (session == nullptr) return nullptr;
  if (!session->dirty) {
    session->dirty = true;
    dirty_.push_back(session);
  }
  return &session->out;
}

void ExecutorSessions::EnsureTemplate(Session& session, uint64_t id, const JobSpec& spec,
                                      uint32_t spec_index) {
  if (!session.templates.insert(id).second) return;
  FillTemplate(session.out.add_templates(), id, spec, spec.tasks[spec_index]);
}

void ExecutorSessions::Run(const core::RunAttempts& effect, const JobSpec& spec,
                           uint32_t spec_index, uint32_t first_of_spec) {
  FromController* out = Outgoing(effect.executor);
  if (out == nullptr) return;
  uint64_t id = TemplateId(effect.tasks.job, spec_index);
  EnsureTemplate(*Bound(effect.executor), id, spec, spec_index);
  const TaskSpec& task = spec.tasks[spec_index];
  const auto* range = std::get_if<IndexRange>(&task.each);
  const auto* items = std::get_if<ItemList>(&task.each);
  bool uses_out = UsesOut(task);
  for (uint32_t i = 0; i < effect.tasks.count; ++i) {
    uint32_t number = effect.tasks.first + i;
    uint32_t position = number - first_of_spec;
    auto* run = out->add_runs();
    FillRef(run->mutable_attempt(), {{effect.tasks.job, number}, effect.n}, effect.send);
    run->set_template_id(id);
    run->set_index(range != nullptr ? (*range)[position] : int64_t{position} + 1);
    if (items != nullptr) {
      run->set_item(std::string((*items)[position]));
    } else if (range != nullptr) {
      run->set_item(fmt::format("{}", (*range)[position]));
    }
    if (uses_out && task.is_array()) run->set_out_name(fmt::format("{}", run->index()));
  }
}

void ExecutorSessions::Recall(const core::RecallAttempt& effect) {
  if (auto* out = Outgoing(effect.executor)) {
    FillRef(out->add_recalls(), effect.attempt, effect.send);
  }
}

void ExecutorSessions::Stop(const core::StopAttempt& effect) {
  auto* out = Outgoing(effect.executor);
  if (out == nullptr) return;
  auto* stop = out->add_stops();
  FillRef(stop->mutable_attempt(), effect.attempt, effect.send);
  stop->set_cause(FromCause(effect.cause));
  stop->set_grace_us(effect.grace.count());
}

void ExecutorSessions::Ack(const core::AckAttempt& effect) {
  if (auto* out = Outgoing(effect.executor)) {
    FillRef(out->add_acks(), effect.attempt, effect.send);
  }
}

void ExecutorSessions::Publish(const core::PublishAttempt& effect, const JobSpec& spec,
                               uint32_t spec_index, uint32_t) {
  auto* out = Outgoing(effect.executor);
  if (out == nullptr) return;
  EnsureTemplate(*Bound(effect.executor), TemplateId(effect.attempt.task.job, spec_index), spec,
                 spec_index);
  FillRef(out->add_publishes(), effect.attempt, effect.send);
}

void ExecutorSessions::AskHeld(const core::AskHeld& effect) {
  if (auto* out = Outgoing(effect.executor)) out->set_send_held(true);
}

void ExecutorSessions::Drain(const core::DrainExecutor& effect) {
  auto* out = Outgoing(effect.executor);
  if (out == nullptr) return;
  out->mutable_drain()->set_grace_us(effect.grace.count());
  out->mutable_drain()->set_why(effect.why);
}

void ExecutorSessions::ForgetJob(JobId job, size_t specs) {
  for (auto& [executor, session] : bound_) {
    if (session->templates.empty()) continue;
    for (uint32_t i = 0; i < specs; ++i) {
      uint64_t id = TemplateId(job, i);
      if (session->templates.erase(id) == 0) continue;
      if (auto* out = Outgoing(executor)) out->add_forget_templates(id);
    }
  }
}

void ExecutorSessions::Flush() {
  for (Session* session : dirty_) {
    session->dirty = false;
    if (!session->closing) {
      session->out.set_epoch(epoch_);
      session->channel->Send(session->out.SerializeAsString());
      ++frames_out_;
    }
    session->out.Clear();
  }
  dirty_.clear();
}

void ExecutorSessions::CloseAll(const std::string& why) {
  for (auto& [id, session] : sessions_) {
    session->closing = true;
    session->channel->Close(why);
  }
}

}  // namespace muster::control
