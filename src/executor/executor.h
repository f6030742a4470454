// An executor process: takes attempts from a controller over a WebSocket, runs them here, reports
// what is.
//
//     ExecutorOptions options;
//     options.launch = order.spec;
//     options.controller = Endpoint::Unix("/run/muster.sock");
//     options.output_dir = ...;
//     return RunExecutor(options);          // first thing in main, before any thread
//
// Files: output segments in output_dir (process/segment_reader.h reads them), the record of starts
// and ends at record_path (executor/attempt_record.h), scratch folders below scratch_dir.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "executor/executor_machine.h"
#include "model/launch.h"
#include "net/endpoint.h"

namespace muster::executor {

struct ExecutorOptions {
  std::string version;
  // Ids, owner, size, slots, labels.
  LaunchSpec launch;
  Endpoint controller;
  // Of the controller's door.
  std::string target = "/v1/executor";
  std::string output_dir;
  std::string record_path;
  std::string scratch_dir;
  // Called when no secret can leak any more; may be empty.
  std::function<Result<std::string>()> take_token;
  // What every program finds in its environment unless its job says otherwise.
  std::vector<std::pair<std::string, std::string>> added_env;
  // Until a welcome says otherwise.
  ContactRules contact;
  // What runs has so long after a SIGTERM or SIGINT; a second one ends it at once.
  Duration drain_grace{std::chrono::seconds(10)};
};

// Blocks until the executor leaves; nothing that it started is left then. 0, or 1 if it could not
// begin (the log says why). Before any thread exists; changes signal handling, RLIMIT_NOFILE and
// makes the process non-dumpable and a reaper.
int RunExecutor(const ExecutorOptions& options);

}  // namespace muster::executor
