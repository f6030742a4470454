// The keys of a job and of a task: one table for the reader, the suggestions and the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class SpecKey : uint8_t {
  kName,
  kTasks,
  kCluster,
  kEnv,
  kCwd,
  kPriority,
  kCommand,
  kNeeds,
  kEach,
  kArray,
  kLines,
  kItems,
  kCap,
  kCpus,
  kMemory,
  kTime,
  kNeedsTime,
  kGrace,
  kRetries,
  kLane,
  kOnce,
  kCategory,
  kInputs,
  kGpus,
  kResources,
  kQueue,
  kRefused,
};

enum class KeyPlace : uint8_t { kJob, kTask, kBoth };

struct KeyRule {
  std::string_view name;
  SpecKey key;
  KeyPlace place;
  // For kRefused: why, and what to do instead.
  std::string_view refusal;
  std::string_view instead;
};

std::span<const KeyRule> AllKeyRules();
// Nothing if the word is no key anywhere.
const KeyRule* FindKeyRule(std::string_view word);
// The words that may stand at a job, and at a task.
const std::vector<std::string>& JobKeyWords();
const std::vector<std::string>& TaskKeyWords();

}  // namespace muster
