// A kind of cluster before there is one: what it can do, which settings it takes, and how to make a
// backend for a configured cluster. Objects of a kind are stateless and live as long as the
// program; backends/registry lists them.
//
//     const BackendKind* kind = FindBackendKind("local");
//     ConfigCheck check = kind->CheckConfig(settings, ReadMachineSize());
//     if (check.problems.empty()) auto backend = kind->Make(check.config, environment);
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/machine_size.h"
#include "backend/settings.h"
#include "base/result.h"
#include "model/job_check.h"
#include "model/launch.h"

namespace muster {

// What every launched executor must know, and how it gets it. Given to a backend when it is made.
struct LaunchEnvironment {
  StoreIdentity owner;
  // Name of the configured cluster, for errors.
  std::string cluster;
  // The program and first arguments that run an executor on this machine: {"/usr/bin/muster"}. The
  // local backend adds `executor --launch-dir DIR`. The first word is an absolute path.
  std::vector<std::string> program;
  // Where an executor dials: "unix:/run/user/1000/muster/socket".
  std::string controller;
  // A folder of this machine in which the backend may keep files; made if it is not there.
  std::string state_folder;
  // The secret by which the executor of a launch proves itself. It goes by a file of mode 0600 or
  // the cluster's own secret channel, never by argument or environment. Asked again for a repeated
  // Submit, it must give the same or an equally valid one. Thread-safe.
  std::function<std::string(LaunchId)> token;
};

struct ClusterConfig {
  PoolSettings pool;
  // The kind's own settings, checked, defaults filled in, by key.
  std::vector<std::pair<std::string, std::string>> own;
};
struct ConfigCheck {
  ClusterConfig config;  // of use only without problems
  // All of them, with the setting's key as path.
  std::vector<SpecProblem> problems;
};

class BackendKind {
 public:
  virtual ~BackendKind() = default;
  // Pure.
  virtual BackendDescription Describe() const = 0;
  // Pure. `here` fills in what a cluster on this machine leaves open.
  virtual ConfigCheck CheckConfig(std::span<const Setting> settings,
                                  const MachineSize& here) const = 0;
  // Does not touch the cluster. Fails only for an environment it cannot work with.
  virtual Result<std::unique_ptr<Backend>> Make(const ClusterConfig& config,
                                                LaunchEnvironment environment) const = 0;
};

}  // namespace muster
