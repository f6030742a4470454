// Client: the API of a controller as C++ calls. Blocks; one connection; not thread-safe.
//
//     Client client(Endpoint::Unix("/run/user/1000/muster/socket"));
//     ASSIGN_OR_RETURN(SubmitMessage job, client.Submit(spec, MakeRequestId()));
//     ASSIGN_OR_RETURN(JobView end, client.Watch(job.job, {}));
//
// Errors: what the controller answered comes back as it was (code, owner, message); the problems of a
// refused job are in last_problems(). kUnavailable: nobody listens, the message says what to type.
// kOutcomeUnknown: the call may have taken effect; Submit repeats itself under its request id before it
// says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job_check.h"
#include "model/job_spec.h"
#include "model/view.h"
#include "net/http_client.h"
#include "wire/api_messages.h"

namespace muster {

// Random, so that a repeat of a submit can be told from a second one.
std::string MakeRequestId();

struct JobListQuery {
  // Active ones and those that ended at or after this; nothing: active ones only.
  std::optional<WallTime> ended_since;
  std::string after;
  size_t limit = 50;
};
struct TaskListQuery {
  std::string state;   // "active", ...; empty: all
  std::string reason;  // "failed", ...
  bool failed_only = false;
  std::string name;
  uint32_t from = 1;
  size_t limit = 50;
};
struct LogQuery {
  std::optional<uint32_t> attempt;
  std::string stream;  // "stdout", "stderr", "executor"; empty: all
  uint64_t offset = 0;
  bool follow = false;
};

// Whose output a watch brings along.
enum class WatchOutput : uint8_t { kNone, kLeaves, kAll, kLive };

// What happens during a watch; each may be empty. Returning false ends the watch.
struct WatchEvents {
  WatchOutput output = WatchOutput::kNone;
  std::function<bool(const SubmitMessage&)> on_accepted;
  std::function<bool(const JobView&)> on_job;
  std::function<bool(const TaskView&)> on_failed_task;
  std::function<bool(const OutputEvent&)> on_output;
};

class Client {
 public:
  explicit Client(Endpoint endpoint);

  // Calls under way end with kCancelled when `fd` becomes readable.
  void CancelBy(int fd) { http_.CancelBy(fd); }
  // Of the last call that was refused with kInvalidArgument.
  const std::vector<SpecProblem>& last_problems() const { return problems_; }
  void SetTimeout(Duration limit) { limit_ = limit; }

  Result<ServerView> Server();
  Result<std::string> Metrics();
  // Waits until the job is durable. A call whose outcome is unknown is repeated with the same id.
  Result<SubmitMessage> Submit(const JobSpec& job, const std::string& request_id);
  // Submits and watches over one connection, until the job ended or an event returned false. Nothing: the
  // watch was ended by an event.
  Result<std::optional<JobView>> SubmitAndWatch(const JobSpec& job, const std::string& request_id,
                                                const WatchEvents& events);
  Result<std::optional<JobView>> Watch(JobId job, const WatchEvents& events);
  Result<CancelMessage> Cancel(JobId job, const CancelRequestMessage& what);

  Result<Page<JobView>> ListJobs(const JobListQuery& query);
  // `job` and `task` as people write them: "j12", "last"; "500", "count.7".
  Result<JobView> GetJob(const std::string& job);
  Result<std::string> GetSpecJson(const std::string& job);
  Result<Page<TaskView>> ListTasks(const std::string& job, const TaskListQuery& query);
  Result<TaskDetail> GetTask(const std::string& job, const std::string& task);
  Result<WhyView> Why(const std::string& job, const std::string& task);
  Result<Page<ExecutorView>> ListExecutors();
  // Hands pieces of the output to `on_bytes` until the end, or until it returns false.
  Status ReadLog(const std::string& job, const std::string& task, const LogQuery& query,
                 const std::function<bool(std::string_view)>& on_bytes);

 private:
  Result<std::string> Get(const std::string& target);
  template <typename T>
  Result<T> GetView(const std::string& target);
  Result<HttpResponse> Call(const HttpClientRequest& request);
  Error ErrorOf(const HttpResponse& response);
  Error Explain(Error error) const;
  Result<std::optional<JobView>> StreamEvents(const HttpClientRequest& request,
                                              const WatchEvents& events);

  HttpClient http_;
  Duration limit_{std::chrono::seconds(60)};
  std::vector<SpecProblem> problems_;
};

}  // namespace muster
