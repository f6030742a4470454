// Makes the program of an attempt from its template: argv, environment, working folder. Pure.
//
// Beside the template's environment a task sees
//     MUSTER_JOB j12 · MUSTER_TASK j12.500 · MUSTER_ATTEMPT 1 · MUSTER_EXECUTOR x3
//     MUSTER_JOB_NAME, MUSTER_TASK_NAME   as in the job file
//     MUSTER_INDEX                        array index, or the item's position from 1
//     MUSTER_ITEM                         as {item}; not set when longer than 100 kB
//     MUSTER_OUT                          as {out}, if the command uses it
//     MUSTER_SCRATCH                      an empty folder of its own, removed after it
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "executor/executor_machine.h"
#include "executor/run_template.h"
#include "process/task_runner.h"

namespace muster::executor {

class ProgramBuilder {
 public:
  // `added`: what every program finds unless its job says otherwise.
  ProgramBuilder(ExecutorId executor, std::vector<std::pair<std::string, std::string>> added)
      : executor_(executor), added_(std::move(added)) {}

  // Valid until the next call. `out` and `scratch` may be empty. The runs of one template, one
  // after another, share its environment: only what differs is made anew.
  const TaskRunner::Program& Build(const StartAttempt& start, const std::string& out,
                                   const std::string& scratch);

 private:
  void UseTemplate(std::shared_ptr<const RunTemplate> what);
  void AddVariable(std::string_view name, std::string_view value);

  const ExecutorId executor_;
  const std::vector<std::pair<std::string, std::string>> added_;
  std::shared_ptr<const RunTemplate> what_;
  TaskRunner::Program program_;
  // program_.env up to here is the template's.
  size_t shared_variables_ = 0;
};

}  // namespace muster::executor
