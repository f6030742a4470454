#include "client/client.h"

#include <fmt/format.h>

#include <utility>

#include "base/random.h"
#include "net/sse.h"
#include "wire/api_json.h"
#include "wire/spec_codec.h"

namespace muster {
namespace {

constexpr int kSubmitTries = 3;

std::string_view ToWord(WatchOutput output) {
  switch (output) {
    case WatchOutput::kNone: return "none";
    case WatchOutput::kLeaves: return "leaves";
    case WatchOutput::kAll: return "all";
    case WatchOutput::kLive: return "live";
  }
  return "none";
}

std::string JobTarget(const std::string& job) { return "/v1/jobs/" + EncodePercent(job); }
std::string TaskTarget(const std::string& job, const std::string& task) {
  return JobTarget(job) + "/tasks/" + EncodePercent(task);
}

HttpClientRequest SubmitRequest(const JobSpec& job, const std::string& request_id,
                                std::string target) {
  HttpClientRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.headers.Add("X-Request-Id", request_id);
  request.content_type = std::string(kJobSpecContentType);
  request.body = EncodeJobSpec(job);
  return request;
}

// Turns the events of a stream into calls; remembers what ended it.
class EventReader {
 public:
  explicit EventReader(const WatchEvents& events) : events_(events) {}

  // False: stop reading.
  bool Feed(std::string_view bytes) {
    parser_.Feed(bytes, [this](const SseEvent& event) {
      if (!stopped_ && !done_ && !error_) Take(event);
    });
    return !stopped_ && !done_ && !error_;
  }
  bool stopped() const { return stopped_; }
  const std::optional<JobView>& done() const { return done_; }
  const std::optional<Error>& error() const { return error_; }
  const std::optional<SubmitMessage>& accepted() const { return accepted_; }

 private:
  template <typename T>
  void Tell(Result<T> value, const std::function<bool(const T&)>& tell) {
    if (!value.ok()) {
      error_ = std::move(value).error().WithContext("read an event of the job");
    } else if (tell && !tell(*value)) {
      stopped_ = true;
    }
  }
  void Take(const SseEvent& event) {
    if (event.name == "output") {
      Tell(OutputEventFromJson(event.data), events_.on_output);
    } else if (event.name == "job") {
      Tell(ViewFromJson<JobView>(event.data), events_.on_job);
    } else if (event.name == "task") {
      Tell(ViewFromJson<TaskView>(event.data), events_.on_failed_task);
    } else if (event.name == "accepted") {
      auto message = SubmitMessageFromJson(event.data);
      if (message.ok()) accepted_ = *message;
      Tell(std::move(message), events_.on_accepted);
    } else if (event.name == "done") {
      auto view = ViewFromJson<JobView>(event.data);
      if (view.ok()) {
        done_ = std::move(*view);
      } else {
        error_ = std::move(view).error();
      }
    }
  }

  const WatchEvents& events_;
  SseParser parser_;
  std::optional<SubmitMessage> accepted_;
  std::optional<JobView> done_;
  std::optional<Error> error_;
  bool stopped_ = false;
};

}  // namespace

std::string MakeRequestId() {
  Random random = Random::FromSystem();
  return MakeUuid(random);
}

Client::Client(Endpoint endpoint) : http_(std::move(endpoint)) {}

Error Client::Explain(Error error) const {
  if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kNotFound) {
    error.code = ErrorCode::kUnavailable;
    error.message = fmt::format("no controller answers at {}: {}; start one with `muster serve`",
                                Render(http_.endpoint()), error.message);
  }
  return error;
}

Error Client::ErrorOf(const HttpResponse& response) {
  auto parsed = ApiErrorFromJson(response.body);
  if (parsed.ok()) {
    problems_ = std::move(parsed->problems);
    return std::move(parsed->error);
  }
  return Error{FromHttpStatus(response.status), ErrorOwner::kUs,
               fmt::format("the controller answered {} {}", response.status,
                           ReasonPhrase(response.status)),
               response.body.substr(0, 500)};
}

Result<HttpResponse> Client::Call(const HttpClientRequest& request) {
  problems_.clear();
  auto response = http_.Call(request, limit_);
  if (!response.ok()) return Explain(std::move(response).error());
  if (response->status >= 300) return ErrorOf(*response);
  return response;
}

Result<std::string> Client::Get(const std::string& target) {
  HttpClientRequest request;
  request.target = target;
  ASSIGN_OR_RETURN(HttpResponse response, Call(request));
  return std::move(response.body);
}

template <typename T>
Result<T> Client::GetView(const std::string& target) {
  ASSIGN_OR_RETURN(std::string body, Get(target));
  return ViewFromJson<T>(body).WithContext("read the controller's answer to " + target);
}

Result<ServerView> Client::Server() { return GetView<ServerView>("/v1/server"); }
Result<std::string> Client::Metrics() { return Get("/metrics"); }

Result<SubmitMessage> Client::Submit(const JobSpec& job, const std::string& request_id) {
  HttpClientRequest request = SubmitRequest(job, request_id, "/v1/jobs");
  for (int attempt = 1;; ++attempt) {
    auto response = Call(request);
    if (response.ok()) return SubmitMessageFromJson(response->body);
    if (response.error().code != ErrorCode::kOutcomeUnknown || attempt == kSubmitTries) {
      return std::move(response).error();
    }
  }
}

Result<std::optional<JobView>> Client::StreamEvents(const HttpClientRequest& request,
                                                    const WatchEvents& events) {
  problems_.clear();
  EventReader reader(events);
  HttpStreamOptions options;
  options.head_limit = limit_;
  options.silence_limit = std::chrono::seconds(60);
  options.on_part = [&](std::string_view part) { return reader.Feed(part); };
  auto response = http_.Stream(request, options);
  if (reader.error()) return *reader.error();
  if (reader.done()) return reader.done();
  if (reader.stopped()) return std::optional<JobView>();
  if (!response.ok()) {
    if (!reader.accepted()) return Explain(std::move(response).error());
    return std::move(response).error().WithContext(
        fmt::format("watch {}", Render(reader.accepted()->job)));
  }
  if (response->status >= 300) return ErrorOf(*response);
  return Error{ErrorCode::kUnavailable, ErrorOwner::kUs,
               "the controller ended the events before the job ended", ""};
}

Result<std::optional<JobView>> Client::SubmitAndWatch(const JobSpec& job,
                                                      const std::string& request_id,
                                                      const WatchEvents& events) {
  HttpClientRequest request = SubmitRequest(
      job, request_id, fmt::format("/v1/jobs?watch=1&output={}", ToWord(events.output)));
  return StreamEvents(request, events);
}

Result<std::optional<JobView>> Client::Watch(JobId job, const WatchEvents& events) {
  HttpClientRequest request;
  request.target = fmt::format("{}/events?output={}", JobTarget(Render(job)), ToWord(events.output));
  return StreamEvents(request, events);
}

Result<CancelMessage> Client::Cancel(JobId job, const CancelRequestMessage& what) {
  HttpClientRequest request;
  request.method = "POST";
  request.target = JobTarget(Render(job)) + "/cancel";
  request.body = ToJson(what);
  ASSIGN_OR_RETURN(HttpResponse response, Call(request));
  return CancelMessageFromJson(response.body);
}

Result<Page<JobView>> Client::ListJobs(const JobListQuery& query) {
  std::string target = fmt::format("/v1/jobs?limit={}", query.limit);
  if (query.ended_since) target += fmt::format("&ended_since_us={}", query.ended_since->us);
  if (!query.after.empty()) target += "&after=" + EncodePercent(query.after);
  return GetView<Page<JobView>>(target);
}

Result<JobView> Client::GetJob(const std::string& job) { return GetView<JobView>(JobTarget(job)); }

Result<std::string> Client::GetSpecJson(const std::string& job) {
  return Get(JobTarget(job) + "/spec");
}

Result<Page<TaskView>> Client::ListTasks(const std::string& job, const TaskListQuery& query) {
  std::string target =
      fmt::format("{}/tasks?from={}&limit={}", JobTarget(job), query.from, query.limit);
  if (!query.state.empty()) target += "&state=" + EncodePercent(query.state);
  if (!query.reason.empty()) target += "&reason=" + EncodePercent(query.reason);
  if (query.failed_only) target += "&failed=1";
  if (!query.name.empty()) target += "&name=" + EncodePercent(query.name);
  return GetView<Page<TaskView>>(target);
}

Result<TaskDetail> Client::GetTask(const std::string& job, const std::string& task) {
  return GetView<TaskDetail>(TaskTarget(job, task));
}

Result<WhyView> Client::Why(const std::string& job, const std::string& task) {
  return GetView<WhyView>(TaskTarget(job, task) + "/why");
}

Result<Page<ExecutorView>> Client::ListExecutors() {
  return GetView<Page<ExecutorView>>("/v1/executors");
}

Status Client::ReadLog(const std::string& job, const std::string& task, const LogQuery& query,
                       const std::function<bool(std::string_view)>& on_bytes) {
  problems_.clear();
  HttpClientRequest request;
  request.target = fmt::format("{}/log?offset={}", TaskTarget(job, task), query.offset);
  if (query.attempt) request.target += fmt::format("&attempt={}", *query.attempt);
  if (!query.stream.empty()) request.target += "&stream=" + EncodePercent(query.stream);
  if (query.follow) request.target += "&follow=1";
  HttpStreamOptions options;
  options.head_limit = limit_;
  options.on_part = on_bytes;
  auto response = http_.Stream(request, options);
  if (!response.ok()) return Explain(std::move(response).error());
  if (response->status >= 300) return ErrorOf(*response);
  return Status::Ok();
}

}  // namespace muster
