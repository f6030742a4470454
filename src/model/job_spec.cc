#include "model/job_spec.h"

#include <fmt/format.h>

#include <array>

#include "base/hash.h"

namespace muster {
namespace {

enum class Placeholder { kItem, kItemName, kIndex, kOut };
struct KnownPlaceholder {
  std::string_view text;
  Placeholder which;
};
constexpr std::array<KnownPlaceholder, 4> kPlaceholders = {{{"{item}", Placeholder::kItem},
                                                            {"{item:name}", Placeholder::kItemName},
                                                            {"{index}", Placeholder::kIndex},
                                                            {"{out}", Placeholder::kOut}}};

const KnownPlaceholder* PlaceholderAt(std::string_view text) {
  for (const KnownPlaceholder& known : kPlaceholders) {
    if (text.starts_with(known.text)) return &known;
  }
  return nullptr;
}

std::string ValueOf(Placeholder which, const PlaceholderValues& values) {
  switch (which) {
    case Placeholder::kItem: return std::string(values.item);
    case Placeholder::kItemName: return std::string(ItemName(values.item));
    case Placeholder::kIndex: return fmt::format("{}", values.index);
    case Placeholder::kOut: return std::string(values.out);
  }
  return "";
}

enum class Quoting { kShell, kNone };

std::string Expand(std::string_view text, const PlaceholderValues& values, Quoting quoting) {
  std::string result;
  result.reserve(text.size() + values.item.size() + values.out.size());
  while (!text.empty()) {
    size_t brace = text.find('{');
    result.append(text.substr(0, brace));
    if (brace == std::string_view::npos) break;
    text.remove_prefix(brace);
    // "{{item}}" is the text "{item}".
    if (text.size() > 1 && text[1] == '{') {
      if (const KnownPlaceholder* known = PlaceholderAt(text.substr(1));
          known != nullptr && text.substr(1 + known->text.size()).starts_with('}')) {
        result.append(known->text);
        text.remove_prefix(known->text.size() + 2);
        continue;
      }
    }
    if (const KnownPlaceholder* known = PlaceholderAt(text)) {
      std::string value = ValueOf(known->which, values);
      result.append(quoting == Quoting::kShell ? ShellQuote(value) : value);
      text.remove_prefix(known->text.size());
      continue;
    }
    result.push_back('{');
    text.remove_prefix(1);
  }
  return result;
}

bool Mentions(std::string_view text, Placeholder which) {
  for (size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const KnownPlaceholder* known = PlaceholderAt(text.substr(at));
    if (known == nullptr || known->which != which) continue;
    bool escaped = at > 0 && text[at - 1] == '{' &&
                   text.substr(at + known->text.size()).starts_with('}');
    if (!escaped) return true;
  }
  return false;
}

bool IsSafeCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string CategoryOf(const JobSpec& job, const TaskSpec& task) {
  if (!task.category.empty()) return task.category;
  return job.name + "/" + task.name;
}

bool UsesOut(const TaskSpec& task) {
  if (const auto* shell = std::get_if<ShellCommand>(&task.command)) {
    return Mentions(shell->text, Placeholder::kOut);
  }
  for (const std::string& argument : std::get<ExecCommand>(task.command).argv) {
    if (Mentions(argument, Placeholder::kOut)) return true;
  }
  return false;
}

std::vector<std::string> ExpandCommand(const Command& command, const PlaceholderValues& values) {
  if (const auto* shell = std::get_if<ShellCommand>(&command)) {
    return {"/bin/sh", "-c", Expand(shell->text, values, Quoting::kShell)};
  }
  std::vector<std::string> argv;
  const auto& given = std::get<ExecCommand>(command).argv;
  argv.reserve(given.size());
  for (const std::string& argument : given) {
    argv.push_back(Expand(argument, values, Quoting::kNone));
  }
  return argv;
}

std::string ShellQuote(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  quoted += '\'';
  return quoted;
}

std::string_view ItemName(std::string_view item) {
  if (size_t slash = item.rfind('/'); slash != std::string_view::npos) item.remove_prefix(slash + 1);
  size_t dot = item.rfind('.');
  if (dot != std::string_view::npos && dot > 0) item = item.substr(0, dot);
  return item;
}

std::string PathSafeName(std::string_view name) {
  bool safe = !name.empty() && name.size() <= 64 && name.front() != '.';
  std::string prefix;
  for (char c : name) {
    if (!IsSafeCharacter(c)) safe = false;
    if (prefix.size() < 32) prefix += IsSafeCharacter(c) ? c : '_';
  }
  if (safe) return std::string(name);
  if (!prefix.empty() && prefix.front() == '.') prefix.front() = '_';
  return fmt::format("{}-{:016x}", prefix, Hash64(name));
}

}  // namespace muster
