// muster.yaml, MUSTER_... variables and flags as one configuration, in which every value knows
// where it came from. Pure but for reading the files; the environment is handed in.
//
//     ConfigInputs inputs{.cwd = "/home/me/project", .home = "/home/me", .variable = Lookup};
//     LoadedConfig loaded = LoadConfig(inputs);
//     for (const ConfigProblem& p : loaded.problems) Print(Render(p));
//     const ClusterEntry* cluster = loaded.config.Find(loaded.config.default_cluster.value);
//
// Precedence: flag > variable > project file (muster.yaml in cwd or the closest folder above it, up
// to home or /) > user file ($XDG_CONFIG_HOME or ~/.config, then muster/muster.yaml) > site file
// (/etc/muster/muster.yaml) > built in. Files are merged value by value. Without any there is one
// cluster, `here`, of kind local.
//
// Keys: default, controller, state_dir, log_level, and for each of clusters: kind, cpus, memory,
// max_attempts, pool {min, max, cpus, memory, idle}. Variables are the keys in capitals:
// MUSTER_CONTROLLER, MUSTER_CLUSTERS_HERE_POOL_MAX (what is no letter or digit becomes '_'); an
// empty variable counts as not set, and other MUSTER_ variables are left alone (tasks get some).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "model/job_check.h"

namespace muster {

enum class ConfigOrigin : uint8_t {
  kBuiltIn,
  kSiteFile,
  kUserFile,
  kProjectFile,
  kVariable,
  kFlag
};
std::string_view ToString(ConfigOrigin origin);

struct ConfigSource {
  ConfigOrigin origin = ConfigOrigin::kBuiltIn;
  // "/etc/muster/muster.yaml:3", "MUSTER_CONTROLLER", "--controller"; "" when built in.
  std::string place;
  friend bool operator==(const ConfigSource&, const ConfigSource&) = default;
};

template <typename T>
struct Sourced {
  T value{};
  ConfigSource source;
};

struct PoolConfig {
  Sourced<uint32_t> min;
  Sourced<uint32_t> max;                  // executors
  Sourced<std::optional<MilliCpu>> cpus;  // of one executor; not set: the cluster's, shared evenly
  Sourced<std::optional<Bytes>> memory;
  Sourced<Duration> idle;
};

struct ClusterEntry {
  std::string name;
  Sourced<std::string> kind;
  // What muster may use; not set: all there is.
  Sourced<std::optional<MilliCpu>> cpus;
  Sourced<std::optional<Bytes>> memory;
  // Most attempts that run at once; 0: no bound but cpus and memory.
  Sourced<uint32_t> max_attempts;
  PoolConfig pool;
};

struct Config {
  Sourced<std::string> default_cluster;
  // In the order of their names.
  std::vector<ClusterEntry> clusters;
  // Where a standing controller listens: "/path", "unix:/path", "http://..." or "https://..."; "":
  // none.
  Sourced<std::string> controller;
  // Absolute; "" if neither a home nor a setting says where.
  Sourced<std::string> state_dir;
  Sourced<LogLevel> log_level;

  const ClusterEntry* Find(std::string_view name) const;
  std::vector<std::string> ClusterNames() const;
};

// One line of `muster config show`.
struct ConfigEntry {
  std::string key;    // "clusters.here.pool.max"
  std::string value;  // as it may stand in a file
  ConfigSource source;
};

struct ConfigProblem {
  // The file, variable or flag.
  std::string where;
  SpecProblem problem;
};
// `muster.yaml:3:5: clusters.here.cpu: unknown key; did you mean 'cpus'?`
std::string Render(const ConfigProblem& problem);

struct ConfigInputs {
  std::string cwd;   // absolute
  std::string home;  // "" if there is none
  std::string site_file = "/etc/muster/muster.yaml";
  std::function<std::optional<std::string>(const std::string&)> variable;
  // Keys with dots and texts: {"controller", "/run/muster.sock"}; shown as "--controller".
  std::vector<std::pair<std::string, std::string>> flags;
  // A project file in a folder that everyone may write to (/tmp) counts only if it belongs to this
  // user or to root.
  uid_t user = 0;
};

struct LoadedConfig {
  Config config;
  // Sorted by key; what is not set and has no default is not among them.
  std::vector<ConfigEntry> entries;
  std::vector<ConfigProblem> problems;
  // Files that were read, lowest precedence first.
  std::vector<std::string> files;
};

LoadedConfig LoadConfig(const ConfigInputs& inputs);

}  // namespace muster
