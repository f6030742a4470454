// What a user asked for: a job of tasks, as plain values. Read from a job file, flags or the API by
// wire, checked by CheckJobSpec (model/job_check.h), never changed after it was accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"
#include "model/item_list.h"

namespace muster {

// Most tasks one array may have, and most a whole job may have.
inline constexpr uint64_t kMaxArrayTasks = 100'000'000;
inline constexpr uint64_t kMaxJobTasks = 200'000'000;

enum class Lane : uint8_t { kAuto, kPooled, kOwn };

// Run by `/bin/sh -c`; placeholders are inserted shell-quoted, each as one word.
struct ShellCommand {
  std::string text;
  friend bool operator==(const ShellCommand&, const ShellCommand&) = default;
};
// Run by exec; placeholders are inserted as they are, an argument never splits.
struct ExecCommand {
  std::vector<std::string> argv;
  friend bool operator==(const ExecCommand&, const ExecCommand&) = default;
};
using Command = std::variant<ShellCommand, ExecCommand>;

struct Resources {
  MilliCpu cpus{1000};
  // 0: not asked for; the cluster's default counts (shown as guessed).
  Bytes memory;
  uint32_t gpus = 0;
  // Resources an operator names, for example licences; sorted by name.
  std::vector<std::pair<std::string, uint64_t>> named;
  friend auto operator<=>(const Resources&, const Resources&) = default;
};

// Retries by class; `user: 3` means at most four attempts that end in the user class.
struct RetryBudgets {
  uint32_t user = 0;
  uint32_t oom = 2;
  uint32_t infrastructure = 5;
  friend bool operator==(const RetryBudgets&, const RetryBudgets&) = default;
};

// first, first + step, ... up to last.
struct IndexRange {
  int64_t first = 0;
  int64_t last = 0;
  int64_t step = 1;
  uint64_t size() const {
    return last < first ? 0 : static_cast<uint64_t>((last - first) / step) + 1;
  }
  int64_t operator[](uint64_t i) const { return first + static_cast<int64_t>(i) * step; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// One task of the file: runs once, once for each index, or once for each item.
struct TaskSpec {
  std::string name;
  Command command;
  std::vector<std::pair<std::string, std::string>> env;
  // Empty: the job's.
  std::string cwd;
  std::variant<std::monostate, IndexRange, ItemList> each;
  // At most so many of this array's tasks run at the same time; 0 is no cap.
  uint32_t array_cap = 0;
  Resources request;
  // More than request.memory if it differs from it.
  std::optional<Bytes> memory_limit;
  std::optional<Duration> time_limit;
  // What the task expects to need; it is not placed where less is left.
  std::optional<Duration> needs_time;
  // Between the polite and the forced stop.
  Duration grace{std::chrono::seconds(5)};
  RetryBudgets retries;
  Lane lane = Lane::kAuto;
  // Must not run twice: never started again while the first attempt might still run.
  bool once = false;
  // Empty: job name and task name (CategoryOf).
  std::string category;
  // Added to the job's; higher goes first.
  int32_t priority = 0;
  // Positions in JobSpec::tasks that must have succeeded whole before this one may start.
  std::vector<uint32_t> needs;
  // Files that must be there at submit.
  std::vector<std::string> inputs;

  uint64_t count() const {
    if (const auto* range = std::get_if<IndexRange>(&each)) return range->size();
    if (const auto* items = std::get_if<ItemList>(&each)) return items->size();
    return 1;
  }
  bool is_array() const { return !std::holds_alternative<std::monostate>(each); }
  friend bool operator==(const TaskSpec&, const TaskSpec&) = default;
};

struct JobSpec {
  std::string name;
  std::vector<TaskSpec> tasks;
  // Where tasks run unless they say otherwise: the folder of submit. Absolute.
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> env;
  // The configured cluster; empty: the default.
  std::string cluster;
  int32_t priority = 0;

  uint64_t task_count() const {
    uint64_t total = 0;
    for (const TaskSpec& task : tasks) total += task.count();
    return total;
  }
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

std::string CategoryOf(const JobSpec& job, const TaskSpec& task);

// True if the command names `{out}`: the attempt has an output place that is published.
bool UsesOut(const TaskSpec& task);

// The whole list of places in a command where a placeholder may stand is the command's text (shell)
// or each argument (exec). Known: {item} {item:name} {index} {out}; `{{` and `}}` stand for braces
// only when they enclose one of these words; every other brace is left as it is.
struct PlaceholderValues {
  std::string_view item;   // the item, or the index for index arrays, or ""
  int64_t index = 0;       // the array index (items: position from 1)
  std::string_view out;    // the attempt's own output path, absolute or relative to cwd
};
// The argv to exec: {"/bin/sh", "-c", text} for shell commands.
std::vector<std::string> ExpandCommand(const Command& command, const PlaceholderValues& values);
// 'it'\''s' : one shell word, whatever is in it.
std::string ShellQuote(std::string_view text);
// "photos/a b.jpg" -> "a b": file name without folder and last extension.
std::string_view ItemName(std::string_view item);
// A name as it may stand in a path: itself if it is 1 to 64 of [A-Za-z0-9._-] and does not start
// with '.', else a safe prefix and a hash of the whole ("a_b-1f0e9d8c7b6a5948").
std::string PathSafeName(std::string_view name);

}  // namespace muster
