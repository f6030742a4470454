// Status and Result<T>: how every function that can fail says so.
//
// Smallest use:
//     Result<int> ParsePort(std::string_view text) {
//       if (text.empty()) return UserError(ErrorCode::kInvalidArgument, "port is empty");
//       ...
//     }
//     Status Start(std::string_view text) {
//       ASSIGN_OR_RETURN(int port, ParsePort(text));
//       RETURN_IF_ERROR(Listen(port));
//       return Status::Ok();
//     }
//
// Exceptions never cross a room; what a library throws becomes an Error where it is called.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

// Closed list. The first sixteen mean what gRPC's codes of the same name mean.
enum class ErrorCode : uint8_t {
  kCancelled,
  kUnknown,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kAborted,
  kOutOfRange,
  kUnimplemented,
  kInternal,
  kUnavailable,
  kDataLoss,
  kUnauthenticated,
  // The request may or may not have taken effect: a time-out after it was sent, a cut connection.
  kOutcomeUnknown,
};

// Whose move it is. Retry is decided from code and owner, in core/retry and nowhere else.
enum class ErrorOwner : uint8_t { kUser, kOperator, kCluster, kUs };

// "invalid-argument", as it stands in logs, JSON and metrics.
std::string_view ToString(ErrorCode code);
std::string_view ToString(ErrorOwner owner);
// The HTTP status that carries `code` (kOutcomeUnknown: 504).
int ToHttpStatus(ErrorCode code);
// The closest code for an HTTP status that carries no body of ours.
ErrorCode FromHttpStatus(int status);
// The code for an errno value: ENOENT is kNotFound, ENOSPC kResourceExhausted, ...
ErrorCode FromErrno(int error_number);

struct Error {
  ErrorCode code = ErrorCode::kUnknown;
  ErrorOwner owner = ErrorOwner::kUs;
  // What was tried, on what, what came back: `submit launch l7 to cluster hpc: sbatch exited 1`.
  std::string message;
  // The other side's own words, unchanged; empty if there are none.
  std::string their_words;

  // "message: their words".
  std::string ToString() const;
  // The same error with "context: " put before its message.
  Error WithContext(std::string_view context) &&;
  friend bool operator==(const Error&, const Error&) = default;
};
std::ostream& operator<<(std::ostream& out, const Error& error);

Error UserError(ErrorCode code, std::string message);
Error OperatorError(ErrorCode code, std::string message);
Error ClusterError(ErrorCode code, std::string message, std::string their_words = "");
Error InternalError(std::string message);
// `what` is what was tried: "open /x/y". Adds the errno's words; code by FromErrno.
Error ErrnoError(std::string what, int error_number);

// A value or an Error. [[nodiscard]]: a dropped result is a compile error.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : value_(std::move(value)) {}                        // NOLINT: implicit on purpose
  Result(Error error) : value_(tl::make_unexpected(std::move(error))) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return value_.error(); }
  Error&& error() && { return std::move(value_).error(); }
  T& value() & { assert(ok()); return *value_; }
  const T& value() const& { assert(ok()); return *value_; }
  T&& value() && { assert(ok()); return *std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T value_or(T fallback) const { return ok() ? *value_ : std::move(fallback); }

  // The same result; an error gets "context: " put before its message.
  Result WithContext(std::string_view context) && {
    if (ok()) return std::move(*this);
    return std::move(value_.error()).WithContext(context);
  }

 private:
  tl::expected<T, Error> value_;
};

// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : value_(tl::make_unexpected(std::move(error))) {}  // NOLINT
  static Status Ok() { return Status(); }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return value_.error(); }
  Error&& error() && { return std::move(value_).error(); }
  Status WithContext(std::string_view context) && {
    if (ok()) return std::move(*this);
    return std::move(value_.error()).WithContext(context);
  }

 private:
  tl::expected<void, Error> value_;
};

#define MUSTER_CONCAT_INNER(a, b) a##b
#define MUSTER_CONCAT(a, b) MUSTER_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                  \
  do {                                                               \
    if (auto status_ = (expression); !status_.ok()) {                \
      return std::move(status_).error();                             \
    }                                                                \
  } while (false)

#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_INNER(MUSTER_CONCAT(result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).error();      \
  target = std::move(result).value()

}  // namespace muster
