// A whole controller in this process, on a thread of its own: loop, store, clusters, doors.
//
// Used by `muster run` (private) and `muster serve` (standing). Started and destroyed by the main thread;
// everything in between happens on its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "cli/hooks.h"
#include "wire/config.h"

namespace muster::apps {

struct HostingOptions {
  // store/, launches/, output/ and socket lie below it.
  std::string folder;
  // Empty: folder/socket, or a short path when that is too long.
  std::string socket;
  // The number of the first job, for private runs.
  uint64_t first_job = 1;
  // Executors end soon after this process does, and with the host.
  bool ends_with_us = false;
  // Called on the controller's thread when its journal failed for good.
  std::function<void(const Error&)> on_fatal;
};

class HostedController final : public cli::HostedController {
 public:
  static Result<std::unique_ptr<HostedController>> Start(const Config& config, HostingOptions options);
  // Stops in good order: decides no more, snapshots, and, if ends_with_us, ends the executors.
  ~HostedController() override;

  Endpoint endpoint() const override;
  std::string state_dir() const override;
  void Kill() override;

 private:
  struct Parts;
  explicit HostedController(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The stores of past private runs behind an in-process server, read-only.
Result<std::unique_ptr<cli::HostedController>> OpenPastRuns(const Config& config);

}  // namespace muster::apps
