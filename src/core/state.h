// State: everything the controller believes, as columns. Changed by Apply alone; read through the views
// below. One owner, one thread (the core thread); a read-only opener of a store owns one of its own.
//
// Memory: a queued array task costs at most 1 byte, a list task its item and 4 bytes more; tasks that were
// never touched cost nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fact.h"
#include "model/view.h"

namespace muster::core {

class StateRep;  // the columns; core's own

class State {
 public:
  State();
  ~State();
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;

  // -- whole
  uint64_t epoch() const;
  // The last controller stopped in good order.
  bool clean() const;
  std::string last_boot_id() const;
  uint64_t jobs_active() const;

  // -- jobs and tasks; ids that do not exist give nothing
  // Newest first; `ended_since`: also those that ended at or after it. `after`: continue below this id.
  std::vector<JobId> ListJobs(std::optional<WallTime> ended_since, std::optional<JobId> after,
                              size_t limit) const;
  uint64_t CountJobs(std::optional<WallTime> ended_since) const;
  std::optional<JobView> ViewJob(JobId job) const;
  std::shared_ptr<const JobSpec> SpecOf(JobId job) const;
  std::optional<TaskView> ViewTask(TaskId task) const;
  std::vector<AttemptView> ViewAttempts(TaskId task) const;
  std::optional<TaskState> StateOf(TaskId task) const;
  // Where a task stands in its job.
  struct TaskPlace {
    uint32_t spec = 0;      // position in JobSpec::tasks
    uint32_t position = 0;  // in the TaskSpec, from 0
  };
  std::optional<TaskPlace> PlaceOf(TaskId task) const;
  // Number of the first task of TaskSpec `spec`.
  std::optional<uint32_t> FirstTaskOf(JobId job, uint32_t spec) const;
  // Tasks of a job in order of number that match, from `from` on, at most `limit`; by rank and select over
  // bit columns, never by scanning. `ended_as` narrows kEnded; `spec` to one TaskSpec.
  struct TaskFilter {
    std::optional<TaskState> state;
    std::optional<EndKind> ended_as;
    // Ended neither ok nor cancelled.
    bool failed_only = false;
    std::optional<uint32_t> spec;
  };
  std::vector<uint32_t> ListTasks(JobId job, const TaskFilter& filter, uint32_t from,
                                  size_t limit) const;
  uint64_t CountTasks(JobId job, const TaskFilter& filter) const;

  // -- executors and launches
  std::vector<ExecutorView> ViewExecutors() const;  // by id, gone ones of the last hour included
  struct LaunchView {
    LaunchId id;
    std::string cluster;
    ExecutorId executor;
    LaunchState state = LaunchState::kPlanned;
    std::string external_id;
    WallTime planned;
    std::string reason;
  };
  std::vector<LaunchView> ViewLaunches() const;
  // Empty if unknown.
  std::string OutputDirOf(ExecutorId executor) const;
  std::optional<JobId> FindRequest(const std::string& request_id) const;

  // Exactly one cause for where the task is, with all figures, as of `now`.
  std::optional<WhyView> Why(TaskId task, Now now) const;

  // Recomputes every counter, index and queue from the columns and compares; the first difference in
  // words, "" if all is well. For tests and simulation.
  std::string CheckInvariants() const;
  // Tasks set aside after a fact that did not fit (release builds).
  uint64_t quarantined() const;
  size_t MemoryBytes() const;

  StateRep& rep() { return *rep_; }
  const StateRep& rep() const { return *rep_; }

 private:
  std::unique_ptr<StateRep> rep_;
};

}  // namespace muster::core
