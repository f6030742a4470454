#include "server/api_server.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "model/job_check.h"
#include "server/job_stream.h"
#include "server/log_follow.h"
#include "wire/api_json.h"
#include "wire/api_messages.h"
#include "wire/spec_codec.h"

namespace muster::server {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr size_t kMaxPage = 10'000;
constexpr Bytes kMaxSubmit = GiB(4);

std::string RenderProblem(const Error& error, int) { return ApiErrorToJson({error, {}}); }

HttpServerOptions MakeOptions(uint32_t owner_uid) {
  HttpServerOptions options;
  options.render_error = RenderProblem;
  options.error_content_type = std::string(kApiErrorContentType);
  options.gate = [owner_uid](const HttpRequest& request) -> Status {
    if (!request.peer || request.peer->uid == owner_uid || request.peer->uid == 0) return Status::Ok();
    return UserError(ErrorCode::kPermissionDenied,
                     fmt::format("this controller runs for user {}, you are {}", owner_uid,
                                 request.peer->uid));
  };
  return options;
}

std::string QueryOf(const HttpRequest& request, const std::string& name) {
  auto it = request.query.find(name);
  return it == request.query.end() ? "" : it->second;
}

bool IsSet(const HttpRequest& request, const std::string& name) {
  auto it = request.query.find(name);
  return it != request.query.end() && it->second != "0" && it->second != "false";
}

template <typename T>
Result<T> NumberOf(const HttpRequest& request, const std::string& name, T fallback) {
  std::string text = QueryOf(request, name);
  if (text.empty()) return fallback;
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("{}={} is not a number that fits", name, text));
  }
  return number;
}

// Every parameter must be known: a misspelled filter must not mean "all".
Status CheckQuery(const HttpRequest& request, const std::vector<std::string>& known) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string close = Suggest(name, known);
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("unknown parameter '{}' of {}{}", name, request.path,
                                 close.empty() ? "" : fmt::format("; did you mean '{}'?", close)));
  }
  return Status::Ok();
}

template <typename T>
void RespondView(const std::shared_ptr<HttpExchange>& exchange, const Result<T>& view) {
  if (!view.ok()) return exchange->RespondError(view.error());
  exchange->Respond(200, kJson, ViewToJson(*view));
}

// One executor's connection, seen from control.
class SocketChannel final : public control::ExecutorChannel {
 public:
  explicit SocketChannel(std::shared_ptr<WebSocket> socket) : socket_(std::move(socket)) {}
  void Send(std::string frame) override { socket_->Send(frame); }
  void Close(const std::string& why) override { socket_->Close(why.substr(0, 120)); }
  size_t pending_bytes() const override { return socket_->pending_bytes(); }

 private:
  std::shared_ptr<WebSocket> socket_;
};

Result<control::TaskQuery> TaskQueryOf(const HttpRequest& request) {
  RETURN_IF_ERROR(CheckQuery(request, {"state", "reason", "failed", "name", "from", "limit"}));
  control::TaskQuery query;
  if (std::string text = QueryOf(request, "state"); !text.empty()) {
    query.state = ParseTaskState(text);
    if (!query.state) {
      return UserError(ErrorCode::kInvalidArgument,
                       fmt::format("state={}: known are waiting, ready, held, active, ended", text));
    }
  }
  if (std::string text = QueryOf(request, "reason"); !text.empty()) {
    query.ended_as = ParseEndKind(text);
    if (!query.ended_as) {
      return UserError(ErrorCode::kInvalidArgument,
                       fmt::format("reason={} is no end reason (ok, failed, signal, timeout, "
                                   "cancelled, dependency, ...)",
                                   text));
    }
  }
  query.failed_only = IsSet(request, "failed");
  query.spec = QueryOf(request, "name");
  ASSIGN_OR_RETURN(query.from, NumberOf<uint32_t>(request, "from", 1));
  ASSIGN_OR_RETURN(query.limit, NumberOf<size_t>(request, "limit", 50));
  query.limit = std::clamp<size_t>(query.limit, 1, kMaxPage);
  return query;
}

Result<LogRequest> LogRequestOf(const HttpRequest& request, TaskId task) {
  RETURN_IF_ERROR(CheckQuery(request, {"attempt", "stream", "offset", "follow"}));
  LogRequest log;
  log.task = task;
  ASSIGN_OR_RETURN(auto attempt, NumberOf<uint32_t>(request, "attempt", 0));
  if (attempt != 0) log.attempt = attempt;
  ASSIGN_OR_RETURN(log.offset, NumberOf<uint64_t>(request, "offset", 0));
  log.follow = IsSet(request, "follow");
  std::string stream = QueryOf(request, "stream");
  if (stream == "stdout") log.stream = OutputStream::kStdout;
  if (stream == "stderr") log.stream = OutputStream::kStderr;
  if (stream == "executor") log.stream = OutputStream::kExecutor;
  if (!stream.empty() && stream != "all" && !log.stream) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("stream={}: known are stdout, stderr, executor, all", stream));
  }
  return log;
}

}  // namespace

ApiServer::ApiServer(EventLoop& loop, control::Service& service, control::ExecutorDoor* door,
                     ApiServerOptions options)
    : loop_(loop),
      service_(service),
      door_(door),
      options_(std::move(options)),
      output_(loop),
      parsers_("parse", 1, 64),
      http_(loop, MakeOptions(options_.owner_uid)) {
  AddServerRoutes();
  AddJobRoutes();
  AddTaskRoutes();
  if (door_ != nullptr) AddExecutorDoor();
}

ApiServer::~ApiServer() = default;

control::Caller ApiServer::CallerOf(const HttpRequest& request) const {
  uint32_t uid = request.peer ? request.peer->uid : options_.owner_uid;
  return {fmt::format("uid:{}", uid), true};
}

std::optional<JobId> ApiServer::JobOf(const Exchange& exchange) {
  const std::string& text = exchange->request().parameters.at("job");
  if (text == "last") {
    if (auto last = service_.LastJob()) return last;
    exchange->RespondError(UserError(ErrorCode::kNotFound, "there is no job yet"));
    return std::nullopt;
  }
  auto job = ParseJobId(text);
  if (job.ok()) return *job;
  exchange->RespondError(job.error());
  return std::nullopt;
}

std::optional<TaskId> ApiServer::TaskOf(const Exchange& exchange) {
  auto job = JobOf(exchange);
  if (!job) return std::nullopt;
  auto task = service_.ResolveTask(*job, exchange->request().parameters.at("task"));
  if (task.ok()) return *task;
  exchange->RespondError(task.error());
  return std::nullopt;
}

void ApiServer::AddServerRoutes() {
  http_.Route("GET", "/healthz", [](const Exchange& exchange) {
    exchange->Respond(200, "text/plain", "ok\n");
  });
  http_.Route("GET", "/metrics", [this](const Exchange& exchange) {
    exchange->Respond(200, "text/plain; version=0.0.4; charset=utf-8", service_.Metrics());
  });
  http_.Route("GET", "/v1/server", [this](const Exchange& exchange) {
    exchange->Respond(200, kJson, ViewToJson(service_.Server()));
  });
  http_.Route("GET", "/v1/executors", [this](const Exchange& exchange) {
    exchange->Respond(200, kJson, ViewToJson(service_.ListExecutors()));
  });
  http_.Route("GET", "/v1/launches", [this](const Exchange& exchange) {
    std::vector<LaunchMessage> launches;
    for (auto& one : service_.ListLaunches()) {
      launches.push_back({one.id, one.cluster, one.executor, std::string(ToString(one.state)),
                          one.external_id, one.reason});
    }
    exchange->Respond(200, kJson, LaunchesToJson(launches));
  });
}

void ApiServer::AddJobRoutes() {
  http_.Route("POST", "/v1/jobs", kMaxSubmit, [this](const Exchange& exchange) { PostJob(exchange); });
  http_.Route("GET", "/v1/jobs", [this](const Exchange& exchange) {
    const HttpRequest& request = exchange->request();
    if (auto known = CheckQuery(request, {"ended_since_us", "all", "after", "limit"}); !known.ok()) {
      return exchange->RespondError(known.error());
    }
    control::JobQuery query;
    auto since = NumberOf<int64_t>(request, "ended_since_us", -1);
    auto limit = NumberOf<size_t>(request, "limit", 50);
    if (!since.ok()) return exchange->RespondError(since.error());
    if (!limit.ok()) return exchange->RespondError(limit.error());
    if (*since >= 0) query.ended_since = WallTime{*since};
    if (IsSet(request, "all")) query.ended_since = WallTime{0};
    query.limit = std::clamp<size_t>(*limit, 1, 1000);
    if (std::string after = QueryOf(request, "after"); !after.empty()) {
      auto job = ParseJobId(after);
      if (!job.ok()) return exchange->RespondError(job.error());
      query.after = *job;
    }
    exchange->Respond(200, kJson, ViewToJson(service_.ListJobs(query)));
  });
  http_.Route("GET", "/v1/jobs/{job}", [this](const Exchange& exchange) {
    if (auto job = JobOf(exchange)) RespondView(exchange, service_.GetJob(*job));
  });
  http_.Route("GET", "/v1/jobs/{job}/spec", [this](const Exchange& exchange) {
    auto job = JobOf(exchange);
    if (!job) return;
    auto spec = service_.GetSpec(*job);
    if (!spec.ok()) return exchange->RespondError(spec.error());
    exchange->Respond(200, kJson, JobSpecToJson(**spec));
  });
  http_.Route("POST", "/v1/jobs/{job}/cancel", [this](const Exchange& exchange) { PostCancel(exchange); });
  http_.Route("GET", "/v1/jobs/{job}/events", [this](const Exchange& exchange) {
    auto job = JobOf(exchange);
    if (!job) return;
    JobStreamOptions options;
    std::string output = QueryOf(exchange->request(), "output");
    if (output == "leaves") options.output = JobStreamOptions::Output::kLeaves;
    if (output == "all") options.output = JobStreamOptions::Output::kAll;
    if (output == "live") options.output = JobStreamOptions::Output::kLive;
    std::make_shared<JobStream>(loop_, service_, output_, exchange, options)->Begin(*job, "");
  });
}

void ApiServer::AddTaskRoutes() {
  http_.Route("GET", "/v1/jobs/{job}/tasks", [this](const Exchange& exchange) {
    auto job = JobOf(exchange);
    if (!job) return;
    auto query = TaskQueryOf(exchange->request());
    if (!query.ok()) return exchange->RespondError(query.error());
    RespondView(exchange, service_.ListTasks(*job, *query));
  });
  http_.Route("GET", "/v1/jobs/{job}/tasks/{task}", [this](const Exchange& exchange) {
    if (auto task = TaskOf(exchange)) RespondView(exchange, service_.GetTask(*task));
  });
  http_.Route("GET", "/v1/jobs/{job}/tasks/{task}/why", [this](const Exchange& exchange) {
    if (auto task = TaskOf(exchange)) RespondView(exchange, service_.Why(*task));
  });
  http_.Route("GET", "/v1/jobs/{job}/tasks/{task}/log", [this](const Exchange& exchange) {
    auto task = TaskOf(exchange);
    if (!task) return;
    auto log = LogRequestOf(exchange->request(), *task);
    if (!log.ok()) return exchange->RespondError(log.error());
    std::make_shared<LogFollow>(loop_, service_, output_, exchange, *log)->Begin();
  });
}

void ApiServer::PostJob(const Exchange& exchange) {
  const HttpRequest& request = exchange->request();
  if (auto known = CheckQuery(request, {"watch", "output"}); !known.ok()) {
    return exchange->RespondError(known.error());
  }
  std::string_view type = request.headers.Find("content-type").value_or(kJson);
  type = type.substr(0, type.find(';'));
  size_t size = request.body.size();
  if (type == kJobSpecContentType) {
    // Small ones here: a hop to another thread costs more than reading them.
    if (size < (64 << 10)) return SubmitSpec(exchange, DecodeJobSpec(request.body), size);
    auto posted = parsers_.Post([this, exchange, size, alive = std::weak_ptr<bool>(alive_)] {
      auto spec = std::make_shared<Result<JobSpec>>(DecodeJobSpec(exchange->request().body));
      loop_.Post([this, exchange, spec, size, alive] {
        if (alive.lock()) SubmitSpec(exchange, std::move(*spec), size);
      });
    });
    if (!posted.ok()) exchange->RespondError(503, posted.error());
    return;
  }
  if (type != kJson) {
    return exchange->RespondError(
        415, UserError(ErrorCode::kInvalidArgument,
                       fmt::format("content type '{}' is not known; send {}", type, kJson)));
  }
  ParsedJob parsed = JobSpecFromJson(request.body);
  if (!parsed.problems.empty()) {
    Error error = UserError(ErrorCode::kInvalidArgument,
                            fmt::format("the job has {} problems", parsed.problems.size()));
    exchange->Respond(400, kApiErrorContentType, ApiErrorToJson({error, std::move(parsed.problems)}));
    return;
  }
  SubmitSpec(exchange, std::move(parsed.spec), size);
}

void ApiServer::SubmitSpec(const Exchange& exchange, Result<JobSpec> spec, size_t body_bytes) {
  if (!spec.ok()) return exchange->RespondError(spec.error());
  if (auto problems = CheckJobSpec(*spec); !problems.empty()) {
    Error error = UserError(ErrorCode::kInvalidArgument, "the job cannot be accepted");
    exchange->Respond(400, kApiErrorContentType, ApiErrorToJson({error, std::move(problems)}));
    return;
  }
  const HttpRequest& request = exchange->request();
  control::SubmitCall call;
  call.caller = CallerOf(request);
  call.request_id = std::string(request.headers.Find("x-request-id").value_or(""));
  call.spec = std::make_shared<const JobSpec>(std::move(*spec));
  call.body_bytes = body_bytes;
  bool watch = IsSet(request, "watch");
  JobStreamOptions options;
  std::string output = QueryOf(request, "output");
  if (output == "leaves") options.output = JobStreamOptions::Output::kLeaves;
  if (output == "all") options.output = JobStreamOptions::Output::kAll;
  if (output == "live") options.output = JobStreamOptions::Output::kLive;
  service_.Submit(std::move(call), [this, exchange, watch, options,
                                    alive = std::weak_ptr<bool>(alive_)](
                                       Result<control::SubmitAnswer> answer) {
    if (!alive.lock()) return;
    if (!answer.ok()) return exchange->RespondError(answer.error());
    std::string body = ToJson(SubmitMessage{answer->job, answer->repeated});
    if (!watch) {
      exchange->Respond(answer->repeated ? 200 : 201, kJson, body);
      return;
    }
    std::make_shared<JobStream>(loop_, service_, output_, exchange, options)->Begin(answer->job, body);
  });
}

void ApiServer::PostCancel(const Exchange& exchange) {
  auto job = JobOf(exchange);
  if (!job) return;
  auto message = CancelRequestMessageFromJson(exchange->request().body);
  if (!message.ok()) return exchange->RespondError(message.error());
  control::CancelCall call;
  call.caller = CallerOf(exchange->request());
  call.job = *job;
  call.tasks = std::move(message->tasks);
  call.abandon = message->abandon;
  service_.Cancel(std::move(call), [exchange](Result<control::CancelAnswer> answer) {
    if (!answer.ok()) return exchange->RespondError(answer.error());
    exchange->Respond(200, kJson, ToJson(CancelMessage{answer->ended, answer->stopping}));
  });
}

void ApiServer::AddExecutorDoor() {
  WebSocketLimits limits;
  limits.max_pending = MiB(512);
  http_.UpgradeRoute(
      "/v1/executor",
      [this](const HttpRequest&, std::shared_ptr<WebSocket> socket) {
        auto id = door_->Connected(std::make_shared<SocketChannel>(socket));
        WebSocket* raw = socket.get();
        raw->OnMessage([this, id](std::string_view frame) { door_->Frame(id, frame); });
        raw->OnClosed([this, id, alive = std::weak_ptr<bool>(alive_)](const Error&) {
          if (alive.lock()) door_->Closed(id);
        });
      },
      limits);
}

}  // namespace muster::server
