// The one list of all kinds of facts and their fields, with the numbers that stand for them in
// files. Encoding, decoding and tests walk it: VisitFields(fact, visitor) calls visitor(number,
// field) for each field in ascending order.
//
// Never change or reuse a number. A fact with a new meaning gets a new kind; a new field gets the
// next number of its fact, and there 0 or nothing must mean what was meant before. Both raise
// kFormatVersion (store/record.h). Parts of several facts have room behind them: ends 10 to 19,
// exit facts from 20, sizes from 30.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/fact.h"

namespace muster::store {

template <typename T>
inline constexpr uint32_t kFactKind = 0;
template <>
inline constexpr uint32_t kFactKind<core::ControllerStarted> = 1;
template <>
inline constexpr uint32_t kFactKind<core::ControllerStopped> = 2;
template <>
inline constexpr uint32_t kFactKind<core::JobAccepted> = 3;
template <>
inline constexpr uint32_t kFactKind<core::JobCancelRequested> = 4;
template <>
inline constexpr uint32_t kFactKind<core::JobEnded> = 5;
template <>
inline constexpr uint32_t kFactKind<core::JobArchived> = 6;
template <>
inline constexpr uint32_t kFactKind<core::AttemptsPlanned> = 7;
template <>
inline constexpr uint32_t kFactKind<core::AttemptStarted> = 8;
template <>
inline constexpr uint32_t kFactKind<core::AttemptRecalled> = 9;
template <>
inline constexpr uint32_t kFactKind<core::AttemptDropped> = 10;
template <>
inline constexpr uint32_t kFactKind<core::AttemptStopping> = 11;
template <>
inline constexpr uint32_t kFactKind<core::AttemptEnded> = 12;
template <>
inline constexpr uint32_t kFactKind<core::RetryPlanned> = 13;
template <>
inline constexpr uint32_t kFactKind<core::RetryDue> = 14;
template <>
inline constexpr uint32_t kFactKind<core::TasksEnded> = 15;
template <>
inline constexpr uint32_t kFactKind<core::LaunchPlanned> = 16;
template <>
inline constexpr uint32_t kFactKind<core::LaunchSent> = 17;
template <>
inline constexpr uint32_t kFactKind<core::LaunchObserved> = 18;
template <>
inline constexpr uint32_t kFactKind<core::LaunchStopping> = 19;
template <>
inline constexpr uint32_t kFactKind<core::LaunchEnded> = 20;
template <>
inline constexpr uint32_t kFactKind<core::ExecutorRegistered> = 21;
template <>
inline constexpr uint32_t kFactKind<core::ExecutorDraining> = 22;
template <>
inline constexpr uint32_t kFactKind<core::ExecutorGone> = 23;
inline constexpr uint32_t kLastFactKind = 23;

// T with or without const.
template <typename T, typename Plain>
concept Like = std::is_same_v<std::remove_const_t<T>, Plain>;

// Parts of several facts: the numbers of their fields begin at `at`.
template <typename T, typename V>
constexpr void VisitPart(uint32_t at, T& part, V&& v) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, core::TaskRange>) {
    v(at, part.job), v(at + 1, part.first), v(at + 2, part.count);
  } else if constexpr (std::is_same_v<Plain, TaskId>) {
    v(at, part.job), v(at + 1, part.number);
  } else if constexpr (std::is_same_v<Plain, AttemptId>) {
    VisitPart(at, part.task, v), v(at + 2, part.n);
  } else if constexpr (std::is_same_v<Plain, EndReason>) {
    v(at, part.kind), v(at + 1, part.number), v(at + 2, part.detail), v(at + 3, part.unconfirmed);
  } else if constexpr (std::is_same_v<Plain, Resources>) {
    v(at, part.cpus), v(at + 1, part.memory), v(at + 2, part.gpus), v(at + 3, part.named);
  } else {
    static_assert(std::is_same_v<Plain, ExitFacts>);
    v(at, part.how), v(at + 1, part.code), v(at + 2, part.what_failed), v(at + 3, part.stop_cause);
    v(at + 4, part.started), v(at + 5, part.wall), v(at + 6, part.user_cpu);
    v(at + 7, part.system_cpu), v(at + 8, part.max_rss), v(at + 9, part.left_behind);
    v(at + 10, part.output_bytes), v(at + 11, part.output_dropped);
  }
}

constexpr void VisitFields(Like<core::ControllerStarted> auto& f, auto&& v) {
  v(1, f.epoch), v(2, f.at), v(3, f.boot_id);
}
constexpr void VisitFields(Like<core::ControllerStopped> auto& f, auto&& v) { v(1, f.at); }
constexpr void VisitFields(Like<core::JobAccepted> auto& f, auto&& v) {
  v(1, f.job), v(2, f.spec), v(3, f.owner), v(4, f.request_id), v(5, f.at);
}
constexpr void VisitFields(Like<core::JobCancelRequested> auto& f, auto&& v) {
  v(1, f.job), v(2, f.by), v(3, f.at);
}
constexpr void VisitFields(Like<core::JobEnded> auto& f, auto&& v) { v(1, f.job), v(2, f.at); }
constexpr void VisitFields(Like<core::JobArchived> auto& f, auto&& v) { v(1, f.job); }
constexpr void VisitFields(Like<core::AttemptsPlanned> auto& f, auto&& v) {
  v(1, f.executor), VisitPart(2, f.tasks, v), v(5, f.n), v(6, f.send), v(7, f.may_overlap),
      v(8, f.at);
}
constexpr void VisitFields(Like<core::AttemptStarted> auto& f, auto&& v) {
  VisitPart(1, f.attempt, v), v(4, f.pid), v(5, f.at);
}
constexpr void VisitFields(Like<core::AttemptRecalled> auto& f, auto&& v) {
  VisitPart(1, f.attempt, v);
}
constexpr void VisitFields(Like<core::AttemptDropped> auto& f, auto&& v) {
  VisitPart(1, f.attempt, v);
}
constexpr void VisitFields(Like<core::AttemptStopping> auto& f, auto&& v) {
  VisitPart(1, f.attempt, v), v(4, f.cause), v(5, f.at);
}
constexpr void VisitFields(Like<core::AttemptEnded> auto& f, auto&& v) {
  VisitPart(1, f.attempt, v), v(4, f.send), v(5, f.executor), v(6, f.accepted), v(7, f.at);
  VisitPart(10, f.reason, v), VisitPart(20, f.facts, v);
}
constexpr void VisitFields(Like<core::RetryPlanned> auto& f, auto&& v) {
  VisitPart(1, f.task, v), v(3, f.charged), v(4, f.not_before);
}
constexpr void VisitFields(Like<core::RetryDue> auto& f, auto&& v) { VisitPart(1, f.task, v); }
constexpr void VisitFields(Like<core::TasksEnded> auto& f, auto&& v) {
  VisitPart(1, f.tasks, v), v(4, f.at), VisitPart(10, f.reason, v);
}
constexpr void VisitFields(Like<core::LaunchPlanned> auto& f, auto&& v) {
  v(1, f.launch), v(2, f.cluster), v(3, f.executor), v(4, f.max_attempts), v(5, f.at);
  VisitPart(30, f.size, v);
}
constexpr void VisitFields(Like<core::LaunchSent> auto& f, auto&& v) {
  v(1, f.launch), v(2, f.external_id);
}
constexpr void VisitFields(Like<core::LaunchObserved> auto& f, auto&& v) {
  v(1, f.launch), v(2, f.state);
}
constexpr void VisitFields(Like<core::LaunchStopping> auto& f, auto&& v) {
  v(1, f.launch), v(2, f.why), v(3, f.at);
}
constexpr void VisitFields(Like<core::LaunchEnded> auto& f, auto&& v) {
  v(1, f.launch), v(2, f.raw_reason), v(3, f.at), VisitPart(10, f.reason, v);
}
constexpr void VisitFields(Like<core::ExecutorRegistered> auto& f, auto&& v) {
  v(1, f.executor), v(2, f.launch), v(3, f.cluster), v(4, f.incarnation), v(5, f.host);
  v(6, f.boot_id), v(7, f.pid), v(8, f.max_attempts), v(9, f.labels), v(10, f.output_dir),
      v(11, f.at);
  VisitPart(30, f.capacity, v);
}
constexpr void VisitFields(Like<core::ExecutorDraining> auto& f, auto&& v) {
  v(1, f.executor), v(2, f.why), v(3, f.at);
}
constexpr void VisitFields(Like<core::ExecutorGone> auto& f, auto&& v) {
  v(1, f.executor), v(2, f.why), v(3, f.at);
}

}  // namespace muster::store
