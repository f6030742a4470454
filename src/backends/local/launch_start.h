// Starting one launch: makes its folder, takes its lock, writes what the executor must know, and
// runs the keeper (keeper.h). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backends/local/launch_folder.h"

namespace muster::local {

struct LaunchStart {
  LaunchFolder folder;
  LaunchOrder order;
  std::string token;
  // Program and first arguments.
  std::vector<std::string> program;
};

// The whole command: program, "executor", "--launch-dir", folder.
std::vector<std::string> CommandOf(const LaunchStart& start);

// Idempotent: a launch that was started already, running or ended, is accepted and left alone. What
// failed before anything ran is refused, and its folder is removed. Unknown only if the keeper
// gave no answer and something of it is still there.
SubmitAnswer StartLaunch(const LaunchStart& start, const CallContext& call);

}  // namespace muster::local
