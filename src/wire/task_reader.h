// Reads one task, or the defaults of a job, out of a document tree.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/spec_keys.h"
#include "wire/spec_reader.h"
#include "wire/value_reader.h"

namespace muster {

class TaskReader {
 public:
  TaskReader(SpecSource source, ProblemList& problems)
      : source_(source), problems_(problems), read_(problems) {}

  // One key that tasks and job defaults share. False if the key is not of that kind.
  bool ReadShared(const KeyRule& rule, DocRef value, const DocPath& path, TaskSpec& task);

  struct Need {
    std::string name;
    DocRef at;
    size_t position;  // in the list of needs
  };
  // A task as written; needs are still names. `task` starts as the defaults; `cwd` is the job's.
  void ReadTask(DocRef map, const DocPath& path, const std::string& cwd, TaskSpec& task,
                std::vector<Need>& needs);
  // Adds a problem for each of `inputs` that is not there. `value` is the list as written.
  void CheckInputs(DocRef value, const DocPath& path, const std::string& cwd,
                   const std::vector<std::string>& inputs);

 private:
  // What can only be read when the task's other keys are known.
  struct Late {
    std::optional<DocRef> each, array, lines, items, cap, inputs;
  };
  void ReadOwn(const KeyRule& rule, DocRef value, const DocPath& path, TaskSpec& task,
               std::vector<Need>& needs, Late& late);
  void ReadCommand(DocRef value, const DocPath& path, TaskSpec& task);
  void ReadMemory(DocRef value, const DocPath& path, TaskSpec& task);
  std::optional<Bytes> ReadMemorySize(DocRef value, const DocPath& path);
  void ReadRetries(DocRef value, const DocPath& path, TaskSpec& task);
  void ReadLane(DocRef value, const DocPath& path, TaskSpec& task);
  void ReadQueue(DocRef value, const DocPath& path);
  void ReadNeeds(DocRef value, const DocPath& path, std::vector<Need>& needs);
  void ReadList(const Late& late, const DocPath& path, const std::string& cwd, TaskSpec& task);
  void ReadArray(DocRef value, const DocPath& path, TaskSpec& task);
  void ReadEach(DocRef value, const DocPath& path, const std::string& cwd, TaskSpec& task);
  void ReadLines(DocRef value, const DocPath& path, const std::string& cwd, TaskSpec& task);
  void ReadItems(DocRef value, const DocPath& path, TaskSpec& task);

  SpecSource source_;
  ProblemList& problems_;
  ValueReader read_;
};

// `path` below `folder` unless it is absolute.
std::string PathBelow(const std::string& folder, const std::string& path);

}  // namespace muster
