// Any backend with faults put between it and its caller: lost requests, answers lost after the
// effect, doubled requests, throttling. What strikes is asked of a function for each call.
//
//     FaultyBackend backend(std::move(real), OnceAt(BackendMethod::kSubmit,
//     CallFault::kAnswerLost)); FaultyBackend backend(std::move(real), Seeded(42, 20));    // every
//     fifth call suffers something
#pragma once

#include <functional>
#include <memory>

#include "backend/backend.h"
#include "backend/measured_backend.h"

namespace muster::test {

enum class CallFault : uint8_t {
  kNone,
  kRequestLost,  // no effect, no answer
  kAnswerLost,   // effect, no answer
  kDoubled,      // done twice, the second answer is given
  kThrottled,    // refused, no effect
};
using FaultSource = std::function<CallFault(BackendMethod)>;

// Strikes the first call of the method, and no other.
FaultSource OnceAt(BackendMethod method, CallFault fault);
// `percent` of all calls, each fault alike.
FaultSource Seeded(uint64_t seed, unsigned percent);

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, FaultSource source)
      : inner_(std::move(inner)), source_(std::move(source)) {}

  BackendDescription Describe() const override { return inner_->Describe(); }
  Result<LaunchPlan> Plan(const LaunchSpec& spec) const override { return inner_->Plan(spec); }
  ProbeAnswer Probe(const CallContext& call) override;
  std::vector<SubmitAnswer> Submit(std::span<const LaunchSpec> specs,
                                   const CallContext& call) override;
  std::vector<FindAnswer> Find(std::span<const FindRequest> launches,
                               const CallContext& call) override;
  Result<LaunchPage> ListOurs(const std::string& from, size_t limit,
                              const CallContext& call) override;
  Result<std::vector<LaunchObservation>> Observe(std::span<const LaunchId> launches,
                                                 const CallContext& call) override;
  Result<std::unique_ptr<LaunchWatch>> Watch(
      std::function<void(const WatchEvent&)> on_event) override;
  std::vector<Status> Stop(std::span<const LaunchId> launches, Duration grace,
                           const CallContext& call) override;
  std::vector<Status> Forget(std::span<const LaunchId> launches, const CallContext& call) override;
  Result<std::unique_ptr<LogReader>> OpenLog(LaunchId launch, uint64_t offset) override;

 private:
  std::unique_ptr<Backend> inner_;
  FaultSource source_;
};

}  // namespace muster::test
