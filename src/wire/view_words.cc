#include "wire/view_words.h"

#include <array>
#include <optional>

#include "wire/id_text.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kHow = {"exited", "signalled", "not-started", "lost"};
constexpr std::array<std::string_view, 4> kStopCauses = {"none", "time-limit", "cancelled",
                                                         "draining"};

template <typename E, size_t N>
bool Find(const std::array<std::string_view, N>& words, std::string_view word, E& value) {
  for (size_t i = 0; i < N; ++i) {
    if (words[i] != word) continue;
    value = static_cast<E>(i);
    return true;
  }
  return false;
}

template <typename E>
bool Take(std::optional<E> found, E& value) {
  if (found) value = *found;
  return found.has_value();
}

template <typename T>
bool Take(const Result<T>& parsed, T& value) {
  if (parsed.ok()) value = *parsed;
  return parsed.ok();
}

// `last` is the largest value of an enumeration that only has ToString.
template <typename E>
bool Search(std::string_view word, E last, E& value) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (ToString(static_cast<E>(i)) != word) continue;
    value = static_cast<E>(i);
    return true;
  }
  return false;
}

}  // namespace

std::string_view WordOf(ExitFacts::How how) { return kHow[static_cast<size_t>(how)]; }
std::string_view WordOf(StopCause cause) { return kStopCauses[static_cast<size_t>(cause)]; }

bool FromWord(std::string_view word, ExitFacts::How& how) { return Find(kHow, word, how); }
bool FromWord(std::string_view word, StopCause& cause) { return Find(kStopCauses, word, cause); }
bool FromWord(std::string_view word, EndKind& kind) { return Take(ParseEndKind(word), kind); }
bool FromWord(std::string_view word, TaskState& state) { return Take(ParseTaskState(word), state); }
bool FromWord(std::string_view word, AttemptState& state) {
  return Take(ParseAttemptState(word), state);
}
bool FromWord(std::string_view word, ExecutorState& state) {
  return Take(ParseExecutorState(word), state);
}
bool FromWord(std::string_view word, WhyCause& cause) { return Take(ParseWhyCause(word), cause); }
bool FromWord(std::string_view word, ErrorCode& code) {
  return Search(word, ErrorCode::kOutcomeUnknown, code);
}
bool FromWord(std::string_view word, ErrorOwner& owner) {
  return Search(word, ErrorOwner::kUs, owner);
}
bool FromWord(std::string_view word, JobId& id) { return Take(ParseJobId(word), id); }
bool FromWord(std::string_view word, TaskId& id) { return Take(ParseTaskId(word), id); }
bool FromWord(std::string_view word, AttemptId& id) { return Take(ParseAttemptId(word), id); }
bool FromWord(std::string_view word, ExecutorId& id) { return Take(ParseExecutorId(word), id); }
bool FromWord(std::string_view word, LaunchId& id) { return Take(ParseLaunchId(word), id); }

}  // namespace muster
