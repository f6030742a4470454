// Catalog: several stores opened read-only behind one Service; commands are refused with words.
//
// Each entry is one store's state; job numbers are unique across entries (private runs take theirs from one
// counter). Core thread; owns its states.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/service.h"
#include "core/state.h"

namespace muster::control {

class Catalog final : public Service {
 public:
  explicit Catalog(const Clock& clock, std::string version);
  // `where` is the folder of the store, for messages.
  void Add(core::State state, std::string where);
  size_t size() const { return entries_.size(); }

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

 private:
  struct Entry {
    core::State state;
    std::string where;
  };
  const core::State* Find(JobId job) const;

  const Clock& clock_;
  const std::string version_;
  const WallTime started_;
  std::vector<Entry> entries_;
  // Newest first.
  std::map<JobId, size_t, std::greater<>> jobs_;
};

}  // namespace muster::control
