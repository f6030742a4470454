#include "cli/job_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "wire/job_file.h"

namespace muster::cli {
namespace {

constexpr std::string_view kItems = ":::";

Error Usage(std::string message) { return UserError(ErrorCode::kInvalidArgument, std::move(message)); }

bool MentionsItem(const std::vector<std::string>& argv) {
  return std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
    return word.find("{item}") != std::string::npos || word.find("{item:name}") != std::string::npos;
  });
}

// The value `key` has in the environment of this shell.
std::optional<std::string> FindHere(const JobSurroundings& here, const std::string& key) {
  for (const std::string& entry : here.environment) {
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=') {
      return entry.substr(key.size() + 1);
    }
  }
  return std::nullopt;
}

void SetEnv(std::vector<std::pair<std::string, std::string>>& env, const std::string& key,
            std::string value) {
  for (auto& [name, old] : env) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  env.emplace_back(key, std::move(value));
}

Result<IndexRange> ParseArray(const std::string& text, uint32_t& cap) {
  // The job file's reader knows the form; one reader for both.
  std::string file = "name: a\ntasks:\n  - name: a\n    array: " + text + "\n    command: x\n";
  ParseContext context;
  context.cwd = "/";
  ParsedJob parsed = ParseJobFile(file, "--array", context);
  if (!parsed.problems.empty()) {
    return Usage(fmt::format("--array {}: {}", text, parsed.problems[0].message));
  }
  cap = parsed.spec.tasks[0].array_cap;
  return std::get<IndexRange>(parsed.spec.tasks[0].each);
}

Status ApplyFlags(const JobFlags& flags, TaskSpec& task) {
  if (flags.cpus) {
    ASSIGN_OR_RETURN(task.request.cpus, ParseMilliCpu(*flags.cpus).WithContext("--cpus"));
  }
  if (flags.memory) {
    ASSIGN_OR_RETURN(task.request.memory, ParseBytes(*flags.memory).WithContext("--memory"));
  }
  if (flags.time) {
    ASSIGN_OR_RETURN(task.time_limit, ParseDuration(*flags.time).WithContext("--time"));
  }
  if (flags.grace) {
    ASSIGN_OR_RETURN(task.grace, ParseDuration(*flags.grace).WithContext("--grace"));
  }
  if (flags.retries) task.retries.user = *flags.retries;
  if (flags.once) task.once = true;
  if (flags.at_once != 0) task.array_cap = flags.at_once;
  return Status::Ok();
}

Status ReadItems(std::vector<std::string>& argv, const JobSurroundings& here, TaskSpec& task) {
  auto marker = std::find(argv.begin(), argv.end(), kItems);
  ItemList items;
  if (marker != argv.end()) {
    for (auto it = marker + 1; it != argv.end(); ++it) {
      if (*it == kItems) {
        return Usage("':::' stands twice; one list of items is possible, combinations are not");
      }
      if (!items.Add(*it)) return Usage("the items are more than 4 GiB together");
    }
    argv.erase(marker, argv.end());
    if (items.empty()) return Usage("behind ':::' stand no items; did a pattern match nothing?");
    if (argv.empty()) return Usage("before ':::' stands no command");
    if (!MentionsItem(argv)) argv.push_back("{item}");
    task.each = std::move(items);
    return Status::Ok();
  }
  if (!MentionsItem(argv)) return Status::Ok();
  if (here.stdin_is_terminal) {
    return Usage("the command names {item}, but there are no items: give them behind ':::' or as lines "
                 "on standard input");
  }
  uint64_t line_number = 0;
  while (auto line = here.read_line()) {
    ++line_number;
    if (line->find('\0') != std::string::npos) {
      return Usage(fmt::format("standard input, line {}: holds a NUL byte", line_number));
    }
    if (line->empty()) continue;
    if (!items.Add(*line)) return Usage("the items are more than 4 GiB together");
  }
  if (items.empty()) return Usage("standard input holds no lines, so there is nothing to run");
  items.ShrinkToFit();
  task.each = std::move(items);
  return Status::Ok();
}

// Files and flags meet: a flag wins over what the file says for every task.
Result<MadeJob> FromFile(const JobWords& words, const JobSurroundings& here) {
  MadeJob made;
  std::string text;
  if (words.file == "-") {
    made.file_name = "standard input";
    ASSIGN_OR_RETURN(text, here.read_all());
    RETURN_IF_ERROR(CheckJobFileSize(text.size(), made.file_name));
  } else {
    made.file_name = words.file;
    ASSIGN_OR_RETURN(text, ReadJobFile(words.file));
  }
  ParseContext context;
  context.cwd = here.cwd;
  context.clusters = here.clusters;
  ParsedJob parsed = ParseJobFile(text, made.file_name, context);
  made.problems = std::move(parsed.problems);
  made.spec = std::move(parsed.spec);
  if (words.flags.array) return Usage("--array goes with a command; in a job file write `array:`");
  for (TaskSpec& task : made.spec.tasks) {
    JobFlags flags = words.flags;
    if (!task.is_array()) flags.at_once = 0;
    RETURN_IF_ERROR(ApplyFlags(flags, task));
  }
  return made;
}

Result<MadeJob> FromCommand(const JobWords& words, const JobSurroundings& here) {
  MadeJob made;
  TaskSpec task;
  std::vector<std::string> argv = words.command;
  if (argv.empty() || argv.front().empty()) return Usage("no command stands behind '--'");
  std::string program = std::filesystem::path(argv.front()).filename().string();
  task.name = program.empty() ? argv.front() : program;
  RETURN_IF_ERROR(ApplyFlags(words.flags, task));
  RETURN_IF_ERROR(ReadItems(argv, here, task));
  if (words.flags.array) {
    if (task.is_array()) return Usage("--array and a list of items do not go together");
    uint32_t cap = 0;
    ASSIGN_OR_RETURN(task.each, ParseArray(*words.flags.array, cap));
    if (cap != 0) task.array_cap = cap;
  }
  if (task.array_cap != 0 && !task.is_array()) {
    return Usage("--at-once needs a list of items or --array");
  }
  made.single = !task.is_array();
  task.command = ExecCommand{std::move(argv)};
  made.spec.name = words.flags.name.empty() ? task.name : words.flags.name;
  made.spec.tasks.push_back(std::move(task));
  made.spec.cwd = here.cwd;
  made.file_name = "command";
  made.problems = CheckJobSpec(made.spec);
  return made;
}

}  // namespace

Result<MadeJob> MakeJob(const JobWords& words, const JobSurroundings& here) {
  if (!words.file.empty() && !words.command.empty()) {
    return Usage(fmt::format("both a job file ({}) and a command behind '--' are given", words.file));
  }
  if (words.file.empty() && words.command.empty()) {
    return Usage("nothing to run: give a job file, or a command behind '--' as in "
                 "`muster run -- echo hi`");
  }
  auto made = words.file.empty() ? FromCommand(words, here) : FromFile(words, here);
  if (!made.ok()) return made;
  JobSpec& spec = made->spec;
  if (!words.flags.name.empty()) spec.name = words.flags.name;
  if (!words.flags.cluster.empty()) spec.cluster = words.flags.cluster;
  if (words.flags.priority != 0) spec.priority = words.flags.priority;
  if (!words.flags.cwd.empty()) {
    spec.cwd = (std::filesystem::path(here.cwd) / words.flags.cwd).lexically_normal().string();
  }
  // Nothing else of this shell's environment is written down: it may hold passwords. Tasks start from their
  // executor's environment.
  for (const std::string& entry : words.flags.env) {
    size_t equals = entry.find('=');
    if (equals == 0) return Usage(fmt::format("--env {}: the name is empty", entry));
    if (equals != std::string::npos) {
      SetEnv(spec.env, entry.substr(0, equals), entry.substr(equals + 1));
      continue;
    }
    auto value = FindHere(here, entry);
    if (!value) return Usage(fmt::format("--env {}: it is not set here; write {}=VALUE", entry, entry));
    SetEnv(spec.env, entry, std::move(*value));
  }
  return made;
}

}  // namespace muster::cli
