// Checks that need the whole job: all problems at once, each with the place it is about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"

namespace muster {

struct SpecProblem {
  // "tasks[3].needs[0]": the way to the value in the job file and in the API's JSON; "" the whole.
  std::string path;
  // What is wrong, with the value.
  std::string message;
  // What to write instead, or "".
  std::string suggestion;
  // Line and column in the file, from 1; 0 when there is none (JSON, flags).
  int line = 0;
  int column = 0;
  friend bool operator==(const SpecProblem&, const SpecProblem&) = default;
};

// Cycles in needs, two tasks of one name, no tasks, empty names or commands, arrays of no or of more
// than kMaxArrayTasks tasks, jobs beyond kMaxJobTasks, zero cpus, limits below requests, a NUL byte
// in a command or name, bad environment names. Empty if the job may be accepted.
std::vector<SpecProblem> CheckJobSpec(const JobSpec& job);

// The known word closest to `word`, if it is close enough to be a slip of the keyboard (edit distance
// at most 2, or a third of the length), else "".
std::string Suggest(std::string_view word, const std::vector<std::string>& known);

}  // namespace muster
