// Typed ids. People see j12, j12.500, j12.500#2, x3, l7; code never mixes them up.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "base/hash.h"

namespace muster {

// A job of one store, numbered from 1.
struct JobId {
  uint64_t number = 0;
  friend auto operator<=>(const JobId&, const JobId&) = default;
};
// A task of a job, numbered through the whole job in file order from 1.
struct TaskId {
  JobId job;
  uint32_t number = 0;
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};
// The n-th try (from 1) at a task.
struct AttemptId {
  TaskId task;
  uint32_t n = 0;
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};
struct ExecutorId {
  uint64_t number = 0;
  friend auto operator<=>(const ExecutorId&, const ExecutorId&) = default;
};
struct LaunchId {
  uint64_t number = 0;
  friend auto operator<=>(const LaunchId&, const LaunchId&) = default;
};

inline std::string Render(JobId id) { return fmt::format("j{}", id.number); }
inline std::string Render(TaskId id) { return fmt::format("j{}.{}", id.job.number, id.number); }
inline std::string Render(AttemptId id) {
  return fmt::format("j{}.{}#{}", id.task.job.number, id.task.number, id.n);
}
inline std::string Render(ExecutorId id) { return fmt::format("x{}", id.number); }
inline std::string Render(LaunchId id) { return fmt::format("l{}", id.number); }

inline std::ostream& operator<<(std::ostream& out, JobId id) { return out << Render(id); }
inline std::ostream& operator<<(std::ostream& out, TaskId id) { return out << Render(id); }
inline std::ostream& operator<<(std::ostream& out, AttemptId id) { return out << Render(id); }
inline std::ostream& operator<<(std::ostream& out, ExecutorId id) { return out << Render(id); }
inline std::ostream& operator<<(std::ostream& out, LaunchId id) { return out << Render(id); }

}  // namespace muster

template <>
struct std::hash<muster::JobId> {
  size_t operator()(muster::JobId id) const { return muster::Mix64(id.number); }
};
template <>
struct std::hash<muster::TaskId> {
  size_t operator()(muster::TaskId id) const {
    return muster::HashCombine(id.job.number, id.number);
  }
};
template <>
struct std::hash<muster::AttemptId> {
  size_t operator()(muster::AttemptId id) const {
    return muster::HashCombine(muster::HashCombine(id.task.job.number, id.task.number), id.n);
  }
};
template <>
struct std::hash<muster::ExecutorId> {
  size_t operator()(muster::ExecutorId id) const { return muster::Mix64(id.number); }
};
template <>
struct std::hash<muster::LaunchId> {
  size_t operator()(muster::LaunchId id) const { return muster::Mix64(id.number); }
};
