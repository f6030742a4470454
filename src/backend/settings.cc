#include "backend/settings.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster {
namespace {

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const Setting* SettingsReader::Find(std::string_view key) const {
  for (const Setting& setting : settings_) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

const Setting* SettingsReader::Ask(std::string_view key) {
  known_.emplace_back(key);
  return Find(key);
}

void SettingsReader::AddProblem(std::string_view key, std::string message, std::string suggestion) {
  const Setting* setting = Find(key);
  problems_.push_back({std::string(key), std::move(message), std::move(suggestion),
                       setting != nullptr ? setting->line : 0,
                       setting != nullptr ? setting->column : 0});
}

std::string SettingsReader::Text(std::string_view key, std::string fallback) {
  const Setting* setting = Ask(key);
  return setting != nullptr ? setting->value : std::move(fallback);
}

uint32_t SettingsReader::Number(std::string_view key, uint32_t fallback, uint32_t lowest,
                                uint32_t highest) {
  const Setting* setting = Ask(key);
  if (setting == nullptr) return fallback;
  auto value = ParseCount(setting->value);
  if (value && *value >= lowest && *value <= highest) return static_cast<uint32_t>(*value);
  AddProblem(key, fmt::format("\"{}\" is not a whole number from {} to {}", setting->value, lowest,
                              highest));
  return fallback;
}

Duration SettingsReader::Time(std::string_view key, Duration fallback) {
  const Setting* setting = Ask(key);
  if (setting == nullptr) return fallback;
  auto value = ParseDuration(setting->value);
  if (value.ok()) return *value;
  AddProblem(key, value.error().message);
  return fallback;
}

Bytes SettingsReader::Size(std::string_view key, Bytes fallback) {
  const Setting* setting = Ask(key);
  if (setting == nullptr) return fallback;
  auto value = ParseBytes(setting->value);
  if (value.ok()) return *value;
  AddProblem(key, value.error().message);
  return fallback;
}

MilliCpu SettingsReader::Cpus(std::string_view key, MilliCpu fallback) {
  const Setting* setting = Ask(key);
  if (setting == nullptr) return fallback;
  auto value = ParseMilliCpu(setting->value);
  if (value.ok()) return *value;
  AddProblem(key, value.error().message);
  return fallback;
}

std::vector<std::pair<std::string, uint64_t>> SettingsReader::Counts(std::string_view prefix) {
  known_prefixes_.emplace_back(prefix);
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (const Setting& setting : settings_) {
    if (!setting.key.starts_with(prefix)) continue;
    auto value = ParseCount(setting.value);
    if (value) {
      counts.emplace_back(setting.key.substr(prefix.size()), *value);
    } else {
      AddProblem(setting.key, fmt::format("\"{}\" is not a whole number", setting.value));
    }
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

std::vector<SpecProblem> SettingsReader::Finish() && {
  for (size_t i = 0; i < settings_.size(); ++i) {
    const Setting& setting = settings_[i];
    auto is_same = [&](const Setting& other) { return other.key == setting.key; };
    if (std::any_of(settings_.begin(), settings_.begin() + static_cast<ptrdiff_t>(i), is_same)) {
      problems_.push_back({setting.key, "is given twice", "", setting.line, setting.column});
      continue;
    }
    auto covers = [&](const std::string& prefix) { return setting.key.starts_with(prefix); };
    if (std::find(known_.begin(), known_.end(), setting.key) != known_.end() ||
        std::any_of(known_prefixes_.begin(), known_prefixes_.end(), covers)) {
      continue;
    }
    problems_.push_back({setting.key, "is not a setting of this kind of cluster",
                         Suggest(setting.key, known_), setting.line, setting.column});
  }
  return std::move(problems_);
}

PoolSettings ReadPoolSettings(SettingsReader& reader, const PoolSettings& fallback) {
  PoolSettings pool;
  constexpr uint32_t kMost = 1'000'000;
  constexpr uint32_t kNone = 0;
  pool.min = reader.Number("pool.min", fallback.min, kNone, kMost);
  pool.max = reader.Number("pool.max", std::max(fallback.max, pool.min), kNone, kMost);
  pool.executor_size.cpus = reader.Cpus("pool.cpus", fallback.executor_size.cpus);
  pool.executor_size.memory = reader.Size("pool.memory", fallback.executor_size.memory);
  pool.executor_size.gpus = reader.Number("pool.gpus", fallback.executor_size.gpus, kNone, kMost);
  pool.executor_size.named = reader.Counts("pool.resources.");
  pool.slots = reader.Number("pool.slots", fallback.slots, kNone, kMost);
  pool.idle = reader.Time("pool.idle", fallback.idle);
  if (pool.max == 0) {
    reader.AddProblem("pool.max", "is 0: nothing could ever run here", "1");
  } else if (pool.min > pool.max) {
    reader.AddProblem("pool.min",
                      fmt::format("is {}, more than pool.max, which is {}", pool.min, pool.max));
  }
  return pool;
}

}  // namespace muster
