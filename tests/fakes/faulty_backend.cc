#include "fakes/faulty_backend.h"

#include <mutex>
#include <optional>

#include "base/random.h"

namespace muster::test {
namespace {

std::optional<Error> AnswerOf(CallFault fault, BackendMethod method) {
  switch (fault) {
    case CallFault::kNone:
    case CallFault::kDoubled:
      return std::nullopt;
    case CallFault::kThrottled:
      return ClusterError(ErrorCode::kResourceExhausted,
                          fmt::format("{}: too many requests", ToString(method)));
    case CallFault::kRequestLost:
    case CallFault::kAnswerLost:
      break;
  }
  return ClusterError(ErrorCode::kOutcomeUnknown, fmt::format("{}: no answer", ToString(method)));
}

// Calls `inner` as often as the fault says; nothing if it is not to be called.
template <typename Call>
auto CallInner(CallFault fault, Call inner) -> std::optional<decltype(inner())> {
  if (fault == CallFault::kRequestLost || fault == CallFault::kThrottled) return std::nullopt;
  if (fault == CallFault::kDoubled) (void)inner();
  return inner();
}

}  // namespace

FaultSource OnceAt(BackendMethod method, CallFault fault) {
  return [method, fault, struck = false](BackendMethod called) mutable {
    if (struck || called != method) return CallFault::kNone;
    struck = true;
    return fault;
  };
}

FaultSource Seeded(uint64_t seed, unsigned percent) {
  struct Source {
    explicit Source(uint64_t s) : random(s) {}
    std::mutex mutex;
    Random random;
  };
  auto source = std::make_shared<Source>(seed);
  return [source, percent](BackendMethod) {
    std::lock_guard lock(source->mutex);
    if (!source->random.Percent(percent)) return CallFault::kNone;
    return static_cast<CallFault>(1 + source->random.Below(4));
  };
}

ProbeAnswer FaultyBackend::Probe(const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kProbe);
  auto answer = CallInner(fault, [&] { return inner_->Probe(call); });
  if (auto error = AnswerOf(fault, BackendMethod::kProbe)) {
    return {ProbeAnswer::Health::kUnreachable, error->ToString(), "", {}};
  }
  return *std::move(answer);
}

std::vector<SubmitAnswer> FaultyBackend::Submit(std::span<const LaunchSpec> specs,
                                                const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kSubmit);
  auto answers = CallInner(fault, [&] { return inner_->Submit(specs, call); });
  auto error = AnswerOf(fault, BackendMethod::kSubmit);
  if (!error) return *std::move(answers);
  std::vector<SubmitAnswer> lost;
  for (const LaunchSpec& spec : specs) {
    auto kind = fault == CallFault::kThrottled ? SubmitAnswer::Kind::kRefused
                                               : SubmitAnswer::Kind::kUnknown;
    lost.push_back({spec.id, kind, "", error});
  }
  return lost;
}

std::vector<FindAnswer> FaultyBackend::Find(std::span<const FindRequest> launches,
                                            const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kFind);
  auto answers = CallInner(fault, [&] { return inner_->Find(launches, call); });
  auto error = AnswerOf(fault, BackendMethod::kFind);
  if (!error) return *std::move(answers);
  std::vector<FindAnswer> lost;
  for (const FindRequest& request : launches) {
    lost.push_back({request.id, FindAnswer::Kind::kCannotTell, "", error});
  }
  return lost;
}

Result<LaunchPage> FaultyBackend::ListOurs(const std::string& from, size_t limit,
                                           const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kListOurs);
  auto page = CallInner(fault, [&] { return inner_->ListOurs(from, limit, call); });
  if (auto error = AnswerOf(fault, BackendMethod::kListOurs)) return *error;
  return *std::move(page);
}

Result<std::vector<LaunchObservation>> FaultyBackend::Observe(std::span<const LaunchId> launches,
                                                              const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kObserve);
  auto seen = CallInner(fault, [&] { return inner_->Observe(launches, call); });
  if (auto error = AnswerOf(fault, BackendMethod::kObserve)) return *error;
  return *std::move(seen);
}

Result<std::unique_ptr<LaunchWatch>> FaultyBackend::Watch(
    std::function<void(const WatchEvent&)> on_event) {
  if (auto error = AnswerOf(source_(BackendMethod::kWatch), BackendMethod::kWatch)) return *error;
  return inner_->Watch(std::move(on_event));
}

std::vector<Status> FaultyBackend::Stop(std::span<const LaunchId> launches, Duration grace,
                                        const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kStop);
  auto statuses = CallInner(fault, [&] { return inner_->Stop(launches, grace, call); });
  if (auto error = AnswerOf(fault, BackendMethod::kStop)) {
    return std::vector<Status>(launches.size(), Status(*error));
  }
  return *std::move(statuses);
}

std::vector<Status> FaultyBackend::Forget(std::span<const LaunchId> launches,
                                          const CallContext& call) {
  const CallFault fault = source_(BackendMethod::kForget);
  auto statuses = CallInner(fault, [&] { return inner_->Forget(launches, call); });
  if (auto error = AnswerOf(fault, BackendMethod::kForget)) {
    return std::vector<Status>(launches.size(), Status(*error));
  }
  return *std::move(statuses);
}

Result<std::unique_ptr<LogReader>> FaultyBackend::OpenLog(LaunchId launch, uint64_t offset) {
  return inner_->OpenLog(launch, offset);
}

}  // namespace muster::test
