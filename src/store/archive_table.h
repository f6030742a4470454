// The archive's table in a SQLite database: rows in, rows out. Blocking; used by one thread at a
// time.
#pragma once

#include <memory>
#include <string>

#include "store/archive.h"
#include "store/sqlite_database.h"

namespace muster::store {

class ArchiveTable {
 public:
  // Opens and checks the database. kDataLoss: it is damaged. kNotFound: read-only and not there.
  static Result<std::unique_ptr<ArchiveTable>> Open(const std::string& path, ArchiveMode mode);

  Status Put(const ArchivedJob& job, std::string_view packed);
  Result<std::optional<std::string>> Get(JobId job);
  Result<std::optional<JobId>> FindRequest(const std::string& request_id);
  Result<Page<ArchivedJob>> List(const ArchiveQuery& query);
  Result<uint64_t> Prune(WallTime ended_before);

 private:
  explicit ArchiveTable(std::unique_ptr<SqliteDatabase> database)
      : database_(std::move(database)) {}
  Status Check(const std::string& path, ArchiveMode mode);

  std::unique_ptr<SqliteDatabase> database_;
};

// Moves a damaged database and what belongs to it out of the way; the new name.
Result<std::string> MoveAside(const std::string& path);

}  // namespace muster::store
