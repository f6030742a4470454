// The settings of one configured cluster as flat text, and the reader that turns them into values
// and collects everything wrong with them.
//
//     SettingsReader reader(settings);
//     PoolSettings pool = ReadPoolSettings(reader, here);
//     std::string queue = reader.Text("queue", "default");
//     std::vector<SpecProblem> problems = std::move(reader).Finish();   // unknown keys included
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/machine_size.h"
#include "base/units.h"
#include "model/job_check.h"
#include "model/job_spec.h"

namespace muster {

// One value of a `clusters:` entry. Keys of nested maps are joined by dots: "pool.max".
struct Setting {
  std::string key;
  std::string value;
  int line = 0;  // in its file; 0: a flag or variable
  int column = 0;
};

class SettingsReader {
 public:
  explicit SettingsReader(std::span<const Setting> settings) : settings_(settings) {}

  // Each names a key this kind knows; what cannot be read is a problem, and the fallback is
  // returned.
  std::string Text(std::string_view key, std::string fallback);
  uint32_t Number(std::string_view key, uint32_t fallback, uint32_t lowest, uint32_t highest);
  Duration Time(std::string_view key, Duration fallback);
  Bytes Size(std::string_view key, Bytes fallback);
  MilliCpu Cpus(std::string_view key, MilliCpu fallback);
  // Every key that starts with `prefix`, without it: {"licences": 3} of "resources.licences: 3".
  std::vector<std::pair<std::string, uint64_t>> Counts(std::string_view prefix);
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  void AddProblem(std::string_view key, std::string message, std::string suggestion = "");

  // All problems: those above, keys given twice, and keys nobody asked for, each with the closest
  // key that was.
  std::vector<SpecProblem> Finish() &&;

 private:
  const Setting* Find(std::string_view key) const;
  const Setting* Ask(std::string_view key);

  std::span<const Setting> settings_;
  std::vector<std::string> known_;
  std::vector<std::string> known_prefixes_;
  std::vector<SpecProblem> problems_;
};

// The `pool:` block, the same for every kind: how many executors, and of which size.
struct PoolSettings {
  uint32_t min = 0;
  uint32_t max = 1;
  Resources executor_size;
  // Attempts one executor may run at once, whatever their size; 0: bounded by size alone.
  uint32_t slots = 0;
  Duration idle{std::chrono::seconds(60)};  // an executor without work this long leaves; 0: never
};
// Reads pool.min, pool.max, pool.cpus, pool.memory, pool.gpus, pool.slots, pool.idle and
// pool.resources.*; `fallback` holds what the kind fills in.
PoolSettings ReadPoolSettings(SettingsReader& reader, const PoolSettings& fallback);

}  // namespace muster
