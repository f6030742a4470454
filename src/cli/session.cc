#include "cli/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "cli/text.h"

namespace muster::cli {
namespace {

std::string DefaultSocketHint(const Config& config) {
  return config.state_dir.value + "/controller/socket";
}

}  // namespace

int ExitCodeOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kUnauthenticated: return kExitUnreachable;
    case ErrorCode::kDeadlineExceeded: return kExitTimeout;
    case ErrorCode::kCancelled: return kExitCancelled;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kUnimplemented: return kExitUsage;
    default: return error.owner == ErrorOwner::kUser ? kExitUsage : kExitFailed;
  }
}

int Complain(const Error& error) {
  fmt::print(stderr, "muster: {}\n", error.ToString());
  return ExitCodeOf(error);
}

Result<Endpoint> Session::ConfiguredEndpoint() const {
  return ParseEndpoint(config_.controller.value).WithContext(
      fmt::format("controller from {}", config_.controller.source.place));
}

Result<std::unique_ptr<Client>> Session::ConnectLive(std::optional<JobId> job) {
  if (has_configured_controller()) {
    ASSIGN_OR_RETURN(Endpoint endpoint, ConfiguredEndpoint());
    return std::make_unique<Client>(std::move(endpoint));
  }
  std::string socket = DefaultSocketHint(config_);
  struct stat found{};
  if (::stat(socket.c_str(), &found) == 0) {
    auto client = std::make_unique<Client>(Endpoint::Unix(socket));
    auto server = client->Server();
    bool has_job = server.ok() && (!job || client->GetJob(Render(*job)).ok());
    if (has_job) return client;
    // A standing controller that does not know the job: a private run may.
    if (server.ok() && !(hooks_.find_live_run && hooks_.find_live_run(config_, *job))) return client;
  }
  if (job && hooks_.find_live_run) {
    if (auto endpoint = hooks_.find_live_run(config_, *job)) {
      return std::make_unique<Client>(*endpoint);
    }
  }
  return Error{ErrorCode::kUnavailable, ErrorOwner::kUser,
               fmt::format("no controller is configured and none answers at {}; start one with "
                           "`muster serve`, or use `muster run`",
                           socket),
               ""};
}

Result<std::unique_ptr<Client>> Session::ConnectToRead(std::optional<JobId> job) {
  auto live = ConnectLive(job);
  if (live.ok() && (!job || has_configured_controller())) return live;
  if (live.ok() && (*live)->GetJob(Render(*job)).ok()) return live;
  if (has_configured_controller()) return live;
  return OpenPastRuns();
}

Result<std::unique_ptr<Client>> Session::OpenPastRuns() {
  if (!hooks_.open_past_runs) return InternalError("this program cannot open past runs");
  if (past_runs_ == nullptr) {
    ASSIGN_OR_RETURN(past_runs_, hooks_.open_past_runs(config_));
  }
  return std::make_unique<Client>(past_runs_->endpoint());
}

}  // namespace muster::cli
