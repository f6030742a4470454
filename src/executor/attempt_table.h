// Everything the executor holds, what it has held lately, and how much room is taken. Pure; part of
// ExecutorMachine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/ids.h"
#include "executor/run_template.h"
#include "model/exit_facts.h"
#include "model/job_spec.h"

namespace muster::executor {

enum class Phase : uint8_t {
  kWaiting,   // for room, for the lease
  kStarting,  // its start was ordered: from here on it counts as started
  kRunning,
  kStopping,
  kFinished,      // the result is not acknowledged
  kAcknowledged,  // its {out} waits to be published
};

struct HeldAttempt {
  AttemptId id;
  uint32_t send = 0;
  Phase phase = Phase::kWaiting;
  uint64_t template_id = 0;
  std::shared_ptr<const RunTemplate> what;
  int64_t index = 0;
  std::string item;
  std::string out_name;
  int64_t pid = 0;
  WallTime started;
  std::optional<BootTime> limit_at;  // its time limit
  std::optional<BootTime> alarm;     // in ExecutorMachine's alarms
  BootTime kill_at;                  // kStopping: when the grace ends
  ExitFacts facts;                   // from kFinished on
  // In the machine's list of reports to send.
  bool started_unsaid = false;
  bool ended_unsaid = false;
};

// How an attempt that is no longer held left the table.
enum class Past : uint8_t { kDropped, kAcknowledged, kPublished };

class AttemptTable {
 public:
  struct Room {
    Resources size;
    uint32_t max_attempts = 0;  // 0: bounded by `size` alone
  };
  struct PastAttempt {
    Past how = Past::kDropped;
    uint32_t send = 0;
  };
  // So many attempts are remembered after they left: a late or doubled message finds its answer.
  static constexpr size_t kRemembered = 16384;

  explicit AttemptTable(Room room) : room_(std::move(room)) {}

  // References stay valid until Forget.
  HeldAttempt* Find(AttemptId id);
  std::optional<PastAttempt> FindPast(AttemptId id) const;
  // A new one, waiting behind the others; not held before.
  HeldAttempt& Add(HeldAttempt attempt);
  // The first that waits, if there is room for it now. What is bigger than the whole executor gets
  // its turn when nothing else runs.
  HeldAttempt* NextThatFits();
  void SetPhase(HeldAttempt& attempt, Phase phase);
  void SetSend(HeldAttempt& attempt, uint32_t send);
  void Forget(HeldAttempt& attempt, Past how);
  // Never held here, and never will be with a send number up to this one.
  void RememberDropped(AttemptId id, uint32_t send) { Remember(id, Past::kDropped, send); }

  void RememberPublished(AttemptId id, uint32_t send) { Remember(id, Past::kPublished, send); }

  // Waiting, starting, running or stopping: what a heartbeat counts.
  size_t held_count() const { return held_; }
  uint64_t held_hash() const { return hash_; }
  size_t running() const { return running_; }  // starting and stopping ones too
  size_t finished() const { return finished_; }
  size_t unpublished() const { return unpublished_; }
  const std::unordered_map<AttemptId, HeldAttempt>& all() const { return attempts_; }
  std::unordered_map<AttemptId, HeldAttempt>& all() { return attempts_; }

 private:
  bool Fits(const HeldAttempt& attempt) const;
  void Count(const HeldAttempt& attempt, int by);
  void Remember(AttemptId id, Past how, uint32_t send);

  Room room_;
  std::unordered_map<AttemptId, HeldAttempt> attempts_;
  // In order of arrival; may name attempts that no longer wait.
  std::deque<AttemptId> queue_;
  std::unordered_map<AttemptId, PastAttempt> past_;
  std::deque<AttemptId> past_order_;
  size_t held_ = 0;
  uint64_t hash_ = 0;
  size_t running_ = 0;
  size_t finished_ = 0;
  size_t unpublished_ = 0;
  MilliCpu used_cpus_;
  Bytes used_memory_;
};

}  // namespace muster::executor
