#include "store/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <mutex>
#include <set>
#include <utility>

namespace muster::store {
namespace {

constexpr int kBusyMillis = 2000;

// POSIX locks belong to the process: closing a second descriptor of a database drops the locks of
// the first. So each file is open at most once.
std::mutex g_open_mutex;
std::set<std::string>& OpenPaths() {
  static auto* paths = new std::set<std::string>;
  return *paths;
}

Error SqliteError(std::string_view what, int code, sqlite3* database) {
  std::string words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  ErrorCode mapped = ErrorCode::kUnknown;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      mapped = ErrorCode::kDataLoss;
      break;
    // Says nothing about what lies in the file.
    case SQLITE_IOERR:
      mapped = ErrorCode::kUnavailable;
      break;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      mapped = ErrorCode::kResourceExhausted;
      break;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      mapped = ErrorCode::kPermissionDenied;
      break;
    case SQLITE_CANTOPEN:
      mapped = ErrorCode::kNotFound;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      mapped = ErrorCode::kUnavailable;
      break;
    default:
      break;
  }
  return {mapped, ErrorOwner::kOperator, std::string(what), std::move(words)};
}

// "file:..." with everything that has a meaning in a URI written as %XX.
std::string ToUri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '/' || c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

}  // namespace

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), bound_(other.bound_) {}
SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

SqliteStatement& SqliteStatement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}
SqliteStatement& SqliteStatement::Bind(std::string_view text) {
  sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}
SqliteStatement& SqliteStatement::BindBlob(std::string_view bytes) {
  sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
Result<bool> SqliteStatement::Step() {
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(sqlite3_sql(statement_), code, sqlite3_db_handle(statement_));
}
int64_t SqliteStatement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
std::string SqliteStatement::Text(int column) const { return std::string(Blob(column)); }
std::string_view SqliteStatement::Blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                             Access access) {
  {
    std::lock_guard lock(g_open_mutex);
    if (!OpenPaths().insert(path).second) {
      return Error{ErrorCode::kAlreadyExists, ErrorOwner::kUs,
                   fmt::format("open {}: this process has it open", path), ""};
    }
  }
  std::string uri = ToUri(path);
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  switch (access) {
    case Access::kWrite:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Access::kRead:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Access::kImmutable:
      flags |= SQLITE_OPEN_READONLY;
      uri += "?immutable=1";
      break;
  }
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(handle, path));
  if (code != SQLITE_OK) return SqliteError("open " + path, code, handle);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMillis);
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  sqlite3_close_v2(database_);
  std::lock_guard lock(g_open_mutex);
  OpenPaths().erase(path_);
}

Result<SqliteStatement> SqliteDatabase::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  int code =
      sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return SqliteError(fmt::format("{}: {}", path_, sql), code, database_);
  return SqliteStatement(statement);
}

Status SqliteDatabase::Run(const std::string& sql) {
  int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return Status::Ok();
  return SqliteError(fmt::format("{}: {}", path_, sql), code, database_);
}

Result<int64_t> SqliteDatabase::Ask(std::string_view sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

int64_t SqliteDatabase::changes() const { return sqlite3_changes(database_); }

}  // namespace muster::store
