#include "wire/task_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "wire/item_source.h"

namespace muster {

std::string PathBelow(const std::string& folder, const std::string& path) {
  if (path.empty() || path == ".") return folder;
  if (path.starts_with('/')) return path;
  return folder + (folder.ends_with('/') ? "" : "/") + path;
}

bool TaskReader::ReadShared(const KeyRule& rule, DocRef value, const DocPath& path,
                            TaskSpec& task) {
  constexpr int64_t kUint32 = std::numeric_limits<uint32_t>::max();
  auto set = [](auto& field, auto parsed) {
    if (parsed) field = std::move(*parsed);
  };
  switch (rule.key) {
    case SpecKey::kCpus:
      set(task.request.cpus, read_.Cpus(value, path));
      return true;
    case SpecKey::kMemory:
      ReadMemory(value, path, task);
      return true;
    case SpecKey::kTime:
      set(task.time_limit, read_.Time(value, path));
      return true;
    case SpecKey::kNeedsTime:
      set(task.needs_time, read_.Time(value, path));
      return true;
    case SpecKey::kGrace:
      set(task.grace, read_.Time(value, path));
      return true;
    case SpecKey::kRetries:
      ReadRetries(value, path, task);
      return true;
    case SpecKey::kLane:
      ReadLane(value, path, task);
      return true;
    case SpecKey::kOnce:
      set(task.once, read_.Truth(value, path));
      return true;
    case SpecKey::kCategory:
      set(task.category, read_.Text(value, path));
      return true;
    case SpecKey::kInputs:
      set(task.inputs, read_.Texts(value, path));
      return true;
    case SpecKey::kGpus:
      if (auto gpus = read_.Whole(value, path, 0, kUint32)) {
        task.request.gpus = static_cast<uint32_t>(*gpus);
      }
      return true;
    case SpecKey::kResources:
      set(task.request.named, read_.Amounts(value, path));
      return true;
    case SpecKey::kQueue:
      ReadQueue(value, path);
      return true;
    case SpecKey::kRefused:
      problems_.Add(path, value, std::string(rule.refusal), std::string(rule.instead));
      return true;
    default:
      return false;
  }
}

std::optional<Bytes> TaskReader::ReadMemorySize(DocRef value, const DocPath& path) {
  std::optional<Bytes> size = read_.Size(value, path);
  bool bare = !value.text().empty() &&
              value.text().find_first_not_of("0123456789.") == std::string_view::npos;
  if (!size || source_ == SpecSource::kApi || !bare || *size >= MiB(1) || size->value == 0) {
    return size;
  }
  problems_.Add(path, value,
                fmt::format("{} without a unit is {} bytes", value.text(), size->value),
                fmt::format("did you mean {}Mi?", value.text()));
  return std::nullopt;
}

void TaskReader::ReadMemory(DocRef value, const DocPath& path, TaskSpec& task) {
  if (!value.is_map()) {
    if (auto size = ReadMemorySize(value, path)) {
      task.request.memory = *size;
      task.memory_limit.reset();
    }
    return;
  }
  task.request.memory = Bytes();
  task.memory_limit.reset();
  read_.CheckKeys(value, path);
  value.ForEachEntry([&](DocRef key, DocRef size) {
    if (key.text() == "request") {
      if (auto bytes = ReadMemorySize(size, path.Key("request"))) task.request.memory = *bytes;
    } else if (key.text() == "limit") {
      task.memory_limit = ReadMemorySize(size, path.Key("limit"));
    } else {
      read_.UnknownKey(key, path, {"request", "limit"});
    }
  });
}

void TaskReader::ReadRetries(DocRef value, const DocPath& path, TaskSpec& task) {
  constexpr int64_t kMost = 1'000'000;
  auto set = [&](DocRef number, const DocPath& at, uint32_t& field) {
    if (auto count = read_.Whole(number, at, 0, kMost)) field = static_cast<uint32_t>(*count);
  };
  if (!value.is_map()) {
    set(value, path, task.retries.user);
    return;
  }
  read_.CheckKeys(value, path);
  value.ForEachEntry([&](DocRef key, DocRef number) {
    DocPath at = path.Key(key.text());
    if (key.text() == "user") {
      set(number, at, task.retries.user);
    } else if (key.text() == "oom") {
      set(number, at, task.retries.oom);
    } else if (key.text() == "infrastructure") {
      set(number, at, task.retries.infrastructure);
    } else {
      read_.UnknownKey(key, path, {"user", "oom", "infrastructure"});
    }
  });
}

void TaskReader::ReadLane(DocRef value, const DocPath& path, TaskSpec& task) {
  std::optional<std::string> word = read_.Text(value, path);
  if (!word) return;
  if (*word == "auto") {
    task.lane = Lane::kAuto;
  } else if (*word == "pooled") {
    task.lane = Lane::kPooled;
  } else if (*word == "own") {
    task.lane = Lane::kOwn;
  } else {
    std::string meant = DidYouMean(*word, {"auto", "pooled", "own"});
    problems_.Add(path, value, fmt::format("'{}' is not a lane", *word),
                  meant.empty() ? "write auto or pooled" : meant);
  }
}

void TaskReader::ReadQueue(DocRef value, const DocPath& path) {
  std::optional<std::string> name = read_.Text(value, path);
  if (!name || *name == "default") return;
  problems_.Add(path, value, "queues other than 'default' are not supported by this version",
                "take it out, or order jobs with priority");
}

void TaskReader::ReadCommand(DocRef value, const DocPath& path, TaskSpec& task) {
  if (value.is_list()) {
    if (auto argv = read_.Texts(value, path)) task.command = ExecCommand{std::move(*argv)};
  } else if (value.is_map() && !value.Find("base64")) {
    problems_.Add(path, value, "expected a text or a list, not a map",
                  "put the command in quotes, or write | and the command on the next line");
  } else if (auto text = read_.Text(value, path)) {
    task.command = ShellCommand{std::move(*text)};
  }
}

void TaskReader::ReadNeeds(DocRef value, const DocPath& path, std::vector<Need>& needs) {
  auto add = [&](DocRef at, const DocPath& where, size_t position) {
    if (auto name = read_.Text(at, where)) needs.push_back({std::move(*name), at, position});
  };
  if (!value.is_list()) {
    add(value, path, 0);
    return;
  }
  size_t i = 0;
  value.ForEachItem([&](DocRef item) {
    add(item, path.Index(i), i);
    ++i;
  });
}

void TaskReader::ReadOwn(const KeyRule& rule, DocRef value, const DocPath& path, TaskSpec& task,
                         std::vector<Need>& needs, Late& late) {
  switch (rule.key) {
    case SpecKey::kName:
      if (auto name = read_.Text(value, path)) task.name = std::move(*name);
      break;
    case SpecKey::kCommand:
      ReadCommand(value, path, task);
      break;
    case SpecKey::kNeeds:
      ReadNeeds(value, path, needs);
      break;
    case SpecKey::kEnv:
      if (auto env = read_.Pairs(value, path)) task.env = std::move(*env);
      break;
    case SpecKey::kCwd:
      if (auto cwd = read_.Text(value, path)) task.cwd = std::move(*cwd);
      break;
    case SpecKey::kPriority:
      if (auto n = read_.Whole(value, path, INT32_MIN, INT32_MAX)) {
        task.priority = static_cast<int32_t>(*n);
      }
      break;
    case SpecKey::kCluster:
      problems_.Add(path, value, "a task cannot choose or set up its cluster in this version",
                    "write cluster: NAME at the job");
      break;
    case SpecKey::kEach:
      late.each = value;
      break;
    case SpecKey::kArray:
      late.array = value;
      break;
    case SpecKey::kLines:
      late.lines = value;
      break;
    case SpecKey::kItems:
      late.items = value;
      break;
    case SpecKey::kCap:
      late.cap = value;
      break;
    default:
      break;
  }
}

void TaskReader::ReadTask(DocRef map, const DocPath& path, const std::string& cwd, TaskSpec& task,
                          std::vector<Need>& needs) {
  if (!map.is_map()) {
    problems_.Add(path, map, "a task is a map with at least a command",
                  "write - command: " + std::string(map.text().empty() ? "..." : map.text()));
    return;
  }
  read_.CheckKeys(map, path);
  Late late;
  bool has_command = false;
  map.ForEachEntry([&](DocRef key, DocRef value) {
    const KeyRule* rule = FindKeyRule(key.text());
    DocPath at = path.Key(key.text());
    if (rule == nullptr) {
      read_.UnknownKey(key, path, TaskKeyWords());
    } else if (rule->place == KeyPlace::kJob) {
      problems_.Add(at, key, fmt::format("'{}' belongs to the job, not to a task", rule->name),
                    "write it at the left margin");
    } else if (!ReadShared(*rule, value, at, task)) {
      has_command = has_command || rule->key == SpecKey::kCommand;
      ReadOwn(*rule, value, at, task, needs, late);
    } else if (rule->key == SpecKey::kInputs) {
      late.inputs = value;
    }
  });
  if (!has_command) {
    problems_.Add(path.Key("command"), map, "the task has no command",
                  "write command: and what to run");
  }
  std::string folder = PathBelow(cwd, task.cwd);
  if (!task.cwd.empty() && source_ == SpecSource::kJobFile) task.cwd = folder;
  ReadList(late, path, folder, task);
  if (late.inputs) CheckInputs(*late.inputs, path.Key("inputs"), folder, task.inputs);
}

void TaskReader::ReadList(const Late& late, const DocPath& path, const std::string& cwd,
                          TaskSpec& task) {
  int kinds =
      (late.each ? 1 : 0) + (late.array ? 1 : 0) + (late.lines ? 1 : 0) + (late.items ? 1 : 0);
  if (kinds > 1) {
    const DocRef& at = late.array ? *late.array : late.each ? *late.each : *late.items;
    problems_.Add(path.Key(late.array  ? "array"
                           : late.each ? "each"
                                       : "items"),
                  at, "a task can have only one of each, array, lines and items",
                  "keep one of them");
  }
  if (late.array) ReadArray(*late.array, path.Key("array"), task);
  if (late.each) ReadEach(*late.each, path.Key("each"), cwd, task);
  if (late.lines) ReadLines(*late.lines, path.Key("lines"), cwd, task);
  if (late.items) ReadItems(*late.items, path.Key("items"), task);
  if (!late.cap) return;
  DocPath at = path.Key("cap");
  auto cap = read_.Whole(*late.cap, at, 1, UINT32_MAX);
  if (!cap) return;
  if (kinds == 0) {
    problems_.Add(at, *late.cap, "a cap needs each, array, lines or items");
  } else if (task.array_cap != 0 && task.array_cap != *cap) {
    problems_.Add(at, *late.cap, fmt::format("the array itself says %{}", task.array_cap),
                  "keep one of them");
  }
  task.array_cap = static_cast<uint32_t>(*cap);
}

void TaskReader::ReadArray(DocRef value, const DocPath& path, TaskSpec& task) {
  std::optional<std::string> text = read_.Text(value, path);
  if (!text) return;
  Result<ArrayText> array = ParseArrayText(*text);
  if (!array.ok()) {
    problems_.Add(path, value, array.error().message);
    return;
  }
  task.each = array->range;
  task.array_cap = array->cap;
}

void TaskReader::ReadEach(DocRef value, const DocPath& path, const std::string& cwd,
                          TaskSpec& task) {
  if (source_ == SpecSource::kApi) {
    problems_.Add(path, value, "patterns are expanded by the client", "send items: [...]");
    return;
  }
  std::optional<std::vector<std::string>> patterns = read_.Texts(value, path);
  if (!patterns) return;
  ItemList items;
  bool good = true;
  for (size_t i = 0; i < patterns->size(); ++i) {
    Status status = GlobItems((*patterns)[i], cwd, items);
    if (status.ok()) continue;
    good = false;
    DocPath inner = path.Index(i);
    problems_.Add(value.is_list() ? inner : path, value.Item(i).value_or(value),
                  status.error().message);
  }
  if (!good) return;
  items.ShrinkToFit();
  task.each = std::move(items);
}

void TaskReader::ReadLines(DocRef value, const DocPath& path, const std::string& cwd,
                           TaskSpec& task) {
  if (source_ == SpecSource::kApi) {
    problems_.Add(path, value, "files are read by the client", "send items: [...]");
    return;
  }
  std::optional<std::string> file = read_.Text(value, path);
  if (!file) return;
  if (file->empty() || file->find('\0') != std::string::npos) {
    problems_.Add(path, value, "this cannot be the name of a file");
    return;
  }
  Result<ItemList> items = ReadItemLines(PathBelow(cwd, *file));
  if (!items.ok()) {
    problems_.Add(path, value, items.error().ToString());
  } else if (items->empty()) {
    problems_.Add(path, value, fmt::format("{} has no lines", PathBelow(cwd, *file)));
  } else {
    items->ShrinkToFit();
    task.each = std::move(*items);
  }
}

void TaskReader::ReadItems(DocRef value, const DocPath& path, TaskSpec& task) {
  if (!value.is_list()) {
    problems_.Add(path, value, "expected a list", "write items: [a, b, c]");
    return;
  }
  ItemList items;
  size_t i = 0;
  value.ForEachItem([&](DocRef item) {
    DocPath at = path.Index(i++);
    std::optional<std::string> bytes;
    // Most items are plain; no copy for those.
    if (!item.is_scalar()) bytes = read_.Text(item, at);
    if (!item.is_scalar() && !bytes) return;
    std::string_view text = bytes ? std::string_view(*bytes) : item.text();
    if (text.find('\0') != std::string_view::npos) {
      problems_.Add(at, item, "the item holds a NUL byte");
    } else if (!items.Add(text)) {
      problems_.Add(at, item, "the items are more than 4 GiB");
    }
  });
  items.ShrinkToFit();
  task.each = std::move(items);
}

void TaskReader::CheckInputs(DocRef value, const DocPath& path, const std::string& cwd,
                             const std::vector<std::string>& inputs) {
  if (source_ == SpecSource::kApi) return;
  for (size_t i = 0; i < inputs.size() && !problems_.full(); ++i) {
    DocPath inner = path.Index(i);
    const DocPath& at = value.is_list() ? inner : path;
    DocRef place = value.Item(i).value_or(value);
    std::string file = PathBelow(cwd, inputs[i]);
    struct stat found{};
    if (inputs[i].empty() || file.find('\0') != std::string::npos) {
      problems_.Add(at, place, "this cannot be the name of a file");
    } else if (::stat(file.c_str(), &found) != 0) {
      problems_.Add(at, place, fmt::format("{} is not there: {}", file, std::strerror(errno)));
    }
  }
}

}  // namespace muster
