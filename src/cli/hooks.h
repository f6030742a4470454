// What the command line needs of the rest of the program and must not build itself: controllers in this
// process. apps/muster.cc fills these in; tests bring their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "client/client.h"
#include "wire/config.h"

namespace muster::cli {

// A controller (or stores opened read-only) that lives in this process on a thread of its own. Its end
// stops it in good order: executors of a private run end with it.
class HostedController {
 public:
  virtual ~HostedController() = default;
  virtual Endpoint endpoint() const = 0;
  // The state folder of this run, for messages.
  virtual std::string state_dir() const = 0;
  // Ends it at once: what runs is killed. For a second Ctrl-C.
  virtual void Kill() = 0;
};

struct PrivateRun {
  // Go on with the run that owns this job (`run --resume j12`) instead of a new one.
  std::optional<JobId> resume;
};

struct ServeOptions {
  std::string socket;     // empty: the configured or default one
  std::string state_dir;  // likewise
};

struct Hooks {
  // `muster run` without a configured controller: a store of its own below the user's state folder, job
  // numbers from one counter there.
  std::function<Result<std::unique_ptr<HostedController>>(const Config&, const PrivateRun&)> start_private;
  // The stores of past private runs behind an in-process server, read-only.
  std::function<Result<std::unique_ptr<HostedController>>(const Config&)> open_past_runs;
  // The socket of the private run that owns this job, if it is still alive.
  std::function<std::optional<Endpoint>(const Config&, JobId)> find_live_run;
  // `muster serve`: returns the exit code when it has stopped.
  std::function<int(const Config&, const ServeOptions&)> serve;
  // `muster executor --launch-dir DIR`, hidden.
  std::function<int(const std::string& launch_dir)> run_executor;
  // `muster plan`: what each cluster would be sent and what it cannot honour, as text lines.
  std::function<Result<std::vector<std::string>>(const Config&, const JobSpec&)> plan;
};

}  // namespace muster::cli
