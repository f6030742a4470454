#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace muster {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kUnknown: return "unknown";
    case ErrorCode::kInvalidArgument: return "invalid-argument";
    case ErrorCode::kDeadlineExceeded: return "deadline-exceeded";
    case ErrorCode::kNotFound: return "not-found";
    case ErrorCode::kAlreadyExists: return "already-exists";
    case ErrorCode::kPermissionDenied: return "permission-denied";
    case ErrorCode::kResourceExhausted: return "resource-exhausted";
    case ErrorCode::kFailedPrecondition: return "failed-precondition";
    case ErrorCode::kAborted: return "aborted";
    case ErrorCode::kOutOfRange: return "out-of-range";
    case ErrorCode::kUnimplemented: return "unimplemented";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kDataLoss: return "data-loss";
    case ErrorCode::kUnauthenticated: return "unauthenticated";
    case ErrorCode::kOutcomeUnknown: return "outcome-unknown";
  }
  return "unknown";
}

std::string_view ToString(ErrorOwner owner) {
  switch (owner) {
    case ErrorOwner::kUser: return "user";
    case ErrorOwner::kOperator: return "operator";
    case ErrorOwner::kCluster: return "cluster";
    case ErrorOwner::kUs: return "us";
  }
  return "us";
}

int ToHttpStatus(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled: return 499;
    case ErrorCode::kUnknown: return 500;
    case ErrorCode::kInvalidArgument: return 400;
    case ErrorCode::kDeadlineExceeded: return 504;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kAlreadyExists: return 409;
    case ErrorCode::kPermissionDenied: return 403;
    case ErrorCode::kResourceExhausted: return 507;
    case ErrorCode::kFailedPrecondition: return 412;
    case ErrorCode::kAborted: return 409;
    case ErrorCode::kOutOfRange: return 416;
    case ErrorCode::kUnimplemented: return 501;
    case ErrorCode::kInternal: return 500;
    case ErrorCode::kUnavailable: return 503;
    case ErrorCode::kDataLoss: return 500;
    case ErrorCode::kUnauthenticated: return 401;
    case ErrorCode::kOutcomeUnknown: return 504;
  }
  return 500;
}

ErrorCode FromHttpStatus(int status) {
  if (status >= 200 && status < 300) return ErrorCode::kUnknown;
  switch (status) {
    case 400: return ErrorCode::kInvalidArgument;
    case 401: return ErrorCode::kUnauthenticated;
    case 403: return ErrorCode::kPermissionDenied;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kAlreadyExists;
    case 412: return ErrorCode::kFailedPrecondition;
    case 413: return ErrorCode::kInvalidArgument;
    case 416: return ErrorCode::kOutOfRange;
    case 429: return ErrorCode::kResourceExhausted;
    case 499: return ErrorCode::kCancelled;
    case 501: return ErrorCode::kUnimplemented;
    case 502: return ErrorCode::kUnavailable;
    case 503: return ErrorCode::kUnavailable;
    case 504: return ErrorCode::kOutcomeUnknown;
    case 507: return ErrorCode::kResourceExhausted;
    default: return status >= 500 ? ErrorCode::kInternal : ErrorCode::kInvalidArgument;
  }
}

ErrorCode FromErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH: return ErrorCode::kNotFound;
    case EEXIST:
    case EADDRINUSE: return ErrorCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return ErrorCode::kResourceExhausted;
    case EINVAL:
    case ENAMETOOLONG:
    case E2BIG:
    case ENOEXEC: return ErrorCode::kInvalidArgument;
    case ETIMEDOUT: return ErrorCode::kDeadlineExceeded;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENETUNREACH:
    case EHOSTUNREACH: return ErrorCode::kUnavailable;
    case ECANCELED: return ErrorCode::kCancelled;
    case ENOSYS:
    case EOPNOTSUPP: return ErrorCode::kUnimplemented;
    case EIO: return ErrorCode::kDataLoss;
    default: return ErrorCode::kUnknown;
  }
}

std::string Error::ToString() const {
  if (their_words.empty()) return message;
  return fmt::format("{}: {}", message, their_words);
}

Error Error::WithContext(std::string_view context) && {
  message = fmt::format("{}: {}", context, message);
  return std::move(*this);
}

std::ostream& operator<<(std::ostream& out, const Error& error) {
  return out << ToString(error.code) << ": " << error.ToString();
}

Error UserError(ErrorCode code, std::string message) {
  return {code, ErrorOwner::kUser, std::move(message), ""};
}
Error OperatorError(ErrorCode code, std::string message) {
  return {code, ErrorOwner::kOperator, std::move(message), ""};
}
Error ClusterError(ErrorCode code, std::string message, std::string their_words) {
  return {code, ErrorOwner::kCluster, std::move(message), std::move(their_words)};
}
Error InternalError(std::string message) {
  return {ErrorCode::kInternal, ErrorOwner::kUs, std::move(message), ""};
}
Error ErrnoError(std::string what, int error_number) {
  return {FromErrno(error_number), ErrorOwner::kOperator,
          fmt::format("{}: {}", what, std::strerror(error_number)), ""};
}

}  // namespace muster
