// The words of enumerations and ids in JSON, both ways.
#pragma once

#include <concepts>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/view.h"

namespace muster {

template <typename T>
concept IsId = std::same_as<T, JobId> || std::same_as<T, TaskId> || std::same_as<T, AttemptId> ||
               std::same_as<T, ExecutorId> || std::same_as<T, LaunchId>;

std::string_view WordOf(ExitFacts::How how);
std::string_view WordOf(StopCause cause);
inline std::string_view WordOf(EndKind kind) { return ToString(kind); }
inline std::string_view WordOf(TaskState state) { return ToString(state); }
inline std::string_view WordOf(AttemptState state) { return ToString(state); }
inline std::string_view WordOf(ExecutorState state) { return ToString(state); }
inline std::string_view WordOf(WhyCause cause) { return ToString(cause); }
inline std::string_view WordOf(ErrorCode code) { return ToString(code); }
inline std::string_view WordOf(ErrorOwner owner) { return ToString(owner); }

// False, and nothing set, if the word is not known.
bool FromWord(std::string_view word, ExitFacts::How& how);
bool FromWord(std::string_view word, StopCause& cause);
bool FromWord(std::string_view word, EndKind& kind);
bool FromWord(std::string_view word, TaskState& state);
bool FromWord(std::string_view word, AttemptState& state);
bool FromWord(std::string_view word, ExecutorState& state);
bool FromWord(std::string_view word, WhyCause& cause);
bool FromWord(std::string_view word, ErrorCode& code);
bool FromWord(std::string_view word, ErrorOwner& owner);
bool FromWord(std::string_view word, JobId& id);
bool FromWord(std::string_view word, TaskId& id);
bool FromWord(std::string_view word, AttemptId& id);
bool FromWord(std::string_view word, ExecutorId& id);
bool FromWord(std::string_view word, LaunchId& id);

}  // namespace muster
