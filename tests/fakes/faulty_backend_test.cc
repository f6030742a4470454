#include "fakes/faulty_backend.h"

#include <gtest/gtest.h>

#include <set>

#include "fakes/fake_backend.h"
#include "support/manual_clock.h"

namespace muster::test {
namespace {

class FaultyBackendTest : public ::testing::Test {
 protected:
  // What the caller hears of a Submit that suffers `fault`, and whether it had an effect.
  std::pair<SubmitAnswer::Kind, size_t> SubmitWith(CallFault fault) {
    FakeCluster cluster(clock_, 1);
    FaultyBackend backend(std::make_unique<FakeBackend>(cluster, clock_, StoreIdentity{"store", 1}),
                          OnceAt(BackendMethod::kSubmit, fault));
    LaunchSpec spec;
    spec.id = {1};
    spec.owner = {"store", 1};
    auto kind = backend.Submit({&spec, 1}, {}).front().kind;
    return {kind, cluster.launches()};
  }
  ManualClock clock_;
};

TEST_F(FaultyBackendTest, EachFaultIsWhatItsNameSays) {
  using Kind = SubmitAnswer::Kind;
  EXPECT_EQ(SubmitWith(CallFault::kNone), std::pair(Kind::kAccepted, size_t{1}));
  EXPECT_EQ(SubmitWith(CallFault::kRequestLost), std::pair(Kind::kUnknown, size_t{0}));
  EXPECT_EQ(SubmitWith(CallFault::kAnswerLost), std::pair(Kind::kUnknown, size_t{1}));
  EXPECT_EQ(SubmitWith(CallFault::kDoubled), std::pair(Kind::kAccepted, size_t{1}));
  EXPECT_EQ(SubmitWith(CallFault::kThrottled), std::pair(Kind::kRefused, size_t{0}));
}

TEST_F(FaultyBackendTest, OnceIsOnceAndOnlyForItsMethod) {
  FaultSource source = OnceAt(BackendMethod::kStop, CallFault::kAnswerLost);
  EXPECT_EQ(source(BackendMethod::kSubmit), CallFault::kNone);
  EXPECT_EQ(source(BackendMethod::kStop), CallFault::kAnswerLost);
  EXPECT_EQ(source(BackendMethod::kStop), CallFault::kNone);
}

TEST_F(FaultyBackendTest, SeededStrikesWithEveryFaultAtAboutItsRate) {
  FaultSource source = Seeded(3, 20);
  std::set<CallFault> struck;
  int faults = 0;
  for (int i = 0; i < 2000; ++i) {
    CallFault fault = source(BackendMethod::kObserve);
    struck.insert(fault);
    faults += fault != CallFault::kNone;
  }
  EXPECT_EQ(struck.size(), 5U);
  EXPECT_GT(faults, 300);
  EXPECT_LT(faults, 500);
}

}  // namespace
}  // namespace muster::test
