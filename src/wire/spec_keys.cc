#include "wire/spec_keys.h"

#include <array>
#include <unordered_map>

namespace muster {
namespace {

using enum SpecKey;
using enum KeyPlace;

constexpr std::array kRules = std::to_array<KeyRule>({
    {"name", kName, kBoth, "", ""},
    {"tasks", kTasks, kJob, "", ""},
    {"cluster", kCluster, kBoth, "", ""},
    {"env", kEnv, kBoth, "", ""},
    {"cwd", kCwd, kBoth, "", ""},
    {"priority", kPriority, kBoth, "", ""},
    {"command", kCommand, kTask, "", ""},
    {"needs", kNeeds, kTask, "", ""},
    {"each", kEach, kTask, "", ""},
    {"array", kArray, kTask, "", ""},
    {"lines", kLines, kTask, "", ""},
    {"items", kItems, kTask, "", ""},
    {"cap", kCap, kTask, "", ""},
    {"cpus", kCpus, kBoth, "", ""},
    {"memory", kMemory, kBoth, "", ""},
    {"time", kTime, kBoth, "", ""},
    {"needs-time", kNeedsTime, kBoth, "", ""},
    {"grace", kGrace, kBoth, "", ""},
    {"retries", kRetries, kBoth, "", ""},
    {"lane", kLane, kBoth, "", ""},
    {"once", kOnce, kBoth, "", ""},
    {"category", kCategory, kBoth, "", ""},
    {"inputs", kInputs, kBoth, "", ""},
    {"gpus", kGpus, kBoth, "", ""},
    {"resources", kResources, kBoth, "", ""},
    {"queue", kQueue, kBoth, "", ""},
    {"image", kRefused, kBoth, "container images are not supported by this version",
     "start the container in the command, for example with podman run"},
    {"ports", kRefused, kBoth, "ports are not supported by this version",
     "let the program choose a free port and write it to a file"},
    {"prefer", kRefused, kBoth,
     "a choice between latency and cost is not supported by this version",
     "take it out: every task goes to the pooled lane"},
    {"outputs", kRefused, kBoth, "declared outputs are not supported by this version",
     "write to {out}, which is published when the task succeeds, or to a path below cwd"},
    {"group", kRefused, kBoth, "tasks that start together are not supported by this version",
     "start them from one command that waits for all of them"},
    {"nodes", kRefused, kBoth, "wishes for nodes are not supported by this version",
     "take it out: all tasks run on this machine"},
});

std::vector<std::string> WordsFor(KeyPlace place) {
  std::vector<std::string> words;
  for (const KeyRule& rule : kRules) {
    if (rule.place == place || rule.place == kBoth) words.emplace_back(rule.name);
  }
  return words;
}

}  // namespace

std::span<const KeyRule> AllKeyRules() { return kRules; }

const KeyRule* FindKeyRule(std::string_view word) {
  static const auto* const kByName = [] {
    auto* by_name = new std::unordered_map<std::string_view, const KeyRule*>();
    for (const KeyRule& rule : kRules) by_name->emplace(rule.name, &rule);
    return by_name;
  }();
  auto found = kByName->find(word);
  return found == kByName->end() ? nullptr : found->second;
}

const std::vector<std::string>& JobKeyWords() {
  static const auto* const kWords = new std::vector<std::string>(WordsFor(kJob));
  return *kWords;
}

const std::vector<std::string>& TaskKeyWords() {
  static const auto* const kWords = new std::vector<std::string>(WordsFor(kTask));
  return *kWords;
}

}  // namespace muster
