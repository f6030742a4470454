// Facts: what has been decided or has happened. The journal is a sequence of facts and nothing else;
// Apply (core/apply.h) is the only reader and the only code that changes State. A fact holds everything
// that was chosen, so that replay needs no clock, no configuration and no policy.
//
// The meaning of a fact never changes. A new meaning is a new fact.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/end_reason.h"
#include "model/exit_facts.h"
#include "model/job_spec.h"
#include "model/launch.h"
#include "model/view.h"

namespace muster::core {

// Tasks first .. first + count - 1 of one job. All belong to one TaskSpec.
struct TaskRange {
  JobId job;
  uint32_t first = 0;
  uint32_t count = 0;
  friend bool operator==(const TaskRange&, const TaskRange&) = default;
};

// A controller began with this store. Raises the epoch.
struct ControllerStarted {
  uint64_t epoch = 0;
  WallTime at;
  std::string boot_id;
  friend bool operator==(const ControllerStarted&, const ControllerStarted&) = default;
};
// It stopped in good order: every dispatch is in the journal and durable.
struct ControllerStopped {
  WallTime at;
  friend bool operator==(const ControllerStopped&, const ControllerStopped&) = default;
};

struct JobAccepted {
  JobId job;
  std::shared_ptr<const JobSpec> spec;
  std::string owner;
  std::string request_id;  // a repeat of it is answered with this job
  WallTime at;
  bool operator==(const JobAccepted& other) const {
    return job == other.job && *spec == *other.spec && owner == other.owner &&
           request_id == other.request_id && at == other.at;
  }
};
struct JobCancelRequested {
  JobId job;
  std::string by;
  WallTime at;
  friend bool operator==(const JobCancelRequested&, const JobCancelRequested&) = default;
};
// All tasks ended.
struct JobEnded {
  JobId job;
  WallTime at;
  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};
// The job now lies in the archive and leaves the live state.
struct JobArchived {
  JobId job;
  friend bool operator==(const JobArchived&, const JobArchived&) = default;
};

// Attempt n of each task of the range is assigned to this executor under this send number.
struct AttemptsPlanned {
  ExecutorId executor;
  TaskRange tasks;
  uint32_t n = 1;
  uint32_t send = 1;
  bool may_overlap = false;  // rule (d): an earlier attempt might still run
  WallTime at;
  friend bool operator==(const AttemptsPlanned&, const AttemptsPlanned&) = default;
};
struct AttemptStarted {
  AttemptId attempt;
  int64_t pid = 0;
  WallTime at;
  friend bool operator==(const AttemptStarted&, const AttemptStarted&) = default;
};
// We want it back if it has not started (priority, draining, cancel before start).
struct AttemptRecalled {
  AttemptId attempt;
  friend bool operator==(const AttemptRecalled&, const AttemptRecalled&) = default;
};
// Proof that it never started under its present send number: the task is Ready again (or, if its end
// is wanted, may end at once). The attempt number is used again with the next send number.
struct AttemptDropped {
  AttemptId attempt;
  friend bool operator==(const AttemptDropped&, const AttemptDropped&) = default;
};
struct AttemptStopping {
  AttemptId attempt;
  StopCause cause = StopCause::kCancelled;
  WallTime at;
  friend bool operator==(const AttemptStopping&, const AttemptStopping&) = default;
};
// Its end, decided from all evidence. `accepted`: it is the task's result or uses up its budget;
// otherwise it was superseded and is history only.
struct AttemptEnded {
  AttemptId attempt;
  uint32_t send = 1;
  ExecutorId executor;
  EndReason reason;
  ExitFacts facts;
  bool accepted = true;
  WallTime at;
  friend bool operator==(const AttemptEnded&, const AttemptEnded&) = default;
};
// The task goes back to Ready, but not before `not_before`; charges one retry to `charged`.
struct RetryPlanned {
  TaskId task;
  RetryClass charged = RetryClass::kNone;
  WallTime not_before;
  friend bool operator==(const RetryPlanned&, const RetryPlanned&) = default;
};
// Its time has come.
struct RetryDue {
  TaskId task;
  friend bool operator==(const RetryDue&, const RetryDue&) = default;
};
// The tasks ended. With an attempt: by its result; without: cancelled, dependency, infeasible.
struct TasksEnded {
  TaskRange tasks;
  EndReason reason;
  WallTime at;
  friend bool operator==(const TasksEnded&, const TasksEnded&) = default;
};

struct LaunchPlanned {
  LaunchId launch;
  std::string cluster;
  ExecutorId executor;
  Resources size;
  uint32_t max_attempts = 0;
  WallTime at;
  friend bool operator==(const LaunchPlanned&, const LaunchPlanned&) = default;
};
struct LaunchSent {  // the cluster accepted it
  LaunchId launch;
  std::string external_id;
  friend bool operator==(const LaunchSent&, const LaunchSent&) = default;
};
struct LaunchObserved {  // Starting or Up as the cluster or the executor says
  LaunchId launch;
  LaunchState state = LaunchState::kStarting;
  friend bool operator==(const LaunchObserved&, const LaunchObserved&) = default;
};
struct LaunchStopping {
  LaunchId launch;
  std::string why;
  WallTime at;
  friend bool operator==(const LaunchStopping&, const LaunchStopping&) = default;
};
struct LaunchEnded {
  LaunchId launch;
  EndReason reason;
  std::string raw_reason;  // the cluster's own words
  WallTime at;
  friend bool operator==(const LaunchEnded&, const LaunchEnded&) = default;
};

struct ExecutorRegistered {
  ExecutorId executor;
  LaunchId launch;
  std::string cluster;
  std::string incarnation;
  std::string host;
  std::string boot_id;
  int64_t pid = 0;
  Resources capacity;
  uint32_t max_attempts = 0;
  std::vector<std::pair<std::string, std::string>> labels;
  std::string output_dir;
  WallTime at;
  friend bool operator==(const ExecutorRegistered&, const ExecutorRegistered&) = default;
};
struct ExecutorDraining {
  ExecutorId executor;
  std::string why;
  WallTime at;
  friend bool operator==(const ExecutorDraining&, const ExecutorDraining&) = default;
};
struct ExecutorGone {
  ExecutorId executor;
  std::string why;
  WallTime at;
  friend bool operator==(const ExecutorGone&, const ExecutorGone&) = default;
};

using Fact =
    std::variant<ControllerStarted, ControllerStopped, JobAccepted, JobCancelRequested, JobEnded,
                 JobArchived, AttemptsPlanned, AttemptStarted, AttemptRecalled, AttemptDropped,
                 AttemptStopping, AttemptEnded, RetryPlanned, RetryDue, TasksEnded, LaunchPlanned,
                 LaunchSent, LaunchObserved, LaunchStopping, LaunchEnded, ExecutorRegistered,
                 ExecutorDraining, ExecutorGone>;
using Facts = std::vector<Fact>;

}  // namespace muster::core
