#include "control/controller.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "control/queries.h"
#include "core/apply.h"

namespace muster::control {
namespace {

constexpr Duration kRetryWrite = std::chrono::milliseconds(100);
constexpr size_t kRecalledJobs = 16;

Error Stopping() {
  return Error{ErrorCode::kUnavailable, ErrorOwner::kOperator,
               "the controller is stopping; try again when it is back", ""};
}

}  // namespace

Controller::Controller(Loop& loop, store::Store& store, store::Archive* archive, core::State state,
                       ControllerOptions options)
    : loop_(loop),
      store_(store),
      archive_(archive),
      state_(std::move(state)),
      options_(std::move(options)),
      started_(loop.ReadClock().wall),
      sessions_(store.store_id(), options_.contact, [this](core::Input input) { Take(std::move(input)); }),
      launches_(loop, options_.clusters, [this](core::Input input) { Take(std::move(input)); }) {}

Controller::~Controller() {
  if (timer_) loop_.CancelTimer(*timer_);
  store_.OnDurable(nullptr);
  store_.OnFatal(nullptr);
}

Status Controller::Start() {
  std::weak_ptr<bool> alive = alive_;
  store_.OnDurable([this, alive](store::Position position) {
    if (alive.lock()) OnDurable(position);
  });
  store_.OnFatal([this, alive](const Error& error) {
    if (alive.lock()) Fail(error);
  });
  epoch_ = store_.epoch();
  sessions_.SetEpoch(epoch_);
  core::Facts facts;
  facts.emplace_back(core::ControllerStarted{epoch_, loop_.ReadClock().wall, options_.boot_id});
  core::Apply(state_, facts.front());
  auto position = store_.Append(facts);
  if (!position.ok()) return std::move(position).error().WithContext("start the controller");
  core::ConfigureClusters configure;
  for (const Cluster& cluster : options_.clusters) configure.clusters.push_back(cluster.settings);
  configure.default_cluster = options_.default_cluster;
  configure.store_id = store_.store_id();
  configure.first_job = options_.first_job;
  Take(std::move(configure));
  launches_.StartWatching();
  return Status::Ok();
}

void Controller::Take(core::Input input) {
  if (dead_) return;
  inputs_.push_back(std::move(input));
  SchedulePass();
}

void Controller::SchedulePass() {
  if (pass_scheduled_ || dead_) return;
  pass_scheduled_ = true;
  // Behind everything that is ready now: all of it becomes one batch.
  loop_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) RunPass();
  });
}

void Controller::RunPass() {
  pass_scheduled_ = false;
  if (dead_ || unwritten_) return;  // what waits for the disk goes first
  std::vector<core::Input> inputs;
  inputs.swap(inputs_);
  facts_.clear();
  effects_.clear();
  core::Step(state_, inputs, loop_.ReadClock(), facts_, effects_);
  ++counters_.passes;
  counters_.inputs += inputs.size();
  CountFacts(facts_);
  if (!Write(facts_, effects_)) {
    unwritten_.emplace(Unwritten{std::move(facts_), std::move(effects_)});
    loop_.RunAfter(kRetryWrite, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) RetryWrite();
    });
    return;
  }
  MaybeSnapshot();
  ArmTimer();
}

bool Controller::Write(core::Facts& facts, core::Effects& effects) {
  store::Position position = store_.written();
  if (!facts.empty()) {
    auto appended = store_.Append(facts);
    if (!appended.ok()) {
      ++counters_.write_failures;
      if (!unwritten_) LogError("journal: {}; trying again", appended.error().ToString());
      unwritten_why_ = appended.error().ToString();
      return false;
    }
    position = *appended;
  }
  effect_queue_.AddWritten(position, std::move(effects),
                           [this](core::EffectBody&& body) { CarryOut(std::move(body)); });
  effects.clear();
  sessions_.Flush();
  if (effect_queue_.waiting() > 0) store_.Hurry();
  return true;
}

void Controller::RetryWrite() {
  if (!unwritten_ || dead_) return;
  if (!Write(unwritten_->facts, unwritten_->effects)) {
    loop_.RunAfter(kRetryWrite, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) RetryWrite();
    });
    return;
  }
  LogWarning("journal: writing again");
  unwritten_.reset();
  unwritten_why_.clear();
  SchedulePass();
}

void Controller::OnDurable(store::Position position) {
  if (dead_) return;
  effect_queue_.ReleaseDurable(position,
                               [this](core::EffectBody&& body) { CarryOut(std::move(body)); });
  sessions_.Flush();
}

void Controller::CarryOut(core::EffectBody&& body) {
  if (auto* run = std::get_if<core::RunAttempts>(&body)) {
    auto spec = state_.SpecOf(run->tasks.job);
    auto place = state_.PlaceOf({run->tasks.job, run->tasks.first});
    if (spec == nullptr || !place) return;
    sessions_.Run(*run, *spec, place->spec, run->tasks.first - place->position);
  } else if (auto* publish = std::get_if<core::PublishAttempt>(&body)) {
    TaskId task = publish->attempt.task;
    auto spec = state_.SpecOf(task.job);
    auto place = state_.PlaceOf(task);
    if (spec == nullptr || !place) return;
    sessions_.Publish(*publish, *spec, place->spec, task.number - place->position);
  } else if (auto* ack = std::get_if<core::AckAttempt>(&body)) {
    sessions_.Ack(*ack);
  } else if (auto* stop = std::get_if<core::StopAttempt>(&body)) {
    sessions_.Stop(*stop);
  } else if (auto* recall = std::get_if<core::RecallAttempt>(&body)) {
    sessions_.Recall(*recall);
  } else if (auto* welcome = std::get_if<core::WelcomeExecutor>(&body)) {
    sessions_.Welcome(*welcome);
  } else if (auto* ask = std::get_if<core::AskHeld>(&body)) {
    sessions_.AskHeld(*ask);
  } else if (auto* drain = std::get_if<core::DrainExecutor>(&body)) {
    sessions_.Drain(*drain);
  } else if (auto* submit = std::get_if<core::SubmitLaunch>(&body)) {
    launches_.Submit(*submit);
  } else if (auto* stop_launch = std::get_if<core::StopLaunch>(&body)) {
    launches_.Stop(*stop_launch);
  } else if (auto* forget = std::get_if<core::ForgetLaunch>(&body)) {
    launches_.Forget(*forget);
  } else if (auto* find = std::get_if<core::FindLaunch>(&body)) {
    launches_.Find(*find);
  } else if (auto* reply = std::get_if<core::Reply>(&body)) {
    auto it = replies_.find(reply->token);
    if (it == replies_.end()) return;
    auto answer = std::move(it->second);
    replies_.erase(it);
    answer(*reply);
  } else if (auto* changed = std::get_if<core::JobChanged>(&body)) {
    watchers_.Tell({JobEvent::Kind::kChanged, changed->job, 0, 0});
  } else if (auto* done = std::get_if<core::TasksDone>(&body)) {
    watchers_.Tell({JobEvent::Kind::kTasksDone, done->tasks.job, done->tasks.first, done->tasks.count});
  } else if (auto* store_job = std::get_if<core::StoreJob>(&body)) {
    ArchiveJob(store_job->job);
  }
}

void Controller::ArmTimer() {
  auto due = core::NextDue(state_, loop_.ReadClock());
  if (due == timer_due_ && timer_) return;
  if (timer_) loop_.CancelTimer(*timer_);
  timer_.reset();
  timer_due_ = due;
  if (!due) return;
  Duration delay = std::max(Duration(0), *due - loop_.ReadClock().wall);
  timer_ = loop_.RunAfter(delay, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.lock()) return;
    timer_.reset();
    timer_due_.reset();
    Take(core::Tick{});
  });
}

void Controller::MaybeSnapshot() {
  if (!store_.WantsSnapshot()) return;
  auto taken = store_.TakeSnapshot(state_);
  if (taken.ok()) {
    ++counters_.snapshots;
  } else if (taken.error().code != ErrorCode::kAborted) {
    LogWarning("snapshot: {}", taken.error().ToString());
  }
}

void Controller::Fail(const Error& error) {
  if (dead_) return;
  dead_ = true;
  LogError("the journal cannot be trusted any more, nothing further is promised: {}", error.ToString());
  sessions_.CloseAll("the controller's journal failed");
  for (auto& [token, reply] : std::exchange(replies_, {})) {
    core::Reply answer;
    answer.token = token;
    answer.error = Error{ErrorCode::kOutcomeUnknown, ErrorOwner::kOperator,
                         "the journal failed before this was durable", error.ToString()};
    reply(answer);
  }
  if (on_fatal_) on_fatal_(error);
}

void Controller::Stop(std::function<void()> stopped) {
  if (stopping_ || dead_) {
    stopped();
    return;
  }
  stopping_ = true;
  Take(core::StopController{});
  // The pass it causes is posted before this.
  loop_.Post([this, alive = std::weak_ptr<bool>(alive_), stopped = std::move(stopped)]() mutable {
    if (!alive.lock()) return;
    if (unwritten_) {
      LogError("stopping with facts that the disk did not take: {}", unwritten_why_);
      stopped();
      return;
    }
    launches_.Close();
    sessions_.CloseAll("the controller stops");
    store_.Finish(state_, [alive, stopped = std::move(stopped)](Status finished) {
      if (!finished.ok()) LogWarning("snapshot at stop: {}", finished.error().ToString());
      if (alive.lock()) stopped();
    });
  });
}

void Controller::CountFacts(const core::Facts& facts) {
  counters_.facts += facts.size();
  for (const core::Fact& fact : facts) {
    if (const auto* ended = std::get_if<core::TasksEnded>(&fact)) {
      counters_.tasks_ended[static_cast<size_t>(ended->reason.kind)] += ended->tasks.count;
    } else if (const auto* attempt = std::get_if<core::AttemptEnded>(&fact)) {
      ++counters_.attempts_ended[static_cast<size_t>(attempt->reason.kind)];
    } else if (std::holds_alternative<core::RetryPlanned>(fact)) {
      ++counters_.retries;
    } else if (const auto* planned = std::get_if<core::AttemptsPlanned>(&fact)) {
      if (planned->may_overlap) counters_.may_overlap += planned->tasks.count;
    } else if (std::holds_alternative<core::JobAccepted>(fact)) {
      ++counters_.jobs_submitted;
    }
  }
}

core::ReplyToken Controller::AddReply(ReplyTo reply) {
  core::ReplyToken token = next_token_++;
  replies_.emplace(token, std::move(reply));
  return token;
}

Status Controller::MayCommand() const {
  if (stopping_ || dead_) return Stopping();
  return Status::Ok();
}

void Controller::Submit(SubmitCall call, std::function<void(Result<SubmitAnswer>)> done) {
  if (auto may = MayCommand(); !may.ok()) return done(std::move(may).error());
  bool repeat = !call.request_id.empty() && state_.FindRequest(call.request_id).has_value();
  if (!repeat) {
    if (auto room = store_.HasRoomForSubmit(call.body_bytes); !room.ok()) {
      return done(std::move(room).error().WithContext("submit"));
    }
    if (unwritten_) {
      return done(Error{ErrorCode::kResourceExhausted, ErrorOwner::kOperator,
                        "submit: the journal cannot be written at present", unwritten_why_});
    }
  }
  auto token = AddReply([done = std::move(done)](const core::Reply& reply) {
    if (reply.error) return done(*reply.error);
    done(SubmitAnswer{reply.job, reply.repeated});
  });
  Take(core::SubmitJob{token, std::move(call.request_id), std::move(call.spec), call.caller.user});
}

void Controller::Cancel(CancelCall call, std::function<void(Result<CancelAnswer>)> done) {
  if (auto may = MayCommand(); !may.ok()) return done(std::move(may).error());
  auto view = state_.ViewJob(call.job);
  if (!view) {
    if (GetJob(call.job).ok()) return done(CancelAnswer{});  // ended long ago
    return done(NoSuchJob(call.job));
  }
  if (!call.caller.admin && call.caller.user != view->owner) {
    return done(UserError(ErrorCode::kPermissionDenied,
                          fmt::format("job {} belongs to {}", Render(call.job), view->owner)));
  }
  core::CancelTasks input;
  input.job = call.job;
  input.by = call.caller.user;
  input.abandon = call.abandon;
  uint64_t total = state_.SpecOf(call.job)->task_count();
  for (auto [first, last] : call.tasks) {
    if (first == 0 || first > last || last > total) {
      return done(UserError(ErrorCode::kInvalidArgument,
                            fmt::format("job {} has tasks 1 to {}, not {}-{}", Render(call.job), total,
                                        first, last)));
    }
    input.tasks.push_back({call.job, first, last - first + 1});
  }
  input.token = AddReply([done = std::move(done)](const core::Reply& reply) {
    if (reply.error) return done(*reply.error);
    done(CancelAnswer{reply.ended, reply.stopping});
  });
  Take(std::move(input));
}

void Controller::ArchiveJob(JobId job) {
  if (archive_ == nullptr) return;
  core::Facts facts;
  core::DumpJob(state_, job, [&](core::Facts&& piece) {
    facts.insert(facts.end(), std::make_move_iterator(piece.begin()),
                 std::make_move_iterator(piece.end()));
  });
  auto view = state_.ViewJob(job);
  if (!view) return;
  archive_->Put(*view, std::move(facts), [this, job, alive = std::weak_ptr<bool>(alive_)](Status put) {
    if (!alive.lock()) return;
    if (put.ok()) {
      Take(core::JobStored{job});
    } else {
      LogWarning("archive {}: {}; it stays in memory", Render(job), put.error().ToString());
    }
  });
}

const core::State& Controller::StateWith(JobId job) const {
  if (archive_ == nullptr || state_.SpecOf(job) != nullptr) return state_;
  for (const auto& [id, state] : recalled_) {
    if (id == job) return state;
  }
  auto facts = archive_->Get(job);
  if (!facts.ok() || !*facts) return state_;
  core::State recalled;
  for (const core::Fact& fact : **facts) core::Apply(recalled, fact);
  recalled_.emplace_back(job, std::move(recalled));
  if (recalled_.size() > kRecalledJobs) recalled_.pop_front();
  return recalled_.back().second;
}

// -- reading

Page<JobView> Controller::ListJobs(const JobQuery& query) const {
  return control::ListJobs(state_, query);
}
Result<JobView> Controller::GetJob(JobId job) const { return control::GetJob(StateWith(job), job); }
Result<std::shared_ptr<const JobSpec>> Controller::GetSpec(JobId job) const {
  auto spec = StateWith(job).SpecOf(job);
  if (spec == nullptr) return NoSuchJob(job);
  return spec;
}
Result<Page<TaskView>> Controller::ListTasks(JobId job, const TaskQuery& query) const {
  return control::ListTasks(StateWith(job), job, query);
}
Result<TaskDetail> Controller::GetTask(TaskId task) const {
  return control::GetTask(StateWith(task.job), task, loop_.ReadClock());
}
Result<TaskId> Controller::ResolveTask(JobId job, std::string_view text) const {
  return control::ResolveTask(StateWith(job), job, text);
}
Result<WhyView> Controller::Why(TaskId task) const {
  return control::GetWhy(StateWith(task.job), task, loop_.ReadClock());
}
Page<ExecutorView> Controller::ListExecutors() const {
  Page<ExecutorView> page;
  page.items = state_.ViewExecutors();
  page.total = page.items.size();
  return page;
}
std::vector<LaunchSummary> Controller::ListLaunches() const {
  std::vector<LaunchSummary> all;
  for (auto& view : state_.ViewLaunches()) {
    all.push_back({view.id, view.cluster, view.executor, view.state, view.external_id, view.reason});
  }
  return all;
}
Result<OutputPlace> Controller::FindOutput(TaskId task, std::optional<uint32_t> n) const {
  auto place = control::FindOutput(StateWith(task.job), task, n, loop_.ReadClock());
  // An archived job does not know the executors; the live state may.
  return place;
}
std::optional<JobId> Controller::LastJob() const {
  auto ids = state_.ListJobs(WallTime{0}, std::nullopt, 1);
  if (ids.empty()) return std::nullopt;
  return ids.front();
}
Service::WatchId Controller::Watch(JobId job, std::function<void(const JobEvent&)> on_event) {
  return watchers_.Add(job, std::move(on_event));
}
void Controller::Unwatch(WatchId id) { watchers_.Remove(id); }

ServerView Controller::Server() const {
  ServerView view;
  view.version = options_.version;
  view.store_id = store_.store_id();
  view.epoch = epoch_;
  view.pid = options_.pid;
  view.started = started_;
  view.jobs_active = state_.jobs_active();
  view.state_dir = options_.state_dir;
  return view;
}

// -- executors

ExecutorDoor::ChannelId Controller::Connected(std::shared_ptr<ExecutorChannel> channel) {
  return sessions_.Connected(std::move(channel));
}
void Controller::Frame(ChannelId channel, std::string_view frame) { sessions_.Frame(channel, frame); }
void Controller::Closed(ChannelId channel) { sessions_.Closed(channel); }

}  // namespace muster::control
