// Controller: feeds core, journals, then acts.
//
// A pass takes every input that has come since the last one, lets core decide (core::Step), appends the
// facts to the journal in one record, and hands effects over when their position is written or durable.
// An idle controller handles one message at once; a busy one takes all that came during its last pass as
// the next batch.
//
// Lives on one Loop (the core thread): every call below is made there. Owns the state; borrows loop, store
// and clusters, which outlive it.
//
//     Controller controller(loop, store, std::move(opened.state), std::move(options));
//     RETURN_IF_ERROR(controller.Start());
//     ... loop runs ...
//     controller.Stop([&] { loop.Stop(); });
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "control/effect_queue.h"
#include "control/executor_sessions.h"
#include "control/launch_calls.h"
#include "control/service.h"
#include "control/watchers.h"
#include "core/step.h"
#include "store/archive.h"
#include "store/store.h"

namespace muster::control {

struct ControllerOptions {
  std::string version;
  std::string state_dir;
  std::string default_cluster;
  uint64_t first_job = 1;
  std::vector<Cluster> clusters;
  ContactSettings contact;
  std::string boot_id;
  int64_t pid = 0;
};

class Controller final : public Service, public ExecutorDoor {
 public:
  // `archive` may be null: nothing is archived then.
  Controller(Loop& loop, store::Store& store, store::Archive* archive, core::State state,
             ControllerOptions options);
  ~Controller() override;

  // Journals the start of this epoch and begins to decide. Fails when the journal cannot take it.
  Status Start();
  // Stops deciding, journals a clean stop, takes a snapshot, closes executor connections (executors and
  // their tasks go on). `stopped` is called once all is durable, or cannot be.
  void Stop(std::function<void()> stopped);
  // The journal failed for good (a failed fdatasync): nothing may be promised any more. Called once.
  void OnFatal(std::function<void(const Error&)> on_fatal) { on_fatal_ = std::move(on_fatal); }

  const core::State& state() const { return state_; }
  // What would be looked at next; for tests and simulations that want to run a pass by hand.
  bool idle() const { return inputs_.empty() && !pass_scheduled_; }

  // -- Service
  ServerView Server() const override;
  void Submit(SubmitCall call, std::function<void(Result<SubmitAnswer>)> done) override;
  void Cancel(CancelCall call, std::function<void(Result<CancelAnswer>)> done) override;
  Page<JobView> ListJobs(const JobQuery& query) const override;
  Result<JobView> GetJob(JobId job) const override;
  Result<std::shared_ptr<const JobSpec>> GetSpec(JobId job) const override;
  Result<Page<TaskView>> ListTasks(JobId job, const TaskQuery& query) const override;
  Result<TaskDetail> GetTask(TaskId task) const override;
  Result<TaskId> ResolveTask(JobId job, std::string_view text) const override;
  Result<WhyView> Why(TaskId task) const override;
  Page<ExecutorView> ListExecutors() const override;
  std::vector<LaunchSummary> ListLaunches() const override;
  Result<OutputPlace> FindOutput(TaskId task, std::optional<uint32_t> n) const override;
  std::optional<JobId> LastJob() const override;
  WatchId Watch(JobId job, std::function<void(const JobEvent&)> on_event) override;
  void Unwatch(WatchId id) override;
  std::string Metrics() const override;

  // -- ExecutorDoor
  ChannelId Connected(std::shared_ptr<ExecutorChannel> channel) override;
  void Frame(ChannelId channel, std::string_view frame) override;
  void Closed(ChannelId channel) override;

 private:
  using ReplyTo = std::function<void(const core::Reply&)>;
  struct Unwritten {
    core::Facts facts;
    core::Effects effects;
  };

  void Take(core::Input input);
  void SchedulePass();
  void RunPass();
  bool Write(core::Facts& facts, core::Effects& effects);
  void RetryWrite();
  void CarryOut(core::EffectBody&& body);
  void ArchiveJob(JobId job);
  void ArmTimer();
  void OnDurable(store::Position position);
  void Fail(const Error& error);
  void MaybeSnapshot();
  void CountFacts(const core::Facts& facts);
  core::ReplyToken AddReply(ReplyTo reply);
  Status MayCommand() const;
  // The job wherever it is: the live state or, packed, the archive.
  const core::State& StateWith(JobId job) const;

  Loop& loop_;
  store::Store& store_;
  store::Archive* const archive_;
  core::State state_;
  const ControllerOptions options_;
  const WallTime started_;
  uint64_t epoch_ = 0;

  std::vector<core::Input> inputs_;
  core::Facts facts_;
  core::Effects effects_;
  bool pass_scheduled_ = false;
  std::optional<Unwritten> unwritten_;
  std::string unwritten_why_;
  EffectQueue effect_queue_;
  ExecutorSessions sessions_;
  LaunchCalls launches_;
  Watchers watchers_;
  std::unordered_map<core::ReplyToken, ReplyTo> replies_;
  core::ReplyToken next_token_ = 1;
  std::optional<Loop::TimerId> timer_;
  std::optional<WallTime> timer_due_;
  bool stopping_ = false;
  bool dead_ = false;
  std::function<void(const Error&)> on_fatal_;
  // Jobs read back from the archive; small, the oldest is dropped.
  mutable std::deque<std::pair<JobId, core::State>> recalled_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  struct Counters {
    uint64_t passes = 0;
    uint64_t inputs = 0;
    uint64_t facts = 0;
    uint64_t snapshots = 0;
    uint64_t write_failures = 0;
    uint64_t attempts_adopted = 0;
    uint64_t may_overlap = 0;
    std::array<uint64_t, kEndKinds> tasks_ended{};
    std::array<uint64_t, kEndKinds> attempts_ended{};
    uint64_t retries = 0;
    uint64_t jobs_submitted = 0;
  } counters_;
};

}  // namespace muster::control
