#include "model/end_reason.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace muster {
namespace {

constexpr std::array<std::string_view, kEndKinds> kWords = {
    "ok",        "failed",    "signal",        "oom",          "oom-child", "timeout",
    "cancelled", "evicted",   "preempted",     "node-lost",    "executor-lost", "start-failed",
    "disk-full", "image",     "infeasible",    "dependency",   "rejected",  "unknown"};

bool IsPassingStartFailure(int error_number) {
  switch (error_number) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ETXTBSY:
    case EIO:
    case ESTALE: return true;
    default: return false;
  }
}

}  // namespace

std::string_view ToString(EndKind kind) { return kWords[static_cast<size_t>(kind)]; }

std::optional<EndKind> ParseEndKind(std::string_view word) {
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (kWords[i] == word) return static_cast<EndKind>(i);
  }
  return std::nullopt;
}

std::string Render(const EndReason& reason) {
  switch (reason.kind) {
    case EndKind::kFailed:
      if (!reason.detail.empty()) return fmt::format("failed({})", reason.detail);
      [[fallthrough]];
    case EndKind::kSignal: return fmt::format("{}({})", ToString(reason.kind), reason.number);
    case EndKind::kStartFailed:
      if (reason.number == 0) return fmt::format("start-failed({})", reason.detail);
      return fmt::format("start-failed({}: {})", reason.detail, std::strerror(reason.number));
    case EndKind::kCancelled: return reason.unconfirmed ? "cancelled (unconfirmed)" : "cancelled";
    default: break;
  }
  if (reason.detail.empty()) return std::string(ToString(reason.kind));
  return fmt::format("{}({})", ToString(reason.kind), reason.detail);
}

RetryClass RetryClassOf(const EndReason& reason) {
  switch (reason.kind) {
    case EndKind::kFailed:
    case EndKind::kSignal:
    case EndKind::kTimeout:
    case EndKind::kOomChild: return RetryClass::kUser;
    case EndKind::kOom: return RetryClass::kOom;
    case EndKind::kEvicted:
    case EndKind::kPreempted:
    case EndKind::kNodeLost:
    case EndKind::kExecutorLost:
    case EndKind::kDiskFull:
    case EndKind::kUnknown: return RetryClass::kInfrastructure;
    case EndKind::kStartFailed:
      return IsPassingStartFailure(reason.number) ? RetryClass::kInfrastructure : RetryClass::kNone;
    case EndKind::kImage: return RetryClass::kImage;
    case EndKind::kOk:
    case EndKind::kCancelled:
    case EndKind::kInfeasible:
    case EndKind::kDependency:
    case EndKind::kRejected: return RetryClass::kNone;
  }
  return RetryClass::kNone;
}

std::string_view ToString(RetryClass retry_class) {
  switch (retry_class) {
    case RetryClass::kNone: return "none";
    case RetryClass::kUser: return "user";
    case RetryClass::kOom: return "oom";
    case RetryClass::kInfrastructure: return "infrastructure";
    case RetryClass::kImage: return "image";
  }
  return "none";
}

}  // namespace muster
