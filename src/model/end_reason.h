// Why an attempt or a task ended: a closed list, each kind with the class whose budget a retry uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace muster {

enum class EndKind : uint8_t {
  kOk,
  kFailed,        // number: exit code; or detail: what else failed, "{out} was not written"
  kSignal,        // number: signal
  kOom,           // the task itself was killed for memory
  kOomChild,      // something inside was killed for memory though the task returned 0
  kTimeout,
  kCancelled,
  kEvicted,
  kPreempted,
  kNodeLost,
  kExecutorLost,
  kStartFailed,   // number: errno or 0; detail: the step, "exec /bin/foo"
  kDiskFull,
  kImage,
  kInfeasible,    // no configured cluster could ever run it
  kDependency,    // detail: the need that did not succeed
  kRejected,
  kUnknown,
};
inline constexpr int kEndKinds = static_cast<int>(EndKind::kUnknown) + 1;

enum class RetryClass : uint8_t { kNone, kUser, kOom, kInfrastructure, kImage };

struct EndReason {
  EndKind kind = EndKind::kUnknown;
  int32_t number = 0;
  std::string detail;
  // The end was declared by us and never confirmed: beside kCancelled by `cancel --abandon` or a late
  // result, beside kExecutorLost because the executor was silent for longer than lease and margin.
  bool unconfirmed = false;
  friend bool operator==(const EndReason&, const EndReason&) = default;
};

// "ok", "failed", "oom-child", ...: the word in list, JSON and metric.
std::string_view ToString(EndKind kind);
std::optional<EndKind> ParseEndKind(std::string_view word);
// "failed(3)", "signal(9)", "start-failed(exec /bin/foo: No such file or directory)",
// "cancelled (unconfirmed)".
std::string Render(const EndReason& reason);
// Start failures are of the infrastructure class only for passing causes: EAGAIN, ENOMEM, EMFILE,
// ENFILE, ETXTBSY, EIO, ESTALE. Lasting ones (no such file, not executable) are not retried.
RetryClass RetryClassOf(const EndReason& reason);
std::string_view ToString(RetryClass retry_class);

}  // namespace muster
