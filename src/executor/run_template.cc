#include "executor/run_template.h"

#include "wire/executor_frames.h"

namespace muster::executor {

Result<RunTemplate> FromWire(const v1::Template& sent) {
  RunTemplate run;
  ASSIGN_OR_RETURN(run.command, FromTemplateCommand(sent));
  run.env.reserve(sent.env_size());
  for (const v1::Label& variable : sent.env())
    run.env.emplace_back(variable.key(), variable.value());
  run.cwd = sent.cwd();
  run.time_limit = Duration(sent.time_limit_us());
  run.grace = Duration(sent.grace_us());
  run.memory = Bytes{sent.memory_limit()};
  run.cpus = MilliCpu{sent.milli_cpus()};
  run.job_name = sent.job_name();
  run.task_name = sent.task_name();
  run.out_dir = sent.out_dir();
  run.once = sent.once();
  return run;
}

}  // namespace muster::executor
