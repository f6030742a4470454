#include "model/job_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace muster {
namespace {

class Checker {
 public:
  explicit Checker(const JobSpec& job) : job_(job) {}

  std::vector<SpecProblem> Run() {
    CheckWhole();
    for (size_t i = 0; i < job_.tasks.size(); ++i) CheckTask(i);
    CheckCycles();
    return std::move(problems_);
  }

 private:
  void Add(std::string path, std::string message, std::string suggestion = "") {
    problems_.push_back({std::move(path), std::move(message), std::move(suggestion)});
  }
  std::string Path(size_t task, std::string_view key) const {
    return fmt::format("tasks[{}]{}{}", task, key.empty() ? "" : ".", key);
  }

  void CheckWhole() {
    if (job_.name.find('\0') != std::string::npos) Add("name", "the name holds a NUL byte");
    if (job_.cwd.find('\0') != std::string::npos) Add("cwd", "the path holds a NUL byte");
    if (job_.tasks.empty()) {
      Add("tasks", "the job has no tasks", "list at least one task with a command");
    }
    CheckEnv(std::nullopt, job_.env);
    std::unordered_map<std::string_view, size_t> seen;
    seen.reserve(job_.tasks.size());
    for (size_t i = 0; i < job_.tasks.size(); ++i) {
      auto [first, fresh] = seen.emplace(job_.tasks[i].name, i);
      if (!fresh) {
        Add(Path(i, "name"),
            fmt::format("'{}' is the name of tasks[{}] already", job_.tasks[i].name, first->second),
            "give each task a name of its own");
      }
    }
    CheckTotal();
  }

  // Saturates: the counts of a made-up job may not fit 64 bits together.
  void CheckTotal() {
    uint64_t total = 0;
    for (const TaskSpec& task : job_.tasks) {
      if (!HasSaneRange(task)) return;
      uint64_t count = task.count();
      total = count > UINT64_MAX - total ? UINT64_MAX : total + count;
    }
    if (total <= kMaxJobTasks) return;
    Add("tasks", fmt::format("the job has {} tasks, the limit is {}", total, kMaxJobTasks),
        "split it into several jobs");
  }

  // False if the size of the range cannot even be worked out.
  static bool HasSaneRange(const TaskSpec& task) {
    constexpr int64_t kMostIndex = INT64_MAX / 4;
    const auto* range = std::get_if<IndexRange>(&task.each);
    if (range == nullptr) return true;
    return range->step >= 1 && range->first <= kMostIndex && range->first >= -kMostIndex &&
           range->last <= kMostIndex && range->last >= -kMostIndex;
  }

  // The job's without a task.
  void CheckEnv(std::optional<size_t> task,
                const std::vector<std::pair<std::string, std::string>>& env) {
    auto path = [&] { return task ? Path(*task, "env") : "env"; };
    for (const auto& [key, value] : env) {
      if (key.empty() || key.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
        Add(path(), fmt::format("'{}' cannot be the name of an environment variable", key));
      }
      if (value.find('\0') != std::string::npos) {
        Add(path(), fmt::format("the value of {} holds a NUL byte", key));
      }
    }
  }

  void CheckCommand(size_t i) {
    const Command& command = job_.tasks[i].command;
    if (const auto* shell = std::get_if<ShellCommand>(&command)) {
      if (shell->text.empty()) Add(Path(i, "command"), "the command is empty");
      if (shell->text.find('\0') != std::string::npos) {
        Add(Path(i, "command"), "the command holds a NUL byte");
      }
      return;
    }
    const auto& argv = std::get<ExecCommand>(command).argv;
    if (argv.empty() || argv.front().empty()) Add(Path(i, "command"), "the command is empty");
    for (const std::string& argument : argv) {
      if (argument.find('\0') != std::string::npos) {
        Add(Path(i, "command"), "an argument of the command holds a NUL byte");
      }
    }
  }

  void CheckEach(size_t i) {
    const TaskSpec& task = job_.tasks[i];
    if (const auto* range = std::get_if<IndexRange>(&task.each)) {
      if (range->step <= 0) {
        Add(Path(i, "array"), fmt::format("the step is {}, it must be at least 1", range->step));
        return;
      }
      if (!HasSaneRange(task)) {
        Add(Path(i, "array"),
            fmt::format("the indexes {} to {} are too large", range->first, range->last));
        return;
      }
      if (range->size() == 0) {
        Add(Path(i, "array"), fmt::format("{}-{} is empty", range->first, range->last),
            "write the smaller index first");
      }
    }
    if (task.count() > kMaxArrayTasks) {
      Add(Path(i, std::holds_alternative<ItemList>(task.each) ? "each" : "array"),
          fmt::format("the array has {} tasks, the limit is {}", task.count(), kMaxArrayTasks),
          "split it, or let each task do more");
    }
    const auto* items = std::get_if<ItemList>(&task.each);
    if (items != nullptr && items->empty()) Add(Path(i, "each"), "the list of items is empty");
    for (size_t k = 0; items != nullptr && k < items->size(); ++k) {
      if ((*items)[k].find('\0') == std::string_view::npos) continue;
      Add(Path(i, "each"), fmt::format("item {} holds a NUL byte", k + 1));
      break;
    }
    if (task.array_cap != 0 && !task.is_array()) {
      Add(Path(i, "array"), "a cap needs an array");
    }
  }

  void CheckTask(size_t i) {
    const TaskSpec& task = job_.tasks[i];
    if (task.name.empty()) Add(Path(i, "name"), "the name is empty");
    if (task.name.find('\0') != std::string::npos)
      Add(Path(i, "name"), "the name holds a NUL byte");
    CheckCommand(i);
    CheckEach(i);
    CheckEnv(i, task.env);
    CheckPaths(i);
    CheckSupported(i);
    if (task.request.cpus.value == 0) Add(Path(i, "cpus"), "0 cpus; the least is 0.001");
    if (task.memory_limit && task.memory_limit->value == 0) {
      Add(Path(i, "memory"), "the limit is 0");
    }
    if (task.grace.count() < 0) Add(Path(i, "grace"), "the grace is below zero");
    if (task.needs_time && task.needs_time->count() < 0) {
      Add(Path(i, "needs-time"), "the time is below zero");
    }
    if (task.memory_limit && *task.memory_limit < task.request.memory) {
      Add(Path(i, "memory"), fmt::format("the limit {} is below the request {}",
                                         Render(*task.memory_limit), Render(task.request.memory)));
    }
    if (task.time_limit && task.time_limit->count() <= 0) {
      Add(Path(i, "time"), "the time limit is not above zero");
    }
    if (task.time_limit && task.needs_time && *task.needs_time > *task.time_limit) {
      Add(Path(i, "needs-time"), fmt::format("needs-time {} is longer than the time limit {}",
                                             Render(*task.needs_time), Render(*task.time_limit)));
    }
    for (size_t k = 0; k < task.needs.size(); ++k) {
      if (task.needs[k] >= job_.tasks.size()) {
        Add(fmt::format("tasks[{}].needs[{}]", i, k),
            fmt::format("there is no task at position {}", task.needs[k]));
      }
    }
  }

  void CheckPaths(size_t i) {
    const TaskSpec& task = job_.tasks[i];
    if (task.cwd.find('\0') != std::string::npos) Add(Path(i, "cwd"), "the path holds a NUL byte");
    for (size_t k = 0; k < task.inputs.size(); ++k) {
      const std::string& input = task.inputs[k];
      if (!input.empty() && input.find('\0') == std::string::npos) continue;
      Add(fmt::format("tasks[{}].inputs[{}]", i, k), "this cannot be the name of a file");
    }
  }

  // What the language has and this version cannot do yet.
  void CheckSupported(size_t i) {
    const TaskSpec& task = job_.tasks[i];
    if (task.lane == Lane::kOwn) {
      Add(Path(i, "lane"), "a launch of its own for a task is not supported by this version",
          "write lane: pooled, or take it out");
    }
    if (task.request.gpus != 0) {
      Add(Path(i, "gpus"), "gpus are not handed out by this version",
          "take it out, and limit how many tasks run at once with cpus or a cap");
    }
    if (!task.request.named.empty()) {
      Add(Path(i, "resources"), "resources with names are not supported by this version",
          "take it out, and limit how many tasks run at once with a cap");
    }
  }

  // Depth-first without recursion; a file may hold a chain of a hundred thousand tasks.
  void CheckCycles() {
    enum class Mark : uint8_t { kNew, kOpen, kDone };
    std::vector<Mark> marks(job_.tasks.size(), Mark::kNew);
    std::vector<std::pair<uint32_t, size_t>> path;
    for (uint32_t root = 0; root < job_.tasks.size(); ++root) {
      if (marks[root] != Mark::kNew) continue;
      path.emplace_back(root, 0);
      marks[root] = Mark::kOpen;
      while (!path.empty()) {
        auto& [at, next] = path.back();
        const auto& needs = job_.tasks[at].needs;
        if (next == needs.size()) {
          marks[at] = Mark::kDone;
          path.pop_back();
          continue;
        }
        uint32_t need = needs[next++];
        if (need >= job_.tasks.size() || marks[need] == Mark::kDone) continue;
        if (marks[need] == Mark::kOpen) {
          ReportCycle(path, need);
          return;
        }
        marks[need] = Mark::kOpen;
        path.emplace_back(need, 0);
      }
    }
  }

  void ReportCycle(const std::vector<std::pair<uint32_t, size_t>>& path, uint32_t closing) {
    auto begin = std::find_if(path.begin(), path.end(),
                              [&](const auto& step) { return step.first == closing; });
    std::string words;
    size_t shown = 0;
    for (auto it = begin; it != path.end(); ++it) {
      if (++shown > 8) {
        words += "... -> ";
        break;
      }
      words += job_.tasks[it->first].name + " -> ";
    }
    words += job_.tasks[closing].name;
    Add(Path(path.back().first, "needs"), "the needs go in a circle: " + words,
        "take one of these needs out");
  }

  const JobSpec& job_;
  std::vector<SpecProblem> problems_;
};

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<SpecProblem> CheckJobSpec(const JobSpec& job) { return Checker(job).Run(); }

std::string Suggest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace muster
