#include "model/view.h"

namespace muster {
namespace {

template <typename E, size_t N>
std::string_view WordOf(const std::array<std::string_view, N>& words, E value) {
  return words[static_cast<size_t>(value)];
}
template <typename E, size_t N>
std::optional<E> ValueOf(const std::array<std::string_view, N>& words, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 5> kTaskStates = {"waiting", "ready", "held", "active",
                                                         "ended"};
constexpr std::array<std::string_view, 7> kAttemptStates = {
    "planned", "sent", "recalling", "starting", "running", "stopping", "ended"};
constexpr std::array<std::string_view, 6> kLaunchStates = {"planned", "sent",     "starting",
                                                           "up",      "stopping", "ended"};
constexpr std::array<std::string_view, 4> kExecutorStates = {"registered", "serving", "draining",
                                                             "gone"};
constexpr std::array<std::string_view, 19> kWhyCauses = {
    "dependency", "array-cap", "shared-limit", "quota",        "no-executor", "no-room",    "size",
    "image",      "throttled", "hold",         "back-off",     "disk-full",   "not-placed", "sent",
    "running",    "stopping",  "contact-lost", "publishing",   "ended"};

}  // namespace

std::string_view ToString(TaskState state) { return WordOf(kTaskStates, state); }
std::string_view ToString(AttemptState state) { return WordOf(kAttemptStates, state); }
std::string_view ToString(LaunchState state) { return WordOf(kLaunchStates, state); }
std::string_view ToString(ExecutorState state) { return WordOf(kExecutorStates, state); }
std::string_view ToString(WhyCause cause) { return WordOf(kWhyCauses, cause); }
std::optional<TaskState> ParseTaskState(std::string_view word) {
  return ValueOf<TaskState>(kTaskStates, word);
}
std::optional<AttemptState> ParseAttemptState(std::string_view word) {
  return ValueOf<AttemptState>(kAttemptStates, word);
}
std::optional<LaunchState> ParseLaunchState(std::string_view word) {
  return ValueOf<LaunchState>(kLaunchStates, word);
}
std::optional<ExecutorState> ParseExecutorState(std::string_view word) {
  return ValueOf<ExecutorState>(kExecutorStates, word);
}
std::optional<WhyCause> ParseWhyCause(std::string_view word) {
  return ValueOf<WhyCause>(kWhyCauses, word);
}

}  // namespace muster
