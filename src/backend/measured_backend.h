// A Backend that counts what it hands on: calls, errors, answers of unknown outcome, and how long
// calls took, by method. Thread-safe. Changes no answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace muster {

enum class BackendMethod : uint8_t {
  kProbe,
  kSubmit,
  kFind,
  kListOurs,
  kObserve,
  kWatch,
  kStop,
  kForget,
  kReadLog,
};
inline constexpr size_t kBackendMethods = 9;
std::string_view ToString(BackendMethod method);

// Upper bounds of the classes calls are counted in; slower ones are in none but `calls`.
inline constexpr std::array<Duration, 6> kLatencyBounds{Duration{1'000},      Duration{10'000},
                                                        Duration{100'000},    Duration{1'000'000},
                                                        Duration{10'000'000}, Duration{60'000'000}};

struct MethodMeasure {
  uint64_t calls = 0;
  // Launches in them: a call in bulk counts each.
  uint64_t launches = 0;
  // Answers that were errors or refusals, and those that left the outcome open.
  uint64_t errors = 0;
  uint64_t unknown = 0;
  Duration total{0};
  Duration longest{0};
  // Calls that took no longer than each bound (cumulative).
  std::array<uint64_t, kLatencyBounds.size()> within{};
};
using BackendMeasures = std::array<MethodMeasure, kBackendMethods>;

class MeasuredBackend final : public Backend {
 public:
  MeasuredBackend(std::unique_ptr<Backend> inner, const Clock& clock);
  ~MeasuredBackend() override;

  BackendMeasures Read() const;

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
  // Readers keep the counters alive; they may outlive this.
  Result<std::unique_ptr<LogReader>> OpenLog(LaunchId launch, uint64_t offset) override;

  class Counters;

 private:
  std::unique_ptr<Backend> inner_;
  std::shared_ptr<Counters> counters_;
};

}  // namespace muster
