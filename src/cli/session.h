// What every verb needs: configuration, where to print, how to reach a controller. Made once in a process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/client.h"
#include "cli/hooks.h"
#include "cli/job_address.h"
#include "wire/config.h"

namespace muster::cli {

// Exit codes of every verb but `run` of one command.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,        // a task failed
  kExitUsage = 2,
  kExitUnreachable = 3,
  kExitTimeout = 4,       // own time-out, still running
  kExitCancelled = 5,
  kExitNotTheCommand = 125,
  kExitNotExecutable = 126,
  kExitNotFound = 127,
};

class Session {
 public:
  Session(Config config, const Hooks& hooks) : config_(std::move(config)), hooks_(hooks) {}

  const Config& config() const { return config_; }
  const Hooks& hooks() const { return hooks_; }
  bool json = false;
  bool quiet = false;

  // For verbs that change something or need a living controller: the configured one, or the standing one at
  // its default place. For `job`, the private run that owns it if it is alive.
  Result<std::unique_ptr<Client>> ConnectLive(std::optional<JobId> job);
  // For verbs that read: the same, else the stores of past runs.
  Result<std::unique_ptr<Client>> ConnectToRead(std::optional<JobId> job);
  bool has_configured_controller() const { return !config_.controller.value.empty(); }
  // Of the configured controller.
  Result<Endpoint> ConfiguredEndpoint() const;

 private:
  Result<std::unique_ptr<Client>> OpenPastRuns();

  const Config config_;
  const Hooks& hooks_;
  std::unique_ptr<HostedController> past_runs_;
};

// Prints "muster: message" to standard error; with `problems`, one line each before it. Returns the code.
int Complain(const Error& error);
int ExitCodeOf(const Error& error);

}  // namespace muster::cli
