// Service: everything that can be asked of or told to a controller, as plain calls. The doors (server)
// translate requests into these calls and decide nothing. Two implementations: Controller (live) and
// Catalog (stores opened read-only; commands are refused).
//
// Core thread only. Callbacks run on the same thread, possibly before the call returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/job_spec.h"
#include "model/view.h"

namespace muster::control {

// Who asks. `admin` may see and cancel everything.
struct Caller {
  std::string user;
  bool admin = true;
};

struct SubmitCall {
  Caller caller;
  // Chosen by the client; a repeat with the same id is answered with the same job. Empty: none.
  std::string request_id;
  std::shared_ptr<const JobSpec> spec;
  size_t body_bytes = 0;  // what it will take in the journal, about
};
struct SubmitAnswer {
  JobId job;
  bool repeated = false;
};
struct CancelCall {
  Caller caller;
  JobId job;
  // Ranges [first, last] of task numbers; empty: the whole job.
  std::vector<std::pair<uint32_t, uint32_t>> tasks;
  bool abandon = false;
};
struct CancelAnswer {
  uint64_t ended = 0;     // ended at once
  uint64_t stopping = 0;  // their end is awaited
};

struct JobQuery {
  // Active jobs and what ended at or after this; nothing: active ones only.
  std::optional<WallTime> ended_since;
  // Continue after this job (newest first).
  std::optional<JobId> after;
  size_t limit = 50;
};
struct TaskQuery {
  std::optional<TaskState> state;
  std::optional<EndKind> ended_as;
  bool failed_only = false;
  std::string spec;       // name of a TaskSpec; empty: all
  uint32_t from = 1;      // first task number to look at
  size_t limit = 50;
};

// Where the output of an attempt lies.
struct OutputPlace {
  AttemptId attempt;
  std::string dir;         // folder of segments, on this machine
  bool attempt_ended = false;
  bool task_ended = false;
};

// What a watcher is told. Coalesced: a slow watcher sees fewer, newer ones.
struct JobEvent {
  enum class Kind : uint8_t { kChanged, kTasksDone };
  Kind kind = Kind::kChanged;
  JobId job;
  // kTasksDone: tasks whose result is final, in order.
  uint32_t first_task = 0;
  uint32_t count = 0;
};

struct LaunchSummary {
  LaunchId id;
  std::string cluster;
  ExecutorId executor;
  LaunchState state = LaunchState::kPlanned;
  std::string external_id;
  std::string reason;
};

class Service {
 public:
  virtual ~Service() = default;

  virtual ServerView Server() const = 0;

  // Answers when the job is durable. Errors: kInvalidArgument (nothing could ever run it, with the
  // figures), kResourceExhausted (the store's disk is full), kUnavailable (stopping, read-only).
  virtual void Submit(SubmitCall call, std::function<void(Result<SubmitAnswer>)> done) = 0;
  // Answers when the wish is durable, not when all have ended.
  virtual void Cancel(CancelCall call, std::function<void(Result<CancelAnswer>)> done) = 0;

  // Jobs whose id does not exist: kNotFound with the id.
  virtual Page<JobView> ListJobs(const JobQuery& query) const = 0;
  virtual Result<JobView> GetJob(JobId job) const = 0;
  virtual Result<std::shared_ptr<const JobSpec>> GetSpec(JobId job) const = 0;
  virtual Result<Page<TaskView>> ListTasks(JobId job, const TaskQuery& query) const = 0;
  virtual Result<TaskDetail> GetTask(TaskId task) const = 0;
  // "500", "count.7", "count" (if it is one task): the part of an id behind "j12.".
  virtual Result<TaskId> ResolveTask(JobId job, std::string_view text) const = 0;
  virtual Result<WhyView> Why(TaskId task) const = 0;
  virtual Page<ExecutorView> ListExecutors() const = 0;
  virtual std::vector<LaunchSummary> ListLaunches() const = 0;
  // Of attempt `n`, or the last one. kUnavailable: nothing was started yet (the message says why).
  virtual Result<OutputPlace> FindOutput(TaskId task, std::optional<uint32_t> n) const = 0;
  virtual std::optional<JobId> LastJob() const = 0;

  // Calls `on_event` for each change of the job from now on, until Unwatch. The job may not exist yet.
  using WatchId = uint64_t;
  virtual WatchId Watch(JobId job, std::function<void(const JobEvent&)> on_event) = 0;
  virtual void Unwatch(WatchId id) = 0;

  // Prometheus text format, names muster_*.
  virtual std::string Metrics() const = 0;
};

// The door for executors; only a live controller has one.
class ExecutorChannel {
 public:
  virtual ~ExecutorChannel() = default;
  virtual void Send(std::string frame) = 0;   // one FromController
  virtual void Close(const std::string& why) = 0;
  virtual size_t pending_bytes() const = 0;
};
class ExecutorDoor {
 public:
  virtual ~ExecutorDoor() = default;
  using ChannelId = uint64_t;
  virtual ChannelId Connected(std::shared_ptr<ExecutorChannel> channel) = 0;
  virtual void Frame(ChannelId channel, std::string_view frame) = 0;  // one FromExecutor
  virtual void Closed(ChannelId channel) = 0;
};

}  // namespace muster::control
