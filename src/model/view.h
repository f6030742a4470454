// What can be asked about the state: the answers of the API, built by control, rendered to JSON and
// read back by wire, shown by cli. Plain values; nothing here is ever journaled.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/end_reason.h"
#include "model/exit_facts.h"
#include "model/job_spec.h"

namespace muster {

enum class TaskState : uint8_t { kWaiting, kReady, kHeld, kActive, kEnded };
enum class AttemptState : uint8_t {
  kPlanned,
  kSent,
  kRecalling,
  kStarting,
  kRunning,
  kStopping,
  kEnded
};
enum class LaunchState : uint8_t { kPlanned, kSent, kStarting, kUp, kStopping, kEnded };
enum class ExecutorState : uint8_t { kRegistered, kServing, kDraining, kGone };

std::string_view ToString(TaskState state);
std::string_view ToString(AttemptState state);
std::string_view ToString(LaunchState state);
std::string_view ToString(ExecutorState state);
std::optional<TaskState> ParseTaskState(std::string_view word);
std::optional<AttemptState> ParseAttemptState(std::string_view word);
std::optional<LaunchState> ParseLaunchState(std::string_view word);
std::optional<ExecutorState> ParseExecutorState(std::string_view word);

// Counts of a job's tasks.
struct TaskCounts {
  uint64_t waiting = 0;
  uint64_t ready = 0;
  uint64_t held = 0;
  uint64_t active = 0;   // handed to an executor: sent, starting, running or stopping
  uint64_t running = 0;  // of the active ones, those whose process runs
  std::array<uint64_t, kEndKinds> ended{};  // by EndKind
  uint64_t total() const {
    uint64_t sum = waiting + ready + held + active;
    for (uint64_t n : ended) sum += n;
    return sum;
  }
  uint64_t ended_total() const {
    uint64_t sum = 0;
    for (uint64_t n : ended) sum += n;
    return sum;
  }
  uint64_t ok() const { return ended[static_cast<size_t>(EndKind::kOk)]; }
  uint64_t cancelled() const { return ended[static_cast<size_t>(EndKind::kCancelled)]; }
  // Ended, neither ok nor cancelled.
  uint64_t failed() const { return ended_total() - ok() - cancelled(); }
  friend bool operator==(const TaskCounts&, const TaskCounts&) = default;
};

struct JobView {
  JobId id;
  std::string name;
  std::string owner;
  std::string cwd;
  std::string cluster;
  int32_t priority = 0;
  WallTime submitted;
  std::optional<WallTime> first_started;
  std::optional<WallTime> ended;
  bool cancel_requested = false;
  TaskCounts counts;
  uint64_t attempts = 0;  // ended attempts, all tasks
  // The first task that ended neither ok nor cancelled, if any.
  std::optional<TaskId> first_failure;
  // For each TaskSpec: name, number of its first task, how many.
  struct SpecView {
    std::string name;
    uint32_t first_task = 0;
    uint64_t count = 0;
    TaskCounts counts;
    // No other task needs it: its output is what `run` prints.
    bool leaf = false;
    friend bool operator==(const SpecView&, const SpecView&) = default;
  };
  std::vector<SpecView> specs;
  friend bool operator==(const JobView&, const JobView&) = default;
};

struct AttemptView {
  AttemptId id;
  AttemptState state = AttemptState::kPlanned;
  ExecutorId executor;
  std::string host;
  uint32_t send = 0;
  WallTime planned;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  std::optional<EndReason> reason;
  std::optional<ExitFacts> facts;  // with an end that a process had
  int64_t pid = 0;                 // while it runs, 0 if unknown
  bool accepted = false;           // its result became the task's
  bool may_overlap = false;        // started while an earlier one might still have run
  friend bool operator==(const AttemptView&, const AttemptView&) = default;
};

// Why a task is where it is: exactly one cause.
enum class WhyCause : uint8_t {
  kDependency,    // waits for the tasks it needs
  kArrayCap,      // as many of its array run as the cap allows
  kSharedLimit,
  kQuota,
  kNoExecutor,    // none is up (starting, or start failed)
  kNoRoom,        // executors are up, all full
  kSize,          // only a pool not yet grown could hold it
  kImage,
  kThrottled,
  kHold,
  kBackOff,       // waits before its next attempt
  kDiskFull,      // the store cannot take new facts
  kNotPlaced,     // will be looked at in this pass
  kSent,          // on its way to, or prefetched by, an executor
  kRunning,
  kStopping,
  kContactLost,   // its executor is silent
  kPublishing,    // succeeded; its output is being published
  kEnded,
};
std::string_view ToString(WhyCause cause);
std::optional<WhyCause> ParseWhyCause(std::string_view word);

struct WhyView {
  TaskId task;
  WhyCause cause = WhyCause::kNotPlaced;
  // One line for people: names the cause with all figures.
  std::string sentence;
  // The figures by name, for programs: {"cap", "50"}, {"running", "50"}.
  std::vector<std::pair<std::string, std::string>> figures;
  friend bool operator==(const WhyView&, const WhyView&) = default;
};

struct TaskView {
  TaskId id;
  std::string name;             // of its TaskSpec
  uint32_t position = 0;        // in its TaskSpec, from 1: j12.count.7
  std::optional<int64_t> index; // array index
  std::optional<std::string> item;
  TaskState state = TaskState::kWaiting;
  std::optional<EndReason> reason;  // ended
  uint32_t attempts = 0;            // begun so far
  std::optional<WallTime> retry_at;
  std::optional<AttemptView> last_attempt;
  friend bool operator==(const TaskView&, const TaskView&) = default;
};

// Everything of one task: `muster info j12.500`.
struct TaskDetail {
  TaskView task;
  std::string command;  // as it was or would be run, placeholders filled
  std::string cwd;
  Resources request;
  std::optional<Bytes> memory_limit;
  std::optional<Duration> time_limit;
  RetryBudgets retries;
  std::vector<AttemptView> attempts;
  WhyView why;
  friend bool operator==(const TaskDetail&, const TaskDetail&) = default;
};

struct ExecutorView {
  ExecutorId id;
  LaunchId launch;
  std::string cluster;
  std::string host;
  int64_t pid = 0;
  ExecutorState state = ExecutorState::kRegistered;
  bool in_contact = false;
  WallTime registered;
  Resources capacity;
  Resources free;
  uint64_t held = 0;     // attempts it holds
  uint64_t running = 0;
  std::string gone_why;
  friend bool operator==(const ExecutorView&, const ExecutorView&) = default;
};

struct ServerView {
  std::string version;
  std::string store_id;
  uint64_t epoch = 0;
  int64_t pid = 0;
  WallTime started;
  uint64_t jobs_active = 0;
  std::string state_dir;
  friend bool operator==(const ServerView&, const ServerView&) = default;
};

// One page of a list. `next` is the cursor of the following page, "" on the last one.
template <typename T>
struct Page {
  std::vector<T> items;
  std::string next;
  uint64_t total = 0;
};

}  // namespace muster
