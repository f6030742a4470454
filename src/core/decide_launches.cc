// What clusters say of launches.
#include <fmt/format.h>

#include "core/turn.h"

namespace muster::core {
namespace {

bool Knows(const Turn& turn, const Launch& launch, LaunchEvent event) {
  return turn.rep.table->At(NodeOf(launch.state), event).kind != RuleKind::kIgnore;
}

void EndLaunch(Turn& turn, Launch& launch, EndReason reason, std::string words) {
  if (!Knows(turn, launch, LaunchEvent::kEnded)) return;
  turn.Emit(LaunchEnded{launch.planned.launch, std::move(reason), std::move(words), turn.now.wall});
  turn.Do(After::kDurable, ForgetLaunch{launch.planned.cluster, launch.planned.launch});
}

// "exit code 3: OutOfCpu", "gone"
std::string WordsOf(const LaunchObservation& seen) {
  std::string words;
  if (seen.exit_signal) {
    words = fmt::format("killed by signal {}", *seen.exit_signal);
  } else if (seen.exit_code) {
    words = fmt::format("exit code {}", *seen.exit_code);
  } else {
    words = seen.phase == LaunchPhase::kAbsent ? "it is not there" : "it ended";
  }
  if (!seen.raw_reason.empty()) words += ": " + seen.raw_reason;
  return words;
}

EndReason ReasonOf(const Launch& launch, const LaunchObservation& seen, const std::string& words) {
  if (launch.state == LaunchState::kStopping) return {EndKind::kCancelled, 0, launch.words};
  if (!launch.registered) return {EndKind::kStartFailed, 0, words};
  if (seen.exit_signal) return {EndKind::kSignal, *seen.exit_signal};
  if (seen.exit_code && *seen.exit_code != 0) return {EndKind::kFailed, *seen.exit_code};
  return {seen.exit_code ? EndKind::kOk : EndKind::kUnknown, 0, ""};
}

void OnEndSeen(Turn& turn, Launch& launch, const LaunchObservation& seen) {
  // Gone at a node that cannot be asked is no proof: lease and margin rule.
  if (!seen.confirmed) return;
  std::string words = WordsOf(seen);
  if (Executor* executor = turn.rep.FindExecutor(launch.planned.executor)) {
    EndExecutor(turn, *executor, words);
  }
  EndLaunch(turn, launch, ReasonOf(launch, seen, words), words);
}

}  // namespace

LaunchSpec SpecOfLaunch(const StateRep& rep, const Launch& launch) {
  LaunchSpec spec;
  spec.id = launch.planned.launch;
  spec.owner = {rep.live.store_id, launch.epoch};
  spec.executor = launch.planned.executor;
  spec.size = launch.planned.size;
  spec.max_attempts = launch.planned.max_attempts;
  return spec;
}

void OnLaunchAnswer(Turn& turn, const LaunchAnswer& input) {
  Launch* launch = turn.rep.FindLaunch(input.launch);
  if (launch == nullptr) return;
  switch (input.kind) {
    case LaunchAnswerKind::kAccepted:
      if (Knows(turn, *launch, LaunchEvent::kAccepted)) {
        turn.Emit(LaunchSent{input.launch, input.external_id});
      }
      break;
    case LaunchAnswerKind::kRefused: {
      // A repeat may be refused because the first went through: what said hello lives.
      if (launch->registered) break;
      std::string words = input.error ? input.error->ToString() : "refused";
      EndReason reason{EndKind::kStartFailed, 0, words};
      if (launch->state == LaunchState::kStopping) reason.kind = EndKind::kCancelled;
      EndLaunch(turn, *launch, std::move(reason), std::move(words));
      break;
    }
    case LaunchAnswerKind::kUnknown:
      if (launch->state == LaunchState::kEnded) break;
      turn.Do(After::kWritten, FindLaunch{launch->planned.cluster, input.launch});
      launch->look_at = turn.now.boot + kLookAgain;
      turn.ScanBy(launch->look_at);
      break;
  }
}

void OnObservation(Turn& turn, const LaunchObservation& seen) {
  Launch* launch = turn.rep.FindLaunch(seen.id);
  if (launch == nullptr || launch->state == LaunchState::kEnded) return;
  launch->look_at = turn.now.boot + kLookAtStart;
  switch (seen.phase) {
    case LaunchPhase::kUnknown: break;
    case LaunchPhase::kPending:
      if (Knows(turn, *launch, LaunchEvent::kStarting)) {
        turn.Emit(LaunchObserved{seen.id, LaunchState::kStarting});
      }
      break;
    case LaunchPhase::kRunning:
      if (Knows(turn, *launch, LaunchEvent::kUp)) {
        turn.Emit(LaunchObserved{seen.id, LaunchState::kUp});
      }
      break;
    case LaunchPhase::kEnded:
    case LaunchPhase::kAbsent: OnEndSeen(turn, *launch, seen); break;
  }
}

void EndExecutor(Turn& turn, Executor& executor, const std::string& why) {
  if (turn.rep.table->At(NodeOf(executor.state), ExecutorEvent::kGone).kind == RuleKind::kIgnore) {
    return;
  }
  turn.Emit(ExecutorGone{executor.who.executor, why, turn.now.wall});
  std::string detail = fmt::format("{}: {}", Render(executor.who.executor), why);
  for (const AttemptList* list : {&executor.counted, &executor.extra}) {
    while (list->head != 0) {
      const Attempt& attempt = turn.rep.attempts[list->head];
      EndLost(turn, *attempt.job, attempt.task, LossKind::kProven, detail);
    }
  }
  for (auto& [task, publishing] : turn.rep.live.publishing) {
    if (publishing.executor == executor.who.executor) publishing.asked = false;
  }
  GoOnPublishing(turn);
}

void DrainIt(Turn& turn, Executor& executor, const std::string& why) {
  turn.Emit(ExecutorDraining{executor.who.executor, why, turn.now.wall});
  turn.Do(After::kWritten, DrainExecutor{executor.who.executor, Duration{0}, why});
}

}  // namespace muster::core
