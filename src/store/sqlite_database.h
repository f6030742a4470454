// A thin wrapper of SQLite: statements, errors as Status. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::store {

// One prepared statement. Parameters and columns count from 0.
class SqliteStatement {
 public:
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&&) = delete;
  ~SqliteStatement();

  SqliteStatement& Bind(int64_t value);
  SqliteStatement& Bind(std::string_view text);
  SqliteStatement& BindBlob(std::string_view bytes);
  // True while there is a row.
  Result<bool> Step();
  int64_t Int(int column) const;
  std::string Text(int column) const;
  // Valid until the next Step.
  std::string_view Blob(int column) const;

 private:
  friend class SqliteDatabase;
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}

  sqlite3_stmt* statement_;
  int bound_ = 0;
};

class SqliteDatabase {
 public:
  enum class Access : uint8_t {
    kWrite,  // created if need be
    kRead,
    kImmutable,  // on a file system that cannot be written: no other process writes either
  };
  // kAlreadyExists when this process has the file open already.
  static Result<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, Access access);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;

  Result<SqliteStatement> Prepare(std::string_view sql);
  // Statements without parameters and results.
  Status Run(const std::string& sql);
  // The first column of the first row, 0 if there is none.
  Result<int64_t> Ask(std::string_view sql);
  // Rows changed by the last statement.
  int64_t changes() const;

 private:
  SqliteDatabase(sqlite3* database, std::string path)
      : database_(database), path_(std::move(path)) {}

  sqlite3* database_;
  const std::string path_;
};

}  // namespace muster::store
