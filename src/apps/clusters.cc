#include "apps/clusters.h"

#include <fmt/format.h>

#include "backend/measured_backend.h"
#include "backends/registry/registry.h"

namespace muster::apps {
namespace {

// A cluster's entry as the flat words that a kind checks. The cluster's size is that of its executors
// together, which by default is one.
std::vector<Setting> SettingsOf(const ClusterEntry& entry) {
  std::vector<Setting> settings;
  auto add = [&](std::string key, std::string value) {
    settings.push_back({std::move(key), std::move(value), 0, 0});
  };
  uint64_t share = std::max<uint32_t>(1, entry.pool.max.value);
  add("pool.min", fmt::format("{}", entry.pool.min.value));
  add("pool.max", fmt::format("{}", entry.pool.max.value));
  add("pool.idle", Render(entry.pool.idle.value));
  if (entry.pool.cpus.value) {
    add("pool.cpus", Render(*entry.pool.cpus.value));
  } else if (entry.cpus.value) {
    add("pool.cpus", Render(MilliCpu{std::max<uint64_t>(1, entry.cpus.value->value / share)}));
  }
  if (entry.pool.memory.value) {
    add("pool.memory", Render(*entry.pool.memory.value));
  } else if (entry.memory.value) {
    add("pool.memory", Render(Bytes{entry.memory.value->value / share}));
  }
  if (entry.max_attempts.value != 0) add("pool.slots", fmt::format("{}", entry.max_attempts.value));
  return settings;
}

struct CheckedCluster {
  const BackendKind* kind = nullptr;
  ClusterConfig config;
};

Result<CheckedCluster> CheckCluster(const ClusterEntry& entry) {
  const BackendKind* kind = FindBackendKind(entry.kind.value);
  if (kind == nullptr) {
    return UnknownKind(entry.kind.value).WithContext(fmt::format("cluster {}", entry.name));
  }
  ConfigCheck check = kind->CheckConfig(SettingsOf(entry), ReadMachineSize());
  if (!check.problems.empty()) {
    std::string words;
    for (const SpecProblem& problem : check.problems) {
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", problem.path, problem.message);
      if (!problem.suggestion.empty()) words += fmt::format(" ({})", problem.suggestion);
    }
    return OperatorError(ErrorCode::kInvalidArgument, fmt::format("cluster {}: {}", entry.name, words));
  }
  return CheckedCluster{kind, std::move(check.config)};
}

}  // namespace

Result<std::vector<control::Cluster>> MakeClusters(const Config& config,
                                                   const LaunchEnvironment& environment,
                                                   WorkerPool& pool) {
  std::vector<control::Cluster> clusters;
  for (const ClusterEntry& entry : config.clusters) {
    ASSIGN_OR_RETURN(CheckedCluster checked, CheckCluster(entry));
    LaunchEnvironment own = environment;
    own.cluster = entry.name;
    ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, checked.kind->Make(checked.config, own));
    control::Cluster cluster;
    cluster.name = entry.name;
    cluster.backend = std::make_shared<MeasuredBackend>(std::move(backend), SystemClock());
    const PoolSettings& settings = checked.config.pool;
    cluster.settings.name = entry.name;
    cluster.settings.executor_size = settings.executor_size;
    cluster.settings.max_attempts = settings.slots;
    cluster.settings.pool_min = settings.min;
    cluster.settings.pool_max = settings.max;
    cluster.settings.idle = settings.idle;
    cluster.run = [&pool](std::function<void()> work) { return pool.Post(std::move(work)); };
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

Result<std::vector<std::string>> PlanLines(const Config& config, const JobSpec& job) {
  std::vector<std::string> lines;
  std::string name = job.cluster.empty() ? config.default_cluster.value : job.cluster;
  const ClusterEntry* entry = config.Find(name);
  if (entry == nullptr) {
    return UserError(ErrorCode::kNotFound, fmt::format("cluster '{}' is not configured", name));
  }
  ASSIGN_OR_RETURN(CheckedCluster checked, CheckCluster(*entry));
  const PoolSettings& pool = checked.config.pool;
  BackendDescription kind = checked.kind->Describe();
  lines.push_back(fmt::format("cluster {} ({}): {}", name, kind.kind, kind.sentence));
  lines.push_back(fmt::format("  up to {} executors of {} cpus and {} memory; limits are {}", pool.max,
                              Render(pool.executor_size.cpus), Render(pool.executor_size.memory),
                              ToString(kind.limits)));
  for (const std::string& cannot : kind.cannot) lines.push_back("  cannot: " + cannot);
  for (const TaskSpec& task : job.tasks) {
    if (task.request.cpus > pool.executor_size.cpus) {
      lines.push_back(fmt::format("  {} will be refused: it asks for {} cpus, an executor has {}",
                                  task.name, Render(task.request.cpus),
                                  Render(pool.executor_size.cpus)));
    }
    if (task.request.memory > pool.executor_size.memory) {
      lines.push_back(fmt::format("  {} will be refused: it asks for {} memory, an executor has {}",
                                  task.name, Render(task.request.memory),
                                  Render(pool.executor_size.memory)));
    }
  }
  return lines;
}

}  // namespace muster::apps
