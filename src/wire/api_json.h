// The API's JSON: jobs as they are submitted, views as they are shown, errors. To and From are
// lossless: From(To(x)) == x for every value.
//
// Conventions, for the API's description:
// - ids as people see them: "j12", "j12.500", "j12.500#2", "x3", "l7"
// - times in RFC 3339 with microseconds, UTC; durations as whole microseconds, keys end in _us;
//   sizes as whole bytes, keys end in _bytes; cpus in thousandths, milli_cpus
// - a value that is not there is left out, never null
// - text that is not UTF-8 (file names may be any bytes) is {"base64": "..."} in place of the
// string
// - unknown keys are ignored in views and errors, and refused in jobs
// Keys that only sum up others (text, retry_class, total, ok, failed, cancelled, status) are
// written for scripts and not read back.
//
// Errors of From name the way to the value: "items[3].state: 'foo' is not known". No exceptions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job_check.h"
#include "model/job_spec.h"
#include "model/view.h"
#include "wire/job_file.h"

namespace muster {

// The same keys as the job file; lists are always written out as items. Needs task names that
// differ.
std::string JobSpecToJson(const JobSpec& job);
// Reads nothing but the text: each and lines are refused, cwd must be there and absolute. All
// problems at once, those of CheckJobSpec too; their paths are the job file's.
ParsedJob JobSpecFromJson(std::string_view json);

// What a request that failed is answered with.
struct ApiError {
  Error error;
  // Of a job or configuration that was refused.
  std::vector<SpecProblem> problems;
  friend bool operator==(const ApiError&, const ApiError&) = default;
};
inline constexpr std::string_view kApiErrorContentType = "application/problem+json";
std::string ApiErrorToJson(const ApiError& error);
Result<ApiError> ApiErrorFromJson(std::string_view json);

// T is one of JobView, TaskView, TaskDetail, AttemptView, WhyView, ExecutorView, ServerView and
// Page<T> of JobView, TaskView, AttemptView, WhyView, ExecutorView.
template <typename T>
std::string ViewToJson(const T& view);
template <typename T>
Result<T> ViewFromJson(std::string_view json);

// The same by name.
inline std::string JobViewToJson(const JobView& view) { return ViewToJson(view); }
inline std::string TaskViewToJson(const TaskView& view) { return ViewToJson(view); }
inline std::string TaskDetailToJson(const TaskDetail& view) { return ViewToJson(view); }
inline std::string AttemptViewToJson(const AttemptView& view) { return ViewToJson(view); }
inline std::string WhyViewToJson(const WhyView& view) { return ViewToJson(view); }
inline std::string ExecutorViewToJson(const ExecutorView& view) { return ViewToJson(view); }
inline std::string ServerViewToJson(const ServerView& view) { return ViewToJson(view); }
inline Result<JobView> JobViewFromJson(std::string_view json) {
  return ViewFromJson<JobView>(json);
}
inline Result<TaskView> TaskViewFromJson(std::string_view json) {
  return ViewFromJson<TaskView>(json);
}
inline Result<TaskDetail> TaskDetailFromJson(std::string_view json) {
  return ViewFromJson<TaskDetail>(json);
}
inline Result<AttemptView> AttemptViewFromJson(std::string_view json) {
  return ViewFromJson<AttemptView>(json);
}
inline Result<WhyView> WhyViewFromJson(std::string_view json) {
  return ViewFromJson<WhyView>(json);
}
inline Result<ExecutorView> ExecutorViewFromJson(std::string_view json) {
  return ViewFromJson<ExecutorView>(json);
}
inline Result<ServerView> ServerViewFromJson(std::string_view json) {
  return ViewFromJson<ServerView>(json);
}

}  // namespace muster
