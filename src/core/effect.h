// Effects: what must now be done outside. Control carries them out after the facts of the same step have
// reached the state of the journal that the effect asks for. Every effect is idempotent: after a restart
// it may be done again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/input.h"

namespace muster::core {

enum class After : uint8_t {
  kWritten,  // handed to the operating system: survives the death of any process
  kDurable,  // on the disk: survives a power cut
};

// Hand attempts over. Their tasks all belong to one TaskSpec.
struct RunAttempts {
  ExecutorId executor;
  TaskRange tasks;
  uint32_t n = 1;
  uint32_t send = 1;
};
struct RecallAttempt {
  ExecutorId executor;
  AttemptId attempt;
  uint32_t send = 0;
};
struct StopAttempt {
  ExecutorId executor;
  AttemptId attempt;
  uint32_t send = 0;
  StopCause cause = StopCause::kCancelled;
  Duration grace{0};
};
// The result is ours now: the executor may forget it.
struct AckAttempt {
  ExecutorId executor;
  AttemptId attempt;
  uint32_t send = 0;
};
// Publish the attempt's {out}. Goes to the executor that ran it, or to another of the cluster when that
// one is gone.
struct PublishAttempt {
  ExecutorId executor;
  AttemptId attempt;
  uint32_t send = 0;
};
// Answer to a hello. Refused: `refusal` says why; `leave` tells it to end itself.
struct WelcomeExecutor {
  ExecutorId executor;
  std::string incarnation;
  std::string refusal;
  bool leave = false;
};
struct AskHeld {
  ExecutorId executor;
};
struct DrainExecutor {
  ExecutorId executor;
  Duration grace{0};
  std::string why;
};

struct SubmitLaunch {
  std::string cluster;
  LaunchSpec spec;
};
struct StopLaunch {
  std::string cluster;
  LaunchId launch;
};
// Frees what is left of an ended launch.
struct ForgetLaunch {
  std::string cluster;
  LaunchId launch;
};
// Belief is in doubt: ask the cluster.
struct FindLaunch {
  std::string cluster;
  LaunchId launch;
};

struct Reply {
  ReplyToken token = 0;
  std::optional<Error> error;
  JobId job;               // SubmitJob
  bool repeated = false;   // the request id was known
  uint64_t ended = 0;      // CancelTasks: tasks ended at once
  uint64_t stopping = 0;   // CancelTasks: tasks whose end is awaited
};
// Something of the job changed that a watcher may want to know.
struct JobChanged {
  JobId job;
};
// The result of these tasks is final: their output may be shown, in this order.
struct TasksDone {
  TaskRange tasks;
};
// Move an ended job to the archive, then answer with JobStored.
struct StoreJob {
  JobId job;
};

using EffectBody =
    std::variant<RunAttempts, RecallAttempt, StopAttempt, AckAttempt, PublishAttempt,
                 WelcomeExecutor, AskHeld, DrainExecutor, SubmitLaunch, StopLaunch, ForgetLaunch,
                 FindLaunch, Reply, JobChanged, TasksDone, StoreJob>;
struct Effect {
  After after = After::kWritten;
  EffectBody body;
};
using Effects = std::vector<Effect>;

}  // namespace muster::core
