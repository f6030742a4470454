// One call of Step: what its parts share. Internal to core.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/apply.h"
#include "core/apply_parts.h"
#include "core/effect.h"
#include "core/state_rep.h"

namespace muster::core {

// Periods and limits of the rules of life. Leases count on the boot clock.
inline constexpr Duration kLease = std::chrono::seconds(30);
inline constexpr Duration kLeaseMargin = std::chrono::seconds(10);
inline constexpr Duration kHeartbeat = std::chrono::seconds(5);
// Without a sign of life for so long an executor counts as out of contact.
inline constexpr Duration kSilence = kHeartbeat * 3;
// A step that comes so much later than it was due: the loop stood still, leases count anew.
inline constexpr Duration kStall = kHeartbeat;
inline constexpr Duration kLookAgain = std::chrono::seconds(10);
inline constexpr Duration kLookAtStart = std::chrono::seconds(20);
// An executor that has not said hello so long after its launch was planned: the start failed.
inline constexpr Duration kHelloLimit = std::chrono::minutes(5);
inline constexpr Duration kKeepEndedJob = std::chrono::hours(1);
inline constexpr Duration kStoreAgain = std::chrono::minutes(10);
inline constexpr Duration kKeepGone = std::chrono::hours(1);
inline constexpr Duration kFirstStartDelay = std::chrono::seconds(1);
inline constexpr Duration kLongestStartDelay = std::chrono::seconds(60);
inline constexpr uint32_t kStartsBeforeGivingUp = 5;
inline constexpr uint32_t kPublishTries = 6;
// Attempts that wait behind others for so long are taken back when there is room elsewhere.
inline constexpr Duration kStealAfter = std::chrono::milliseconds(100);

struct Turn {
  State& state;
  StateRep& rep;
  Now now;
  Facts& facts;
  Effects& effects;
  // Tasks of this input that succeeded; they end together, as ranges (EndDone).
  std::vector<std::pair<Job*, uint32_t>> done{};

  void Emit(Fact fact) {
    facts.push_back(std::move(fact));
    Apply(state, facts.back());
  }
  void Do(After after, EffectBody body) { effects.push_back({after, std::move(body)}); }
  void ScanBy(BootTime due) {
    if (due < rep.live.next_scan) rep.live.next_scan = due;
  }
};

// True while something says it is alive.
inline bool InContact(const Executor& executor, BootTime now) {
  return executor.connected && now - executor.heard < kSilence;
}
// May be given work.
inline bool Usable(const Executor& executor, BootTime now) {
  return executor.state == ExecutorState::kServing && InContact(executor, now);
}
// The dispatch of what must not run twice, and every later word about it, waits for the disk.
inline After AfterFor(const SpecState& spec) {
  return spec.once ? After::kDurable : After::kWritten;
}
inline bool EndWanted(const Attempt& attempt) {
  return attempt.job->cancel.has_value() || attempt.stop_cause == StopCause::kCancelled;
}

// -- decide_jobs.cc
void OnSubmit(Turn& turn, const SubmitJob& input);
void OnCancel(Turn& turn, const CancelTasks& input);
void OnStored(Turn& turn, const JobStored& input);

// -- decide_ends.cc
// Ends tasks of one TaskSpec that have no live attempt, and what cannot go on without them.
void EndTasks(Turn& turn, Job& job, uint32_t spec, TaskRange tasks, const EndReason& reason);
// Ends what waits for a TaskSpec of which a task did not succeed.
void EndDependants(Turn& turn, Job& job, uint32_t spec);
void EndDone(Turn& turn);
void EndJobIfOver(Turn& turn, Job& job);
// After the accepted end of an attempt: publishing, retry, or the end of the task.
void Settle(Turn& turn, Job& job, uint32_t task, const EndReason& reason);
void OnFinished(Turn& turn, Executor& executor, const FinishedAttempt& finished);
// Proof that it never started.
void OnNeverStarted(Turn& turn, Executor& executor, AttemptId attempt, uint32_t send);
enum class LossKind : uint8_t {
  kProven,        // its executor is dead
  kOutOfContact,  // rule (d)
  kForgotten,     // its executor lives and does not know it
};
void EndLost(Turn& turn, Job& job, uint32_t task, LossKind kind, const std::string& detail);

// -- decide_publish.cc
void StartPublishing(Turn& turn, Job& job, uint32_t task);
void OnPublished(Turn& turn, AttemptId attempt);
void OnPublishFailed(Turn& turn, const ExecutorReport::PublishFailure& failure);
// Asks again, or another executor, where the one asked is gone or silent, or where it is time.
void GoOnPublishing(Turn& turn);

// -- decide_executors.cc
void OnHello(Turn& turn, const ExecutorHello& input);
void OnReport(Turn& turn, const ExecutorReport& input);
void OnBeat(Turn& turn, const ExecutorBeat& input);
void OnHolds(Turn& turn, const ExecutorHolds& input);
void OnDisconnected(Turn& turn, const ExecutorDisconnected& input);
void StopHeld(Turn& turn, const Executor& executor, AttemptId attempt, uint32_t send);

// -- decide_launches.cc
void OnLaunchAnswer(Turn& turn, const LaunchAnswer& input);
void OnObservation(Turn& turn, const LaunchObservation& observation);
// It is dead for certain: its attempts end at once.
void EndExecutor(Turn& turn, Executor& executor, const std::string& why);
void DrainIt(Turn& turn, Executor& executor, const std::string& why);
LaunchSpec SpecOfLaunch(const StateRep& rep, const Launch& launch);

// -- decide_time.cc
// What a controller does first: whatever the last one had decided but may not have done.
void Resume(Turn& turn);
void CountLeasesAnew(Turn& turn);
void DoWhatIsDue(Turn& turn);

// -- placement/placement.cc
void Place(Turn& turn);
// -- scaling/scaling.cc
void Scale(Turn& turn);
// When a further start may be tried after failures.
std::optional<WallTime> NextStart(const Pool& pool);
// Executors that what waits in the pool would fill.
uint64_t ExecutorsWanted(const StateRep& rep, uint32_t cluster);

}  // namespace muster::core
