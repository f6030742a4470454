// The verbs, each a function from words to an exit code. cli.cc reads the words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/job_words.h"
#include "cli/session.h"

namespace muster::cli {

struct RunWords {
  JobWords job;
  std::string resume;  // "j12"
};
int Run(Session& session, const RunWords& words);

struct SubmitWords {
  JobWords job;
  bool wait = false;
  std::string request_id;
};
int Submit(Session& session, const SubmitWords& words);
int Plan(Session& session, const JobWords& words);

struct PsWords {
  std::vector<std::string> ids;
  bool all = false;
  bool executors = false;
  bool failed = false;
  std::string state;
  std::string reason;
  std::string name;
  size_t limit = 50;
  std::string after;  // a job (lists of jobs) or a task number (lists of tasks)
};
int Ps(Session& session, const PsWords& words);
int Info(Session& session, const std::vector<std::string>& ids);
int Why(Session& session, const std::vector<std::string>& ids);

struct LogsWords {
  std::vector<std::string> ids;
  bool follow = false;
  std::string stream;
  size_t tail_lines = 0;  // 0: all
};
int Logs(Session& session, const LogsWords& words);

struct WaitWords {
  std::vector<std::string> ids;
  std::string timeout;
  bool ignore_failures = false;
};
int Wait(Session& session, const WaitWords& words);

struct CancelWords {
  std::vector<std::string> ids;
  bool abandon = false;
  bool wait = false;
};
int Cancel(Session& session, const CancelWords& words);

int Version(Session& session);
int Completion(const std::string& shell);

// The folder, environment and standard input of this process.
JobSurroundings ReadSurroundings(const Session& session);
// Prints problems as `file:line:col: path: message`, one a line. Returns kExitUsage.
int ComplainOfProblems(const std::vector<SpecProblem>& problems, const std::string& file);

}  // namespace muster::cli
