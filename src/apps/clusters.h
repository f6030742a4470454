// The configured clusters as control needs them: backends made, sizes checked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/backend_kind.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "control/launch_calls.h"
#include "wire/config.h"

namespace muster::apps {

// `environment` holds what all clusters share; owner, controller and folders filled in. Blocking calls run
// on `pool`, which outlives what is returned. All problems of all clusters in one error.
Result<std::vector<control::Cluster>> MakeClusters(const Config& config,
                                                   const LaunchEnvironment& environment,
                                                   WorkerPool& pool);

// The size of the largest executor of each cluster, as `plan` shows it.
Result<std::vector<std::string>> PlanLines(const Config& config, const JobSpec& job);

}  // namespace muster::apps
