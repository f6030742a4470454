#include "executor/program_builder.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "model/job_spec.h"

namespace muster::executor {
namespace {

// The kernel takes no variable beyond 128 KiB.
constexpr size_t kLongestItem = 100'000;

constexpr std::string_view kOurs[] = {
    "MUSTER_JOB",       "MUSTER_TASK",  "MUSTER_ATTEMPT", "MUSTER_EXECUTOR", "MUSTER_JOB_NAME",
    "MUSTER_TASK_NAME", "MUSTER_INDEX", "MUSTER_ITEM",    "MUSTER_OUT",      "MUSTER_SCRATCH"};

bool IsOurs(std::string_view name) {
  return std::find(std::begin(kOurs), std::end(kOurs), name) != std::end(kOurs);
}

}  // namespace

void ProgramBuilder::UseTemplate(std::shared_ptr<const RunTemplate> what) {
  what_ = std::move(what);
  program_.env.clear();
  // Of a name that comes twice the last counts; getenv() would find the first.
  std::unordered_map<std::string_view, size_t> places;
  for (const auto* list : {&added_, &what_->env}) {
    for (const auto& [name, value] : *list) {
      if (IsOurs(name)) continue;
      // The launch's own words stay.
      if (list != &added_ && name.starts_with("MUSTER_") && places.contains(name)) continue;
      auto [place, added] = places.emplace(name, program_.env.size());
      std::string variable = name + "=" + value;
      if (added) {
        program_.env.push_back(std::move(variable));
      } else {
        program_.env[place->second] = std::move(variable);
      }
    }
  }
  program_.env.push_back("MUSTER_EXECUTOR=" + Render(executor_));
  program_.env.push_back("MUSTER_JOB_NAME=" + what_->job_name);
  program_.env.push_back("MUSTER_TASK_NAME=" + what_->task_name);
  shared_variables_ = program_.env.size();
  program_.cwd = what_->cwd;
}

void ProgramBuilder::AddVariable(std::string_view name, std::string_view value) {
  std::string& variable = program_.env.emplace_back();
  variable.reserve(name.size() + 1 + value.size());
  variable.append(name).append("=").append(value);
}

const TaskRunner::Program& ProgramBuilder::Build(const StartAttempt& start, const std::string& out,
                                                 const std::string& scratch) {
  if (what_ != start.what) UseTemplate(start.what);
  program_.env.resize(shared_variables_);
  AddVariable("MUSTER_JOB", Render(start.attempt.task.job));
  AddVariable("MUSTER_TASK", Render(start.attempt.task));
  AddVariable("MUSTER_ATTEMPT", std::to_string(start.attempt.n));
  AddVariable("MUSTER_INDEX", std::to_string(start.index));
  if (!start.item.empty() && start.item.size() <= kLongestItem)
    AddVariable("MUSTER_ITEM", start.item);
  if (!out.empty()) AddVariable("MUSTER_OUT", out);
  if (!scratch.empty()) AddVariable("MUSTER_SCRATCH", scratch);
  program_.argv = ExpandCommand(what_->command, {start.item, start.index, out});
  return program_;
}

}  // namespace muster::executor
