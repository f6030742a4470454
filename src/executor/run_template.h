// What the runs of one TaskSpec share, as the controller sent it. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/job_spec.h"

namespace muster::executor::v1 {
class Template;
}

namespace muster::executor {

struct RunTemplate {
  Command command;
  // Complete and in order; the executor adds MUSTER_* only.
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;
  Duration time_limit{0};  // 0: none
  Duration grace{0};
  Bytes memory;  // 0: not asked for
  MilliCpu cpus;
  std::string job_name;
  std::string task_name;
  // "out/<task>" below cwd; empty: the command has no {out}.
  std::string out_dir;
  bool once = false;
};

// An error if it has no command.
Result<RunTemplate> FromWire(const v1::Template& sent);

}  // namespace muster::executor
