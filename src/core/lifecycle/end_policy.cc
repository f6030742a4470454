#include "core/lifecycle/end_policy.h"

namespace muster::core {

EndReason DecideEnd(const ExitFacts& facts) {
  switch (facts.stop_cause) {
    case StopCause::kTimeLimit: return {EndKind::kTimeout};
    case StopCause::kCancelled: return {EndKind::kCancelled};
    case StopCause::kDraining: return {EndKind::kEvicted, 0, "its executor was told to leave"};
    case StopCause::kNone: break;
  }
  switch (facts.how) {
    case ExitFacts::How::kNotStarted: return {EndKind::kStartFailed, facts.code, facts.what_failed};
    case ExitFacts::How::kSignalled: return {EndKind::kSignal, facts.code};
    case ExitFacts::How::kExited:
      return facts.code == 0 ? EndReason{EndKind::kOk} : EndReason{EndKind::kFailed, facts.code};
    case ExitFacts::How::kLost: return {EndKind::kUnknown, 0, facts.what_failed};
  }
  return {EndKind::kUnknown};
}

}  // namespace muster::core
