// The one table of the life of everything: for each noun, state and event it says move, ignore (with the
// reason) or bug. Decide asks it whether a happening is worth a fact, Apply asks it before every change of
// state. docs/states.md is printed from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/view.h"

namespace muster::core {

// The states of the table: those of model/view.h, one more for "there is none yet", and for tasks the
// part of Ready that waits for the time of its retry.
enum class TaskNode : uint8_t { kWaiting, kReady, kBackOff, kHeld, kActive, kEnded };
enum class TaskEvent : uint8_t { kNeedsMet, kPlanned, kDropped, kRetryPlanned, kRetryDue, kEnded };

enum class AttemptNode : uint8_t {
  kNone,
  kPlanned,
  kSent,
  kRecalling,
  kStarting,
  kRunning,
  kStopping,
  kEnded
};
enum class AttemptEvent : uint8_t { kPlanned, kStarted, kRecalled, kDropped, kStopping, kEnded };

enum class LaunchNode : uint8_t { kNone, kPlanned, kSent, kStarting, kUp, kStopping, kEnded };
enum class LaunchEvent : uint8_t { kPlanned, kAccepted, kStarting, kUp, kStopping, kEnded };

enum class ExecutorNode : uint8_t { kNone, kRegistered, kServing, kDraining, kGone };
enum class ExecutorEvent : uint8_t { kHello, kRestart, kDraining, kGone };

enum class RuleKind : uint8_t { kBug, kMove, kIgnore };
struct Rule {
  RuleKind kind = RuleKind::kBug;
  uint8_t to = 0;              // move
  const char* reason = "";     // ignore
};

struct TransitionTable {
  std::array<std::array<Rule, 6>, 6> task{};
  std::array<std::array<Rule, 6>, 8> attempt{};
  std::array<std::array<Rule, 6>, 7> launch{};
  std::array<std::array<Rule, 4>, 5> executor{};

  const Rule& At(TaskNode state, TaskEvent event) const {
    return task[static_cast<size_t>(state)][static_cast<size_t>(event)];
  }
  const Rule& At(AttemptNode state, AttemptEvent event) const {
    return attempt[static_cast<size_t>(state)][static_cast<size_t>(event)];
  }
  const Rule& At(LaunchNode state, LaunchEvent event) const {
    return launch[static_cast<size_t>(state)][static_cast<size_t>(event)];
  }
  const Rule& At(ExecutorNode state, ExecutorEvent event) const {
    return executor[static_cast<size_t>(state)][static_cast<size_t>(event)];
  }
};

const TransitionTable& DefaultTransitions();

constexpr AttemptNode NodeOf(AttemptState state) {
  return static_cast<AttemptNode>(static_cast<int>(state) + 1);
}
constexpr LaunchNode NodeOf(LaunchState state) {
  return static_cast<LaunchNode>(static_cast<int>(state) + 1);
}
constexpr ExecutorNode NodeOf(ExecutorState state) {
  return static_cast<ExecutorNode>(static_cast<int>(state) + 1);
}

std::string_view ToString(TaskNode state);
std::string_view ToString(TaskEvent event);
std::string_view ToString(AttemptNode state);
std::string_view ToString(AttemptEvent event);
std::string_view ToString(LaunchNode state);
std::string_view ToString(LaunchEvent event);
std::string_view ToString(ExecutorNode state);
std::string_view ToString(ExecutorEvent event);

// The whole of docs/states.md.
std::string RenderTransitions(const TransitionTable& table);
// "Attempt:Sent:Started", one line for each move.
std::string ListMoves(const TransitionTable& table);
// The table with the named row turned into a bug: what the mutation test runs on. Nothing if there is no
// such move.
std::optional<TransitionTable> OverrideTransition(const TransitionTable& table, std::string_view row);

}  // namespace muster::core
