// The job file (docs: "Job file"): YAML that names tasks, their order and their limits. The same
// keys are the API's JSON (wire/api_json.h) and api/jobfile.schema.json.
//
//     ASSIGN_OR_RETURN(std::string text, ReadJobFile("job.yaml"));
//     ParsedJob job = ParseJobFile(text, "job.yaml", {.cwd = "/home/me"});
//     for (const SpecProblem& p : job.problems) Print(Render(p, "job.yaml"));
//
// At the job: name, tasks, env (for all tasks, a task's own win), cwd, cluster, priority (a task's
// is added), and, as defaults for every task, each key of a task that is not about one task alone
// (JobFileKeys() says which). A task's own key replaces the default; of `retries` each class alone.
//
// `each`, `lines` and `inputs` are looked up now, below the task's cwd. All problems are found at
// once, those of CheckJobSpec too. Keys that the language has but this version cannot honour are
// refused, each with what to do instead. Never throws, never crashes on any text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job_check.h"
#include "model/job_spec.h"
#include "wire/problem_list.h"

namespace muster {

inline constexpr uint64_t kMaxJobFileBytes = 16ULL << 20;

struct ParseContext {
  // The folder of submit, absolute: relative paths are below it, tasks run in it.
  std::string cwd;
  // The job's name if the file gives none; empty: the file's name without folder and extension.
  std::string default_name;
  // The configured clusters; empty: any name is taken.
  std::vector<std::string> clusters;
};

struct ParsedJob {
  JobSpec spec;
  // Empty if the job may be submitted.
  std::vector<SpecProblem> problems;
};

// The file's bytes. More than 16 MiB is an error that is found before they are read. "-" is not
// special here.
Result<std::string> ReadJobFile(const std::string& path);
// The same bound for bytes that came some other way (standard input); `source` names them.
Status CheckJobFileSize(uint64_t bytes, const std::string& source);

ParsedJob ParseJobFile(std::string_view text, const std::string& file_name,
                       const ParseContext& context);

// One key of the language, for the schema and the manual.
struct JobFileKey {
  std::string_view name;
  bool at_job = false;
  bool at_task = false;
  // Known, but always refused by this version.
  bool refused = false;
};
std::vector<JobFileKey> JobFileKeys();

}  // namespace muster
