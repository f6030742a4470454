#include "store/archive_table.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

namespace muster::store {
namespace {

constexpr int64_t kTableVersion = 1;
// Larger databases are not read whole at the start: what is damaged shows when it is asked for.
constexpr off_t kCheckedWhole = 32 << 20;

constexpr char kCreate[] = R"(
  CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    owner BLOB NOT NULL,
    request_id BLOB NOT NULL,
    submitted INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    counts TEXT NOT NULL,
    facts BLOB NOT NULL
  );
  CREATE INDEX IF NOT EXISTS jobs_by_request ON jobs(request_id) WHERE request_id <> x'';
  CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs(ended);
)";
constexpr char kRow[] = "id, name, owner, request_id, submitted, ended, counts";

// "ok=5 failed=2"
std::string RenderCounts(const TaskCounts& counts) {
  std::string text;
  for (int kind = 0; kind < kEndKinds; ++kind) {
    uint64_t n = counts.ended[static_cast<size_t>(kind)];
    if (n != 0) {
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : " ", ToString(static_cast<EndKind>(kind)), n);
    }
  }
  return text;
}

TaskCounts ParseCounts(std::string_view text) {
  TaskCounts counts;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    uint64_t n = 0;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), n);
    if (auto kind = ParseEndKind(word.substr(0, equals)))
      counts.ended[static_cast<size_t>(*kind)] = n;
  }
  return counts;
}

ArchivedJob ReadRow(const SqliteStatement& row) {
  ArchivedJob job;
  job.id = {static_cast<uint64_t>(row.Int(0))};
  job.name = row.Text(1);
  job.owner = row.Text(2);
  job.request_id = row.Text(3);
  job.submitted = {row.Int(4)};
  job.ended = {row.Int(5)};
  job.counts = ParseCounts(row.Blob(6));
  return job;
}

std::string WhereOf(const ArchiveQuery& query) {
  std::string where = "1";
  if (query.owner) where += " AND owner = ?";
  if (query.ended_since) where += " AND ended >= ?";
  if (query.failed_only) where += " AND failed > 0";
  return where;
}
void BindWhere(const ArchiveQuery& query, SqliteStatement& statement) {
  if (query.owner) statement.BindBlob(*query.owner);
  if (query.ended_since) statement.Bind(query.ended_since->us);
}

}  // namespace

Result<std::unique_ptr<ArchiveTable>> ArchiveTable::Open(const std::string& path,
                                                         ArchiveMode mode) {
  using Access = SqliteDatabase::Access;
  struct stat facts{};
  if (mode == ArchiveMode::kReadOnly && ::stat(path.c_str(), &facts) != 0) {
    return ErrnoError("open " + path, errno);
  }
  auto open = [&](Access access) -> Result<std::unique_ptr<ArchiveTable>> {
    ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, SqliteDatabase::Open(path, access));
    std::unique_ptr<ArchiveTable> table(new ArchiveTable(std::move(database)));
    RETURN_IF_ERROR(table->Check(path, mode));
    return table;
  };
  if (mode == ArchiveMode::kOwner) return open(Access::kWrite);
  Result<std::unique_ptr<ArchiveTable>> table = open(Access::kRead);
  if (table.ok()) return table;
  // Where the index of the write-ahead log cannot be made, nobody else writes either.
  ErrorCode code = table.error().code;
  if (code == ErrorCode::kNotFound || code == ErrorCode::kPermissionDenied) {
    return open(Access::kImmutable);
  }
  return table;
}

Status ArchiveTable::Check(const std::string& path, ArchiveMode mode) {
  if (mode == ArchiveMode::kOwner) {
    RETURN_IF_ERROR(database_->Run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  }
  ASSIGN_OR_RETURN(int64_t version, database_->Ask("PRAGMA user_version"));
  if (version > kTableVersion) {
    return OperatorError(
        ErrorCode::kUnimplemented,
        fmt::format("{} has version {}, this muster reads up to {}: use a newer muster", path,
                    version, kTableVersion));
  }
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && facts.st_size <= kCheckedWhole) {
    ASSIGN_OR_RETURN(SqliteStatement check, database_->Prepare("PRAGMA quick_check(1)"));
    ASSIGN_OR_RETURN(bool row, check.Step());
    if (!row || check.Text(0) != "ok") {
      return OperatorError(ErrorCode::kDataLoss,
                           fmt::format("{} is damaged: {}", path, check.Text(0)));
    }
  }
  if (mode == ArchiveMode::kReadOnly || version == kTableVersion) return Status::Ok();
  return database_->Run(
      fmt::format("BEGIN; {} PRAGMA user_version = {}; COMMIT;", kCreate, kTableVersion));
}

Status ArchiveTable::Put(const ArchivedJob& job, std::string_view packed) {
  ASSIGN_OR_RETURN(SqliteStatement put,
                   database_->Prepare("INSERT OR REPLACE INTO jobs (id, name, owner, request_id, "
                                      "submitted, ended, failed, counts, facts) "
                                      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  put.Bind(static_cast<int64_t>(job.id.number)).BindBlob(job.name).BindBlob(job.owner);
  put.BindBlob(job.request_id).Bind(job.submitted.us).Bind(job.ended.us);
  put.Bind(static_cast<int64_t>(job.counts.failed()))
      .Bind(RenderCounts(job.counts))
      .BindBlob(packed);
  ASSIGN_OR_RETURN([[maybe_unused]] bool row, put.Step());
  return Status::Ok();
}

Result<std::optional<std::string>> ArchiveTable::Get(JobId job) {
  ASSIGN_OR_RETURN(SqliteStatement get, database_->Prepare("SELECT facts FROM jobs WHERE id = ?"));
  ASSIGN_OR_RETURN(bool row, get.Bind(static_cast<int64_t>(job.number)).Step());
  return row ? std::optional(get.Text(0)) : std::nullopt;
}

Result<std::optional<JobId>> ArchiveTable::FindRequest(const std::string& request_id) {
  if (request_id.empty()) return std::optional<JobId>();
  ASSIGN_OR_RETURN(
      SqliteStatement find,
      database_->Prepare("SELECT id FROM jobs WHERE request_id = ? AND request_id <> x''"));
  ASSIGN_OR_RETURN(bool row, find.BindBlob(request_id).Step());
  return row ? std::optional(JobId{static_cast<uint64_t>(find.Int(0))}) : std::nullopt;
}

Result<Page<ArchivedJob>> ArchiveTable::List(const ArchiveQuery& query) {
  Page<ArchivedJob> page;
  std::string where = WhereOf(query);
  ASSIGN_OR_RETURN(SqliteStatement count,
                   database_->Prepare("SELECT count(*) FROM jobs WHERE " + where));
  BindWhere(query, count);
  ASSIGN_OR_RETURN(bool counted, count.Step());
  page.total = counted ? static_cast<uint64_t>(count.Int(0)) : 0;
  ASSIGN_OR_RETURN(
      SqliteStatement list,
      database_->Prepare(fmt::format(
          "SELECT {} FROM jobs WHERE {} AND id < ? ORDER BY id DESC LIMIT ?", kRow, where)));
  BindWhere(query, list);
  list.Bind(query.below ? static_cast<int64_t>(query.below->number) : INT64_MAX);
  list.Bind(static_cast<int64_t>(query.limit) + 1);
  while (true) {
    ASSIGN_OR_RETURN(bool row, list.Step());
    if (!row) break;
    if (page.items.size() == query.limit) {
      page.next = page.items.empty() ? "" : Render(page.items.back().id);
      break;
    }
    page.items.push_back(ReadRow(list));
  }
  return page;
}

Result<uint64_t> ArchiveTable::Prune(WallTime ended_before) {
  ASSIGN_OR_RETURN(SqliteStatement prune, database_->Prepare("DELETE FROM jobs WHERE ended < ?"));
  ASSIGN_OR_RETURN([[maybe_unused]] bool row, prune.Bind(ended_before.us).Step());
  return static_cast<uint64_t>(database_->changes());
}

Result<std::string> MoveAside(const std::string& path) {
  std::string stem = path.ends_with(".sqlite") ? path.substr(0, path.size() - 7) : path;
  std::string aside;
  struct stat facts{};
  int number = 0;
  do {
    aside = fmt::format("{}-damaged-{}.sqlite", stem, ++number);
  } while (::stat(aside.c_str(), &facts) == 0);
  for (const char* part : {"-wal", "-shm", ""}) {
    if (::rename((path + part).c_str(), (aside + part).c_str()) != 0 && errno != ENOENT) {
      return ErrnoError(fmt::format("rename {} to {}", path + part, aside + part), errno);
    }
  }
  return aside;
}

}  // namespace muster::store
