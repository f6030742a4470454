#include "core/lifecycle/transition_table.h"

#include <fmt/format.h>

#include <map>

namespace muster::core {
namespace {

constexpr std::array<std::string_view, 6> kTaskNodes = {"Waiting", "Ready",  "BackOff",
                                                        "Held",    "Active", "Ended"};
constexpr std::array<std::string_view, 6> kTaskEvents = {"NeedsMet",     "Planned",  "Dropped",
                                                         "RetryPlanned", "RetryDue", "Ended"};
constexpr std::array<std::string_view, 8> kAttemptNodes = {
    "None", "Planned", "Sent", "Recalling", "Starting", "Running", "Stopping", "Ended"};
constexpr std::array<std::string_view, 6> kAttemptEvents = {"Planned", "Started",  "Recalled",
                                                            "Dropped", "Stopping", "Ended"};
constexpr std::array<std::string_view, 7> kLaunchNodes = {"None", "Planned",  "Sent", "Starting",
                                                          "Up",   "Stopping", "Ended"};
constexpr std::array<std::string_view, 6> kLaunchEvents = {"Planned", "Accepted", "Starting",
                                                           "Up",      "Stopping", "Ended"};
constexpr std::array<std::string_view, 5> kExecutorNodes = {"None", "Registered", "Serving",
                                                            "Draining", "Gone"};
constexpr std::array<std::string_view, 4> kExecutorEvents = {"Hello", "Restart", "Draining", "Gone"};

template <typename Rows, typename State, typename Event>
constexpr void Move(Rows& rows, State from, Event event, State to) {
  rows[static_cast<size_t>(from)][static_cast<size_t>(event)] = {RuleKind::kMove,
                                                                 static_cast<uint8_t>(to), ""};
}
template <typename Rows, typename State, typename Event>
constexpr void Ignore(Rows& rows, State from, Event event, const char* reason) {
  rows[static_cast<size_t>(from)][static_cast<size_t>(event)] = {RuleKind::kIgnore, 0, reason};
}

constexpr void AddTasks(TransitionTable& table) {
  using S = TaskNode;
  using E = TaskEvent;
  auto& t = table.task;
  Move(t, S::kWaiting, E::kNeedsMet, S::kReady);
  // Only by adoption: its needs had ended, but that was lost in a power cut.
  Move(t, S::kWaiting, E::kPlanned, S::kActive);
  Move(t, S::kReady, E::kPlanned, S::kActive);
  // Only by adoption: the attempt was planned, but that was lost in a power cut.
  Move(t, S::kBackOff, E::kPlanned, S::kActive);
  Move(t, S::kActive, E::kDropped, S::kReady);
  Move(t, S::kActive, E::kRetryPlanned, S::kBackOff);
  Move(t, S::kBackOff, E::kRetryDue, S::kReady);
  for (S state : {S::kWaiting, S::kReady, S::kBackOff, S::kHeld, S::kActive}) {
    Move(t, state, E::kEnded, S::kEnded);
  }
}

constexpr void AddAttempts(TransitionTable& table) {
  using S = AttemptNode;
  using E = AttemptEvent;
  auto& t = table.attempt;
  constexpr const char* kIsOver = "late: it has ended";
  constexpr const char* kSaidAgain = "said again";
  Move(t, S::kNone, E::kPlanned, S::kSent);
  Move(t, S::kSent, E::kStarted, S::kRunning);
  Move(t, S::kSent, E::kRecalled, S::kRecalling);
  Move(t, S::kSent, E::kDropped, S::kNone);
  Move(t, S::kSent, E::kStopping, S::kStopping);
  Move(t, S::kSent, E::kEnded, S::kEnded);
  Move(t, S::kRecalling, E::kStarted, S::kRunning);
  Ignore(t, S::kRecalling, E::kRecalled, kSaidAgain);
  Move(t, S::kRecalling, E::kDropped, S::kNone);
  Move(t, S::kRecalling, E::kStopping, S::kStopping);
  Move(t, S::kRecalling, E::kEnded, S::kEnded);
  Ignore(t, S::kRunning, E::kStarted, kSaidAgain);
  Ignore(t, S::kRunning, E::kRecalled, "it runs: a recall comes too late");
  Ignore(t, S::kRunning, E::kDropped, "it runs: what was dropped is an older send");
  Move(t, S::kRunning, E::kStopping, S::kStopping);
  Move(t, S::kRunning, E::kEnded, S::kEnded);
  // It started before the stop reached it: stays Stopping, with its process known.
  Move(t, S::kStopping, E::kStarted, S::kStopping);
  Ignore(t, S::kStopping, E::kRecalled, "it is being stopped");
  Move(t, S::kStopping, E::kDropped, S::kNone);
  Ignore(t, S::kStopping, E::kStopping, kSaidAgain);
  Move(t, S::kStopping, E::kEnded, S::kEnded);
  Ignore(t, S::kEnded, E::kStarted, kIsOver);
  Ignore(t, S::kEnded, E::kRecalled, kIsOver);
  Ignore(t, S::kEnded, E::kDropped, kIsOver);
  Ignore(t, S::kEnded, E::kStopping, kIsOver);
  // A late result of a superseded attempt.
  Move(t, S::kEnded, E::kEnded, S::kEnded);
}

constexpr void AddLaunches(TransitionTable& table) {
  using S = LaunchNode;
  using E = LaunchEvent;
  auto& t = table.launch;
  constexpr const char* kFurther = "it is further already";
  constexpr const char* kIsOver = "late: it has ended";
  Move(t, S::kNone, E::kPlanned, S::kPlanned);
  Move(t, S::kPlanned, E::kAccepted, S::kSent);
  Ignore(t, S::kSent, E::kAccepted, kFurther);
  for (S state : {S::kPlanned, S::kSent}) Move(t, state, E::kStarting, S::kStarting);
  for (S state : {S::kPlanned, S::kSent, S::kStarting}) Move(t, state, E::kUp, S::kUp);
  for (S state : {S::kPlanned, S::kSent, S::kStarting, S::kUp}) {
    Move(t, state, E::kStopping, S::kStopping);
    Move(t, state, E::kEnded, S::kEnded);
  }
  Ignore(t, S::kStarting, E::kAccepted, kFurther);
  Ignore(t, S::kStarting, E::kStarting, kFurther);
  for (E event : {E::kAccepted, E::kStarting, E::kUp}) {
    Ignore(t, S::kUp, event, kFurther);
    Ignore(t, S::kStopping, event, "it is being stopped");
    Ignore(t, S::kEnded, event, kIsOver);
  }
  Ignore(t, S::kStopping, E::kStopping, "said again");
  Move(t, S::kStopping, E::kEnded, S::kEnded);
  Ignore(t, S::kEnded, E::kStopping, kIsOver);
  Ignore(t, S::kEnded, E::kEnded, kIsOver);
}

constexpr void AddExecutors(TransitionTable& table) {
  using S = ExecutorNode;
  using E = ExecutorEvent;
  auto& t = table.executor;
  Move(t, S::kNone, E::kHello, S::kServing);
  Move(t, S::kRegistered, E::kHello, S::kServing);
  Ignore(t, S::kServing, E::kHello, "says hello again");
  Ignore(t, S::kDraining, E::kHello, "goes on draining");
  Ignore(t, S::kGone, E::kHello, "gone for good: it is told to leave");
  // After a start of the controller an executor is known, but has not reported yet.
  Move(t, S::kServing, E::kRestart, S::kRegistered);
  Ignore(t, S::kRegistered, E::kRestart, "has not reported since the last start");
  Ignore(t, S::kDraining, E::kRestart, "goes on draining");
  Ignore(t, S::kGone, E::kRestart, "is gone");
  Move(t, S::kRegistered, E::kDraining, S::kDraining);
  Move(t, S::kServing, E::kDraining, S::kDraining);
  Ignore(t, S::kDraining, E::kDraining, "said again");
  Ignore(t, S::kGone, E::kDraining, "is gone");
  for (S state : {S::kRegistered, S::kServing, S::kDraining}) Move(t, state, E::kGone, S::kGone);
  Ignore(t, S::kGone, E::kGone, "said again");
}

constexpr TransitionTable MakeTable() {
  TransitionTable table;
  AddTasks(table);
  AddAttempts(table);
  AddLaunches(table);
  AddExecutors(table);
  return table;
}
constexpr TransitionTable kTable = MakeTable();

// Calls `visit(noun, states, events, rows)` for each noun.
template <typename Table, typename Visit>
void ForEachNoun(Table& table, Visit&& visit) {
  visit("Task", kTaskNodes, kTaskEvents, table.task);
  visit("Attempt", kAttemptNodes, kAttemptEvents, table.attempt);
  visit("Launch", kLaunchNodes, kLaunchEvents, table.launch);
  visit("Executor", kExecutorNodes, kExecutorEvents, table.executor);
}

}  // namespace

const TransitionTable& DefaultTransitions() { return kTable; }

std::string_view ToString(TaskNode state) { return kTaskNodes[static_cast<size_t>(state)]; }
std::string_view ToString(TaskEvent event) { return kTaskEvents[static_cast<size_t>(event)]; }
std::string_view ToString(AttemptNode state) { return kAttemptNodes[static_cast<size_t>(state)]; }
std::string_view ToString(AttemptEvent event) { return kAttemptEvents[static_cast<size_t>(event)]; }
std::string_view ToString(LaunchNode state) { return kLaunchNodes[static_cast<size_t>(state)]; }
std::string_view ToString(LaunchEvent event) { return kLaunchEvents[static_cast<size_t>(event)]; }
std::string_view ToString(ExecutorNode state) { return kExecutorNodes[static_cast<size_t>(state)]; }
std::string_view ToString(ExecutorEvent event) { return kExecutorEvents[static_cast<size_t>(event)]; }

std::string RenderTransitions(const TransitionTable& table) {
  std::string page =
      "# States\n\n"
      "Printed from `src/core/lifecycle/transition_table.cc` by `core_test`; do not edit "
      "(`MUSTER_WRITE_DOCS=1 core_test --gtest_filter='States.*'` writes it anew).\n\n"
      "Each pair of state and event is a move (the new state), is ignored (a number, explained below), or "
      "is a\nbug (·): in tests it aborts, in a release the one task is set aside, visibly, and the rest "
      "goes on.\n";
  ForEachNoun(table, [&](std::string_view noun, const auto& states, const auto& events,
                         const auto& rows) {
    int moves = 0;
    int bugs = 0;
    std::map<std::string, std::pair<int, int>> reasons;  // reason -> number, count
    std::string lines;
    for (size_t s = 0; s < states.size(); ++s) {
      lines += fmt::format("| **{}** |", states[s]);
      for (size_t e = 0; e < events.size(); ++e) {
        const Rule& rule = rows[s][e];
        if (rule.kind == RuleKind::kMove) {
          ++moves;
          lines += fmt::format(" {} |", states[rule.to]);
        } else if (rule.kind == RuleKind::kBug) {
          ++bugs;
          lines += " · |";
        } else {
          auto [it, fresh] = reasons.try_emplace(rule.reason, static_cast<int>(reasons.size()) + 1, 0);
          ++it->second.second;
          lines += fmt::format(" ({}) |", it->second.first);
        }
      }
      lines += "\n";
    }
    std::string head = "| |";
    std::string rule_line = "|---|";
    for (std::string_view event : events) {
      head += fmt::format(" {} |", event);
      rule_line += "---|";
    }
    page += fmt::format("\n## {}\n\n{}\n{}\n{}\n", noun, head, rule_line, lines);
    std::map<int, std::pair<std::string, int>> by_number;
    int ignored = 0;
    for (const auto& [reason, entry] : reasons) {
      by_number[entry.first] = {reason, entry.second};
      ignored += entry.second;
    }
    for (const auto& [number, entry] : by_number) {
      page += fmt::format("{}. {} ({} {})\n", number, entry.first, entry.second,
                          entry.second == 1 ? "pair" : "pairs");
    }
    page += fmt::format("{}{} moves, {} ignored, {} bugs.\n", by_number.empty() ? "" : "\n", moves,
                        ignored, bugs);
  });
  return page;
}

std::string ListMoves(const TransitionTable& table) {
  std::string list;
  ForEachNoun(table, [&](std::string_view noun, const auto& states, const auto& events,
                         const auto& rows) {
    for (size_t s = 0; s < states.size(); ++s) {
      for (size_t e = 0; e < events.size(); ++e) {
        if (rows[s][e].kind != RuleKind::kMove) continue;
        list += fmt::format("{}:{}:{}\n", noun, states[s], events[e]);
      }
    }
  });
  return list;
}

std::optional<TransitionTable> OverrideTransition(const TransitionTable& table,
                                                  std::string_view row) {
  TransitionTable changed = table;
  bool found = false;
  ForEachNoun(changed, [&](std::string_view noun, const auto& states, const auto& events, auto& rows) {
    for (size_t s = 0; s < states.size(); ++s) {
      for (size_t e = 0; e < events.size(); ++e) {
        if (rows[s][e].kind != RuleKind::kMove) continue;
        if (row != fmt::format("{}:{}:{}", noun, states[s], events[e])) continue;
        rows[s][e] = Rule{};
        found = true;
      }
    }
  });
  if (!found) return std::nullopt;
  return changed;
}

}  // namespace muster::core
