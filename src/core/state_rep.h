// The columns and indexes behind State. Everything that Apply keeps is rebuilt from facts; what is marked
// "live" is not: contact, configuration, and what Decide has to remember between two steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/column/ended_column.h"
#include "core/column/state_column.h"
#include "core/column/task_map.h"
#include "core/fact.h"
#include "core/input.h"
#include "core/lifecycle/transition_table.h"
#include "core/placement/amounts.h"
#include "core/retry/retry_policy.h"

namespace muster::core {

struct Job;
struct Executor;

// What one TaskSpec of a job has beyond its text: 64 bytes, so that a graph of 100,000 tasks stays small.
struct SpecState {
  uint32_t first = 0;  // number of its first task
  uint32_t count = 0;
  uint32_t cursor = 0;  // no task below this number is ready
  uint32_t fresh = 0;   // tasks never touched
  uint32_t again = 0;   // ready for a further send or attempt
  uint32_t live = 0;    // active
  uint32_t ended = 0;
  uint32_t bad = 0;         // ended other than ok
  uint32_t needs_left = 0;  // needed TaskSpecs that have not succeeded whole
  uint32_t ready_class = 0;
  uint32_t offered = 0;       // its share of ReadyClass::demand while it is in the queue
  uint32_t mean_wall_us = 0;  // moving mean of what its attempts took
  uint32_t cap = 0;
  uint16_t samples = 0;
  bool released = false;  // its needs are met
  bool uses_out = false;
  bool once = false;
  uint32_t last() const { return first + count - 1; }
  uint32_t ready() const { return (released ? fresh : 0) + again; }
};

// A task that is not at its first send of its first attempt.
struct Trouble {
  uint32_t ended = 0;  // attempts that ended
  uint32_t send = 1;   // of the next hand-over
  Charges charges{};
  WallTime not_before;
  ExecutorId last_executor;     // of the attempt that ended last
  ExecutorId dropped_by;        // who gave the last send back
  bool infrastructure = false;  // the last end was of that class: go elsewhere
  bool unconfirmed = false;     // the last end was declared by rule (d)
};

// An attempt that has not ended, or has ended and is not settled: neither retried nor the task's end
// (its output is being published).
struct Attempt {
  Job* job = nullptr;
  uint32_t task = 0;
  uint32_t spec = 0;
  uint32_t n = 0;
  uint32_t send = 0;
  AttemptState state = AttemptState::kSent;
  StopCause stop_cause = StopCause::kNone;
  EndKind end_kind = EndKind::kOk;
  int32_t end_number = 0;
  bool end_detail = false;
  bool end_unconfirmed = false;
  bool may_overlap = false;
  bool counted = false;  // takes room on its executor; otherwise it waits there for room
  Executor* executor = nullptr;
  WallTime planned;
  WallTime started;
  WallTime stopping;
  WallTime ended;
  int64_t pid = 0;
  uint32_t prev = 0;  // of the same executor; 0: none
  uint32_t next = 0;
  TaskId id() const;
  AttemptId attempt_id() const { return {id(), n}; }
};

// Ends that no attempt tells of: cancelled, dependency, an output that was not published.
struct EndNote {
  uint32_t count = 0;
  EndReason reason;
  WallTime at;
};

struct QueueKey {
  int64_t priority = 0;  // negated: lower goes first
  uint64_t job = 0;
  uint32_t spec = 0;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

// Ready tasks that any executor with room takes alike.
struct ReadyClass {
  uint32_t cluster = 0;
  Resources request;
  std::optional<Duration> needs_time;
  Amounts need;
  std::map<QueueKey, Job*> queue;
  uint64_t demand = 0;  // tasks that could start if there were room
  bool news = false;    // demand grew since the last placement
};

struct Job {
  Job(JobId job, uint32_t task_count, WallTime at)
      : id(job), submitted(at), codes(task_count), ended_attempts(task_count, at) {}
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  std::string owner;
  std::string request_id;
  uint32_t cluster = 0;
  WallTime submitted;
  std::optional<WallTime> first_started;
  std::optional<WallTime> ended;
  std::optional<JobCancelRequested> cancel;
  std::optional<std::pair<WallTime, uint32_t>> first_failure;
  StateColumn codes;
  EndedColumn ended_attempts;
  CodeCounts counts{};
  uint64_t waiting = 0;  // fresh tasks whose needs are not met
  std::vector<SpecState> specs;
  // TaskSpecs that need spec s: dependants[dependants_begin[s]] up to dependants_begin[s + 1].
  std::vector<uint32_t> dependants_begin;
  std::vector<uint32_t> dependants;
  TaskMap<uint32_t> attempts;  // task -> StateRep::attempts
  TaskMap<Trouble> trouble;
  std::vector<uint64_t> executors;  // that its attempts were on, sorted
  std::map<uint32_t, EndNote> notes;  // by first task
  bool changed = false;               // live: a JobChanged is due
  std::optional<WallTime> store_asked;  // live

  uint32_t task_count() const { return codes.size(); }
  uint32_t SpecOf(uint32_t task) const;
  uint64_t EndedTasks() const;
};

struct AttemptList {
  uint32_t head = 0;
  uint32_t tail = 0;
  uint32_t size = 0;
};

struct Executor {
  ExecutorRegistered who;
  ExecutorState state = ExecutorState::kServing;
  std::string why;    // draining or gone
  WallTime changed;   // since when
  uint32_t cluster = 0;
  Amounts capacity;
  Amounts free;
  AttemptList counted;  // take room
  AttemptList extra;    // wait there for room, in order
  uint32_t running = 0;
  uint64_t held_hash = 0;
  uint32_t jobs = 0;  // whose history names it
  bool dirty = false;
  // Live.
  bool connected = false;
  BootTime heard;                      // when it was last heard of
  std::optional<BootTime> idle_since;  // holds nothing
  std::optional<WallTime> asked_held;
  BootTime look_at;                    // next FindLaunch while out of contact
  uint32_t held() const { return counted.size + extra.size; }
};

struct Launch {
  LaunchPlanned planned;
  uint32_t cluster = 0;
  LaunchState state = LaunchState::kPlanned;
  std::string external_id;
  EndReason end;
  std::string words;  // why it is stopping or ended
  WallTime stopping;
  WallTime ended;
  bool registered = false;  // its executor said hello
  uint64_t epoch = 0;       // in which it was planned: stands in its name
  // Live.
  BootTime look_at;
};

// A named cluster: what was configured (live) and what was seen of its launches.
struct Pool {
  std::string name;
  uint32_t launches = 0;  // not ended
  uint32_t starting = 0;  // not ended, not stopping, executor not yet there
  uint32_t failures = 0;  // starts in a row without success
  WallTime last_failure;
  std::string last_words;
  std::vector<Executor*> executors;  // not gone
  // Live.
  std::optional<ClusterSettings> settings;
  Amounts size;  // of one executor, as configured
  uint32_t ramp = 1;
};

// Live: a task that succeeded and whose output is being published.
struct Publishing {
  ExecutorId executor;
  uint32_t tries = 0;
  std::optional<WallTime> again;  // after a full disk
  bool asked = false;
};

struct Live {
  bool configured = false;
  bool resumed = false;  // what a start has to do was done
  bool stopped = false;
  std::string default_cluster;
  std::string store_id;
  uint64_t first_job = 1;
  BootTime started;    // when leases began to count
  BootTime last_step;
  WallTime last_wall;
  BootTime next_scan;  // executors and launches need a look
  BootTime steal_at;   // next look for attempts that wait behind others
  std::map<TaskId, Publishing> publishing;
};

class StateRep {
 public:
  StateRep();
  // Finding gives nullptr for what is not there.
  Job* FindJob(JobId job);
  const Job* FindJob(JobId job) const { return const_cast<StateRep*>(this)->FindJob(job); }
  Executor* FindExecutor(ExecutorId executor);
  const Executor* FindExecutor(ExecutorId id) const {
    return const_cast<StateRep*>(this)->FindExecutor(id);
  }
  Launch* FindLaunch(LaunchId launch);
  const Launch* FindLaunch(LaunchId id) const { return const_cast<StateRep*>(this)->FindLaunch(id); }
  Attempt* FindAttempt(Job& job, uint32_t task);
  const Attempt* FindAttempt(const Job& job, uint32_t task) const;
  // The pool of this name, made when it is new.
  uint32_t PoolIndex(const std::string& name);
  uint32_t ClassIndex(uint32_t cluster, const Resources& request, std::optional<Duration> needs_time);
  Amounts AmountsOf(const Resources& resources);
  // The same with the bound on attempts at once; 0: none.
  Amounts CapacityOf(const Resources& resources, uint32_t max_attempts);

  // Puts a TaskSpec into its class's queue, or takes it out, after any change of what it has ready.
  void Requeue(Job& job, uint32_t spec);
  // Jobs up to this one wait until executors have reported (after a power cut); 0: none.
  void HoldBack(uint64_t job);
  bool HeldBack(const Job& job) const { return job.id.number <= hold_back; }
  // The job's history names this executor: it is kept as long as the job is.
  void NoteUse(Job& job, Executor& executor);
  // Takes a job out, and executors and launches that were over before it ended and that no job names.
  void RemoveJob(Job& job);
  void MarkDirty(Executor& executor);
  void MarkChanged(Job& job);

  size_t MemoryBytes() const;

  // A fact that does not fit: aborts, or sets the task aside. `task` may be 0 for none.
  void OnBug(Job* job, uint32_t task, const std::string& what);

  const TransitionTable* table = &DefaultTransitions();
  enum class BugRule : uint8_t { kAbort, kSetAside };
#ifdef NDEBUG
  BugRule on_bug = BugRule::kSetAside;
#else
  BugRule on_bug = BugRule::kAbort;
#endif
  std::map<TaskId, std::string> set_aside;
  uint64_t bugs = 0;

  uint64_t epoch = 0;
  bool clean = true;
  WallTime started_at;
  WallTime stopped_at;
  std::string boot_id;
  bool after_power_cut = false;  // the last start: unclean, and on another boot
  uint64_t last_job = 0;
  uint64_t last_executor = 0;
  uint64_t last_launch = 0;
  uint64_t hold_back = 0;

  std::map<uint64_t, std::unique_ptr<Job>> jobs;
  std::unordered_map<std::string, JobId> requests;
  std::set<std::pair<WallTime, uint64_t>> ended_jobs;
  std::vector<Attempt> attempts;  // 0 is not used
  std::vector<uint32_t> free_attempts;
  std::set<std::pair<WallTime, TaskId>> retries;  // BackOff tasks by time
  std::map<uint64_t, std::unique_ptr<Executor>> executors;
  std::map<uint64_t, Launch> launches;
  std::set<uint64_t> open_launches;  // not ended
  std::vector<std::unique_ptr<Pool>> pools;
  std::map<std::string, uint32_t> pool_index;
  std::vector<std::string> resource_names;
  std::vector<std::unique_ptr<ReadyClass>> classes;
  std::vector<uint32_t> open_classes;  // with something in the queue
  uint64_t waiting_there = 0;  // attempts that wait on an executor for room

  std::vector<ExecutorId> dirty;
  std::vector<JobId> changed;
  bool news = false;  // some class has news
  Live live;

 private:
  Job* last_found_job_ = nullptr;
  Executor* last_found_executor_ = nullptr;
};

// The last end of an attempt of this task that was accepted.
std::optional<EndedAttempt> LastAccepted(const Job& job, uint32_t task);
// Why an ended task ended.
EndReason ReasonOf(const Job& job, uint32_t task);

inline TaskId Attempt::id() const { return {job->id, task}; }

}  // namespace muster::core
