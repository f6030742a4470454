// Answers from a State: shared by the live controller and by stores opened read-only.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "control/service.h"
#include "core/state.h"

namespace muster::control {

// "job j12 does not exist", with what to type.
Error NoSuchJob(JobId job);
Error NoSuchTask(TaskId task);

Page<JobView> ListJobs(const core::State& state, const JobQuery& query);
Result<JobView> GetJob(const core::State& state, JobId job);
Result<Page<TaskView>> ListTasks(const core::State& state, JobId job, const TaskQuery& query);
Result<TaskDetail> GetTask(const core::State& state, TaskId task, Now now);
Result<TaskId> ResolveTask(const core::State& state, JobId job, std::string_view text);
Result<WhyView> GetWhy(const core::State& state, TaskId task, Now now);
Result<OutputPlace> FindOutput(const core::State& state, TaskId task, std::optional<uint32_t> n,
                               Now now);

}  // namespace muster::control
