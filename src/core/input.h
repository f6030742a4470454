// Inputs: what reaches core from outside. Every outside happening is one of these; control makes them,
// Step (core/step.h) decides what they mean. Nothing here is journaled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/fact.h"

namespace muster::core {

// Names the question that a Reply effect answers; chosen by control.
using ReplyToken = uint64_t;

// What core must know of a configured cluster. Given once after start (and again on a change) before
// anything else; live only.
struct ClusterSettings {
  std::string name;
  // The size of one pooled executor, also the largest thing that can run.
  Resources executor_size;
  uint32_t max_attempts = 0;  // of one executor; 0: bounded by size alone
  uint32_t pool_min = 0;
  uint32_t pool_max = 1;
  Duration idle{std::chrono::seconds(60)};  // an executor without work this long is drained; 0: never
};
struct ConfigureClusters {
  std::vector<ClusterSettings> clusters;
  std::string default_cluster;
  std::string store_id;  // jitter depends on it
  uint64_t first_job = 1;  // no job gets a lower number (private runs share a counter)
};

struct SubmitJob {
  ReplyToken token = 0;
  std::string request_id;
  std::shared_ptr<const JobSpec> spec;  // passed CheckJobSpec
  std::string owner;
};
struct CancelTasks {
  ReplyToken token = 0;
  JobId job;
  // Empty: the whole job.
  std::vector<TaskRange> tasks;
  std::string by;
  // End what cannot be confirmed as `cancelled (unconfirmed)` now.
  bool abandon = false;
};

// What an executor says it holds.
struct HeldAttempt {
  AttemptId attempt;
  uint32_t send = 0;
  AttemptState phase = AttemptState::kSent;  // kSent, kStarting, kRunning or kStopping
  int64_t pid = 0;
  WallTime started;
};
struct FinishedAttempt {
  AttemptId attempt;
  uint32_t send = 0;
  ExitFacts facts;
  int64_t pid = 0;
};
struct ExecutorHello {
  ExecutorRegistered who;  // `at` is ignored
  std::vector<HeldAttempt> held;
  std::vector<FinishedAttempt> finished;
};
// The reports of one message, in its order within each kind.
struct ExecutorReport {
  ExecutorId executor;
  std::vector<HeldAttempt> started;
  std::vector<FinishedAttempt> ended;
  std::vector<std::pair<AttemptId, uint32_t>> dropped;    // attempt, send
  std::vector<std::pair<AttemptId, uint32_t>> published;
  struct PublishFailure {
    AttemptId attempt;
    uint32_t send = 0;
    int32_t error_number = 0;
    std::string what_failed;
  };
  std::vector<PublishFailure> publish_failed;
  // Named in a stop or recall, but not held: it was never started there or is long acknowledged.
  std::vector<std::pair<AttemptId, uint32_t>> unknown;
  bool drained = false;
};
// A heartbeat. Core compares count and hash with its belief and may ask for the full list.
struct ExecutorBeat {
  ExecutorId executor;
  uint32_t held_count = 0;
  uint64_t held_hash = 0;
};
// The full list asked for.
struct ExecutorHolds {
  ExecutorId executor;
  std::vector<HeldAttempt> held;
};
// The connection is gone; says nothing about the executor.
struct ExecutorDisconnected {
  ExecutorId executor;
};

enum class LaunchAnswerKind : uint8_t { kAccepted, kRefused, kUnknown };
struct LaunchAnswer {
  LaunchId launch;
  LaunchAnswerKind kind = LaunchAnswerKind::kUnknown;
  std::string external_id;
  std::optional<Error> error;
};
struct ObserveLaunch {
  LaunchObservation observation;
};
// The archive holds the job durably.
struct JobStored {
  JobId job;
};
// Control stops in good order; nothing is dispatched after it.
struct StopController {};
// Something is due by time alone: retries, leases, idle executors.
struct Tick {};

using Input = std::variant<ConfigureClusters, SubmitJob, CancelTasks, ExecutorHello, ExecutorReport,
                           ExecutorBeat, ExecutorHolds, ExecutorDisconnected, LaunchAnswer,
                           ObserveLaunch, JobStored, StopController, Tick>;

}  // namespace muster::core
