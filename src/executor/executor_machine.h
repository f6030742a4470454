// The protocol half of an executor: what it holds, what may start now, what must be reported. Pure:
// no I/O, no clock; everything that happens outside is one call with the time, what should happen
// comes back as actions, messages and the time of the next wake.
//
//     machine.OnMessage(message, now);
//     for (Action& action : machine.TakeActions()) Carry out;   // may call OnPublished ...
//     while (machine.TakeMessage(now, batch)) socket.Send(batch);
//     wake at machine.NextWake(), then call OnTime
//
// Promises: an attempt is started at most once, whatever is lost, doubled or late; a result is kept
// over any number of connections until it is acknowledged; "dropped" is said only of what never
// started and, up to that send number, never will; nothing starts after the lease has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "executor/attempt_table.h"
#include "executor/run_template.h"
#include "model/exit_facts.h"
#include "model/job_spec.h"

namespace muster::executor::v1 {
class Drain;
class FromController;
class FromExecutor;
class Hello;
class Run;
class Welcome;
}  // namespace muster::executor::v1

namespace muster::executor {

// Who this executor is: the content of its hello.
struct ExecutorIdentity {
  std::string version;
  ExecutorId executor;
  LaunchId launch;
  std::string store_id;
  std::string incarnation;  // random at each start of the process
  std::string boot_id;
  int64_t pid = 0;
  uint64_t pid_start_time = 0;
  std::string host;
  Resources capacity;
  uint32_t max_attempts = 0;  // 0: bounded by capacity alone
  std::vector<std::pair<std::string, std::string>> labels;
  std::string limits = "watched";
  std::string output_dir;
  std::string token;
};

// When to leave. What a welcome says replaces it.
struct ContactRules {
  // An executor that no controller has welcomed yet leaves after so long: whoever launched it is
  // gone, and it holds nothing.
  Duration leave_unwelcomed{std::chrono::seconds(10)};
  Duration leave_idle{std::chrono::minutes(10)};
  Duration leave_holding{std::chrono::hours(24)};
  Duration stop_orphaned{0};  // 0: never
};

// Run it. Answer with OnProgramStarted and OnProgramEnded, or OnProgramEnded alone.
struct StartAttempt {
  AttemptId attempt;
  std::shared_ptr<const RunTemplate> what;
  int64_t index = 0;
  std::string item;
  std::string out_name;
};
// Polite stop now, forced stop when the grace has passed (0: at once). May come again with less.
struct StopRunning {
  AttemptId attempt;
  StopCause cause = StopCause::kNone;
  Duration grace{0};
};
// Move {out} to its final place. Answer with OnPublished or OnPublishFailed.
struct PublishOutput {
  AttemptId attempt;
  uint32_t send = 0;
  std::shared_ptr<const RunTemplate> what;
  std::string out_name;
};
// The same for an attempt that another executor ran and that is gone since: it left its output
// below one of these folders, if anywhere. Answer in the same way.
struct PublishFound {
  AttemptId attempt;
  uint32_t send = 0;
  std::vector<std::shared_ptr<const RunTemplate>> candidates;
};
// Remove what the attempt left at {out}: it will not be published.
struct DiscardOutput {
  AttemptId attempt;
  std::shared_ptr<const RunTemplate> what;
  std::string out_name;
};
// Cut the connection and dial again.
struct CutConnection {
  std::string why;
};
// The process ends itself; the machine takes no more input.
struct Leave {
  std::string why;
};
using Action = std::variant<StartAttempt, StopRunning, PublishOutput, PublishFound, DiscardOutput,
                            CutConnection, Leave>;

class ExecutorMachine {
 public:
  ExecutorMachine(ExecutorIdentity identity, ContactRules rules, Now now);

  void OnConnected(Now now);
  void OnDisconnected(Now now);
  void OnMessage(const v1::FromController& message, Now now);
  void OnProgramStarted(AttemptId id, int64_t pid, WallTime started, Now now);
  void OnProgramEnded(AttemptId id, const ExitFacts& facts, int64_t pid, Now now);
  void OnPublished(AttemptId id, uint32_t send, Now now);
  void OnPublishFailed(AttemptId id, uint32_t send, int error_number, std::string what_failed,
                       Now now);
  // Asked from outside (SIGTERM): drains like the controller's Drain, and does not wait for a
  // controller that is not there.
  void OnAskedToLeave(Duration grace, std::string why, Now now);
  // Something of NextWake is due. Harmless at any time.
  void OnTime(Now now);

  std::vector<Action> TakeActions();
  // The next message to send, if there is one; `batch` is cleared first. Call until false.
  bool TakeMessage(Now now, v1::FromExecutor& batch);
  // When OnTime or TakeMessage has something to do although nothing happens.
  std::optional<BootTime> NextWake() const;

  const AttemptTable& attempts() const { return table_; }
  uint64_t highest_epoch() const { return highest_epoch_; }
  bool in_contact() const { return welcomed_; }
  BootTime lease_end() const { return lease_end_; }
  bool leaving() const { return drain_.has_value(); }
  bool left() const { return left_; }

 private:
  using Alarm = std::pair<BootTime, AttemptId>;
  // An attempt as a message names it.
  struct Named {
    AttemptId id;
    uint32_t send = 0;
  };
  struct PublishFailure {
    Named attempt;
    int error_number = 0;
    std::string what_failed;
  };
  struct Draining {
    std::string why;
    BootTime kill_by;
    // From the order to kill_by: what runs is asked politely before its last half begins.
    Duration grace{0};
    // How long it keeps results for a controller that is not there.
    Duration patience{0};
  };
  // Set by events, emptied by TakeMessage.
  struct Unsent {
    std::vector<AttemptId> started;
    BootTime started_since;
    std::vector<AttemptId> ended;
    std::vector<Named> dropped;
    std::vector<Named> published;
    std::vector<PublishFailure> publish_failed;
    std::vector<Named> unknown;
    bool full_list = false;
    bool heartbeat = false;
    bool drained = false;
  };

  // executor_machine.cc
  void OnWelcome(const v1::Welcome& welcome, Now now);
  void OnRun(const v1::Run& run, Now now);
  void OnRunHeld(HeldAttempt& held, uint32_t send);
  void OnRecall(Named named);
  void OnStop(Named named, StopCause cause, Duration grace, Now now);
  void OnAck(Named named, Now now);
  void OnPublish(Named named);
  void OnNotHeld(Named named);
  void OnForgetTemplate(uint64_t id);
  void SayAgain(HeldAttempt& held, uint32_t send);
  void Drop(HeldAttempt& held, uint32_t send);
  void Stop(HeldAttempt& held, StopCause cause, Duration grace, Now now);
  void Finish(HeldAttempt& held, const ExitFacts& facts, Now now);
  void StartWhatFits(Now now);

  // executor_machine_time.cc
  void SetAlarm(HeldAttempt& held);
  void ClearAlarm(HeldAttempt& held);
  Duration DrainGrace(const HeldAttempt& held) const;
  void FireAlarms(Now now);
  void BeginDrain(Draining drain);
  void LoseContact(Now now);
  void Cut(std::string why, Now now);
  void CheckContact(Now now);
  void CheckLeave(Now now);
  void LeaveNow(std::string why);
  std::optional<BootTime> LeaveAt() const;
  // After each input: what it made possible.
  void Settle(Now now);

  // executor_reports.cc
  void FillHello(Now now, v1::Hello& hello);
  bool ReportsAreDue(Now now) const;
  void FillReports(Now now, v1::FromExecutor& batch);
  void SayStarted(HeldAttempt& held, BootTime now);
  void SayEnded(HeldAttempt& held);

  const ExecutorIdentity identity_;
  AttemptTable table_;
  std::unordered_map<uint64_t, std::shared_ptr<const RunTemplate>> templates_;
  std::set<Alarm> alarms_;
  std::vector<Action> actions_;
  Unsent unsent_;

  bool connected_ = false;
  bool welcomed_ = false;
  bool hello_unsent_ = false;
  bool ever_welcomed_ = false;
  uint64_t highest_epoch_ = 0;
  ContactRules rules_;
  Duration lease_{std::chrono::seconds(30)};
  Duration heartbeat_{std::chrono::seconds(5)};
  BootTime hello_sent_;
  BootTime lease_end_;
  BootTime last_heard_;  // on this connection
  BootTime heartbeat_at_;
  BootTime contact_lost_;  // while not welcomed: since when
  BootTime last_ended_;    // the last time something ended, was acknowledged or published
  std::optional<Draining> drain_;
  bool left_ = false;
};

}  // namespace muster::executor
