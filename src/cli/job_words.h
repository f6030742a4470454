// The words of `run` and `submit` as a JobSpec: a command, a command with a list, or a job file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job_check.h"
#include "model/job_spec.h"

namespace muster::cli {

// Flags that stand before the command.
struct JobFlags {
  std::string name;
  std::string cluster;
  std::optional<std::string> cpus;
  std::optional<std::string> memory;
  std::optional<std::string> time;
  std::optional<std::string> grace;
  std::optional<uint32_t> retries;
  std::optional<std::string> array;  // "1-100%5"
  uint32_t at_once = 0;              // cap of a list
  int32_t priority = 0;
  bool once = false;
  std::vector<std::string> env;      // "K=V", or "K": taken from here
  std::string cwd;
};

struct JobWords {
  JobFlags flags;
  // A job file, or "-" for one on standard input; only without a command.
  std::string file;
  // What stood behind "--", ":::" and the items included.
  std::vector<std::string> command;
};

struct MadeJob {
  JobSpec spec;
  // One command without a list: its output is passed through and its code returned.
  bool single = false;
  std::vector<SpecProblem> problems;
  std::string file_name;  // for rendering problems
};

struct JobSurroundings {
  std::string cwd;
  std::vector<std::string> environment;  // "K=V"
  std::vector<std::string> clusters;
  bool stdin_is_terminal = false;
  // The next line of standard input without its line end; nothing at the end.
  std::function<std::optional<std::string>()> read_line;
  std::function<Result<std::string>()> read_all;
};

Result<MadeJob> MakeJob(const JobWords& words, const JobSurroundings& here);

}  // namespace muster::cli
