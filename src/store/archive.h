// The archive: what ended, one row for each job with all its facts packed, and the queries behind
// old lists. Never on the path of a running task.
//
//     auto archive = OpenArchive(loop, ArchivePath(folder));
//     archive->Put(view, facts, [](Status stored) { ... });   // durable when stored is ok
//     ASSIGN_OR_RETURN(std::optional<core::Facts> facts, archive->Get(job));
//
// Loop's thread only. SqliteArchive does its work on one thread of its own; the database file is
// opened at the first call, and must never be opened a second time in one process (closing either
// drops the locks of both), which OpenArchive refuses. A damaged database never stops a controller:
// it is moved aside, logged, and a new one begun. What an archive is asked while its disk is full
// or broken gets the error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "core/fact.h"
#include "model/view.h"

namespace muster::store {

// A row without the facts.
struct ArchivedJob {
  JobId id;
  std::string name;
  std::string owner;
  std::string request_id;
  WallTime submitted;
  WallTime ended;
  TaskCounts counts;
  friend bool operator==(const ArchivedJob&, const ArchivedJob&) = default;
};

struct ArchiveQuery {
  // Continue below this id (newest first).
  std::optional<JobId> below;
  std::optional<std::string> owner;
  std::optional<WallTime> ended_since;
  // Jobs with a task that ended neither ok nor cancelled.
  bool failed_only = false;
  size_t limit = 50;
};

class Archive {
 public:
  virtual ~Archive() = default;
  // Stores the ended job; `facts` are core::DumpJob's. A repeat replaces it.
  virtual void Put(const JobView& job, core::Facts facts, std::function<void(Status)> done) = 0;
  // The facts of the job, nothing if it is not here. Blocks for as long as the disk takes.
  virtual Result<std::optional<core::Facts>> Get(JobId job) = 0;
  // The job that was submitted under this request id. Blocks.
  virtual Result<std::optional<JobId>> FindRequest(const std::string& request_id) = 0;
  // Jobs that match, newest first; `total` counts all that match. Blocks.
  virtual Result<Page<ArchivedJob>> List(const ArchiveQuery& query) = 0;
  // Removes jobs that ended before this; `done` gets how many.
  virtual void Prune(WallTime ended_before, std::function<void(Result<uint64_t>)> done) = 0;
};

// The row of `job`.
ArchivedJob MakeArchivedJob(const JobView& job, const core::Facts& facts);
// Facts as the archive keeps them, and back.
std::string PackFacts(const core::Facts& facts);
Result<core::Facts> UnpackFacts(std::string_view packed);

enum class ArchiveMode : uint8_t {
  kOwner,
  kReadOnly,  // nothing is created or moved aside; Put and Prune fail
};
std::unique_ptr<Archive> OpenArchive(Loop& loop, std::string path,
                                     ArchiveMode mode = ArchiveMode::kOwner);

}  // namespace muster::store
