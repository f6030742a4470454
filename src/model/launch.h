// A Launch: one thing that a cluster runs for us, always an executor. Backends know these values and
// nothing of tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/job_spec.h"

namespace muster {

// What stands in every name and label of what we launch: whose it is.
struct StoreIdentity {
  std::string store_id;  // UUID
  uint64_t epoch = 0;    // raised at each start of a controller
  friend bool operator==(const StoreIdentity&, const StoreIdentity&) = default;
};

struct LaunchSpec {
  LaunchId id;
  StoreIdentity owner;
  ExecutorId executor;
  // The executor's whole size.
  Resources size;
  // Slots: how many attempts it may run at once, whatever their size; 0: no bound but `size`.
  uint32_t max_attempts = 0;
  std::vector<std::pair<std::string, std::string>> labels;
};

enum class LaunchPhase : uint8_t { kUnknown, kPending, kRunning, kEnded, kAbsent };

// What a cluster says of one launch.
struct LaunchObservation {
  LaunchId id;
  LaunchPhase phase = LaunchPhase::kUnknown;
  std::string external_id;
  // The cluster's own words: state, reason, message.
  std::string raw_reason;
  // The node itself said so; an API object that is gone while its node is silent is not confirmed.
  bool confirmed = false;
  std::optional<int32_t> exit_code;
  std::optional<int32_t> exit_signal;
  std::string node;
  WallTime cluster_time;
};

}  // namespace muster
