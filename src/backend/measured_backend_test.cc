#include "backend/measured_backend.h"

#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace muster {
namespace {

// Answers what the test wants and takes 20 ms of the test's clock for each call.
class ScriptedBackend final : public Backend {
 public:
  explicit ScriptedBackend(test::ManualClock& clock) : clock_(clock) {}

  BackendDescription Describe() const override { return {.kind = "scripted"}; }
  Result<LaunchPlan> Plan(const LaunchSpec&) const override { return LaunchPlan{"text", {}}; }
  ProbeAnswer Probe(const CallContext&) override {
    Spend();
    return {};
  }
  std::vector<SubmitAnswer> Submit(std::span<const LaunchSpec> specs, const CallContext&) override {
    Spend();
    std::vector<SubmitAnswer> answers;
    for (const LaunchSpec& spec : specs) {
      answers.push_back({spec.id, static_cast<SubmitAnswer::Kind>(answers.size() % 3), "", {}});
    }
    return answers;
  }
  std::vector<FindAnswer> Find(std::span<const FindRequest> launches, const CallContext&) override {
    Spend();
    return std::vector<FindAnswer>(launches.size());
  }
  Result<LaunchPage> ListOurs(const std::string&, size_t, const CallContext&) override {
    Spend();
    return ClusterError(ErrorCode::kUnavailable, "list launches: closed on Sundays");
  }
  Result<std::vector<LaunchObservation>> Observe(std::span<const LaunchId>,
                                                 const CallContext&) override {
    Spend();
    return ClusterError(ErrorCode::kOutcomeUnknown, "observe: no answer");
  }
  Result<std::unique_ptr<LaunchWatch>> Watch(std::function<void(const WatchEvent&)>) override {
    return ClusterError(ErrorCode::kUnimplemented, "watch: not here");
  }
  std::vector<Status> Stop(std::span<const LaunchId> launches, Duration,
                           const CallContext&) override {
    return std::vector<Status>(launches.size());
  }
  std::vector<Status> Forget(std::span<const LaunchId> launches, const CallContext&) override {
    return std::vector<Status>(launches.size());
  }
  Result<std::unique_ptr<LogReader>> OpenLog(LaunchId, uint64_t) override {
    return ClusterError(ErrorCode::kUnimplemented, "log: not here");
  }

 private:
  void Spend() { clock_.Advance(std::chrono::milliseconds(20)); }
  test::ManualClock& clock_;
};

class MeasuredBackendTest : public ::testing::Test {
 protected:
  MethodMeasure Measure(BackendMethod method) {
    return measured_.Read()[static_cast<size_t>(method)];
  }
  test::ManualClock clock_;
  MeasuredBackend measured_{std::make_unique<ScriptedBackend>(clock_), clock_};
  CallContext call_;
};

TEST_F(MeasuredBackendTest, CountsLaunchesRefusalsAndOpenOutcomesOfABulkSubmit) {
  std::vector<LaunchSpec> specs(4);
  EXPECT_EQ(measured_.Submit(specs, call_).size(), 4U);
  MethodMeasure submit = Measure(BackendMethod::kSubmit);
  EXPECT_EQ(submit.calls, 1U);
  EXPECT_EQ(submit.launches, 4U);
  EXPECT_EQ(submit.errors, 1U);
  EXPECT_EQ(submit.unknown, 1U);
}

TEST_F(MeasuredBackendTest, TellsErrorsFromUnknownOutcomes) {
  EXPECT_FALSE(measured_.ListOurs("", 10, call_).ok());
  EXPECT_EQ(Measure(BackendMethod::kListOurs).errors, 1U);
  LaunchId one{1};
  EXPECT_FALSE(measured_.Observe({&one, 1}, call_).ok());
  EXPECT_EQ(Measure(BackendMethod::kObserve).errors, 0U);
  EXPECT_EQ(Measure(BackendMethod::kObserve).unknown, 1U);
}

TEST_F(MeasuredBackendTest, PutsCallsIntoCumulativeClassesOfLatency) {
  measured_.Probe(call_);
  measured_.Probe(call_);
  MethodMeasure probe = Measure(BackendMethod::kProbe);
  EXPECT_EQ(probe.longest, std::chrono::milliseconds(20));
  EXPECT_EQ(probe.total, std::chrono::milliseconds(40));
  EXPECT_EQ(probe.within[0], 0U);  // 1 ms
  EXPECT_EQ(probe.within[1], 0U);  // 10 ms
  EXPECT_EQ(probe.within[2], 2U);  // 100 ms
  EXPECT_EQ(probe.within[5], 2U);
}

}  // namespace
}  // namespace muster
