#include "wire/spec_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "wire/task_reader.h"

namespace muster {
namespace {

class JobReader {
 public:
  JobReader(DocRef root, SpecSource source, const ParseContext& context)
      : root_(root),
        source_(source),
        context_(context),
        read_(problems_),
        tasks_(source, problems_) {}

  ParsedJob Run() {
    spec_.name = context_.default_name;
    spec_.cwd = context_.cwd;
    if (ReadRoot()) {
      ReadTasks();
      LinkNeeds();
    }
    AddSemanticProblems();
    ParsedJob job;
    job.spec = std::move(spec_);
    job.problems = std::move(problems_).Take();
    return job;
  }

 private:
  bool ReadRoot() {
    if (!root_.is_map()) {
      broken_ = true;
      std::string_view what = root_.is_null()   ? "the file is empty"
                              : root_.is_list() ? "a job is a map, this is a list"
                                                : "a job is a map, this is a single value";
      problems_.Add(DocPath(), root_, std::string(what),
                    root_.is_list() ? "write tasks: above the list"
                                    : "write tasks: and below it - command: what to run");
      return false;
    }
    read_.CheckKeys(root_, DocPath());
    root_.ForEachEntry([&](DocRef key, DocRef value) { ReadKey(key, value); });
    if (source_ == SpecSource::kApi && !spec_.cwd.starts_with('/')) {
      problems_.Add(
          {"cwd", "the folder of submit is missing or not absolute", "send cwd: /the/folder"});
    }
    if (source_ == SpecSource::kJobFile) spec_.cwd = PathBelow(context_.cwd, cwd_);
    if (inputs_) tasks_.CheckInputs(*inputs_, DocPath().Key("inputs"), spec_.cwd, defaults_.inputs);
    if (!task_list_) return true;
    if (task_list_->is_list()) return true;
    problems_.Add(DocPath().Key("tasks"), *task_list_, "expected a list of tasks",
                  task_list_->is_map() ? "write - name: before each of them"
                                       : "write - command: what to run");
    return true;
  }

  void ReadKey(DocRef key, DocRef value) {
    const DocPath top;
    DocPath path = top.Key(key.text());
    const KeyRule* rule = FindKeyRule(key.text());
    if (rule == nullptr) {
      read_.UnknownKey(key, top, JobKeyWords());
    } else if (rule->place == KeyPlace::kTask) {
      problems_.Add(path, key, fmt::format("'{}' belongs to a task, not to the job", rule->name),
                    "write it below tasks:, indented");
    } else if (tasks_.ReadShared(*rule, value, path, defaults_)) {
      if (rule->key == SpecKey::kInputs) inputs_ = value;
    } else {
      ReadOwn(*rule, value, path);
    }
  }

  void ReadOwn(const KeyRule& rule, DocRef value, const DocPath& path) {
    switch (rule.key) {
      case SpecKey::kName:
        if (auto name = read_.Text(value, path)) spec_.name = std::move(*name);
        break;
      case SpecKey::kTasks:
        task_list_ = value;
        break;
      case SpecKey::kEnv:
        if (auto env = read_.Pairs(value, path)) spec_.env = std::move(*env);
        break;
      case SpecKey::kCwd:
        if (auto cwd = read_.Text(value, path)) {
          cwd_ = *cwd;
          if (source_ == SpecSource::kApi) spec_.cwd = std::move(*cwd);
        }
        break;
      case SpecKey::kPriority:
        if (auto n = read_.Whole(value, path, INT32_MIN, INT32_MAX)) {
          spec_.priority = static_cast<int32_t>(*n);
        }
        break;
      case SpecKey::kCluster:
        ReadCluster(value, path);
        break;
      default:
        break;
    }
  }

  void ReadCluster(DocRef value, const DocPath& path) {
    if (value.is_map() && !value.Find("base64")) {
      problems_.Add(path, value,
                    "settings for one kind of cluster are not supported by this version",
                    "write only the name of a configured cluster");
      return;
    }
    auto name = read_.Text(value, path);
    if (!name) return;
    const auto& known = context_.clusters;
    if (!known.empty() && std::find(known.begin(), known.end(), *name) == known.end()) {
      std::string suggestion = DidYouMean(*name, known);
      if (suggestion.empty()) suggestion = "known: " + fmt::format("{}", fmt::join(known, ", "));
      problems_.Add(path, value, fmt::format("no cluster is called '{}'", *name), suggestion);
    }
    spec_.cluster = std::move(*name);
  }

  void ReadTasks() {
    if (!task_list_) return;
    const DocPath top = DocPath();
    const DocPath list = top.Key("tasks");
    size_t i = 0;
    task_list_->ForEachItem([&](DocRef item) {
      TaskSpec task = defaults_;
      needs_.emplace_back();
      tasks_.ReadTask(item, list.Index(i), spec_.cwd, task, needs_.back());
      ++i;
      if (task.name.empty() && !item.Find("name")) task.name = fmt::format("task{}", i);
      spec_.tasks.push_back(std::move(task));
    });
  }

  void LinkNeeds() {
    std::unordered_map<std::string_view, uint32_t> by_name;
    for (size_t i = 0; i < spec_.tasks.size(); ++i) {
      by_name.emplace(spec_.tasks[i].name, static_cast<uint32_t>(i));
    }
    const DocPath top;
    const DocPath list = top.Key("tasks");
    for (size_t i = 0; i < needs_.size(); ++i) {
      std::vector<uint32_t>& linked = spec_.tasks[i].needs;
      for (const TaskReader::Need& need : needs_[i]) {
        auto found = by_name.find(need.name);
        if (found == by_name.end()) {
          const DocPath task = list.Index(i);
          const DocPath needs = task.Key("needs");
          problems_.Add(needs.Index(need.position), need.at,
                        fmt::format("no task is called '{}'", need.name),
                        problems_.full() ? "" : SuggestTask(need.name));
        } else if (!IsLinked(linked, found->second)) {
          linked.push_back(found->second);
        }
      }
      is_linked_.clear();
    }
  }

  // Named twice is needed once; quick for one task that needs 100,000.
  bool IsLinked(const std::vector<uint32_t>& linked, uint32_t position) {
    if (linked.size() < 16) {
      return std::find(linked.begin(), linked.end(), position) != linked.end();
    }
    if (is_linked_.empty()) {
      for (uint32_t known : linked) is_linked_.emplace(known, true);
    }
    return !is_linked_.emplace(position, true).second;
  }

  // Comparing with every name of a large job is only done for the first few.
  std::string SuggestTask(const std::string& name) {
    constexpr size_t kBudget = 500'000;
    if (compared_ > kBudget) return "";
    compared_ += spec_.tasks.size();
    if (names_.empty()) {
      for (const TaskSpec& task : spec_.tasks) names_.push_back(task.name);
    }
    return DidYouMean(name, names_);
  }

  // What the model finds, unless the place has a problem already.
  void AddSemanticProblems() {
    if (broken_ || problems_.full()) return;
    for (SpecProblem& problem : CheckJobSpec(spec_)) {
      if (problems_.Covers(problem.path)) continue;
      problems_.Add(source_ == SpecSource::kJobFile ? WithPlace(std::move(problem), root_)
                                                    : std::move(problem));
    }
  }

  DocRef root_;
  SpecSource source_;
  const ParseContext& context_;
  ProblemList problems_;
  ValueReader read_;
  TaskReader tasks_;
  JobSpec spec_;
  TaskSpec defaults_;
  std::string cwd_;
  std::optional<DocRef> task_list_;
  std::optional<DocRef> inputs_;
  std::vector<std::vector<TaskReader::Need>> needs_;
  std::unordered_map<uint32_t, bool> is_linked_;
  std::vector<std::string> names_;
  size_t compared_ = 0;
  bool broken_ = false;
};

}  // namespace

ParsedJob ReadJobSpec(DocRef root, SpecSource source, const ParseContext& context) {
  return JobReader(root, source, context).Run();
}

}  // namespace muster
