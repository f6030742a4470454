#include "backend/ends.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

LaunchObservation Ended(std::string raw, std::optional<int> code, std::optional<int> signal = {}) {
  LaunchObservation observation;
  observation.phase = LaunchPhase::kEnded;
  observation.raw_reason = std::move(raw);
  observation.exit_code = code;
  observation.exit_signal = signal;
  observation.confirmed = true;
  return observation;
}

TEST(LaunchEnd, IsTheExitIfTheClusterSaysNothing) {
  EXPECT_EQ(DecideLaunchEnd(Ended("", 0)).kind, EndKind::kOk);
  EXPECT_EQ(DecideLaunchEnd(Ended("", 3)).kind, EndKind::kFailed);
  EXPECT_EQ(DecideLaunchEnd(Ended("", 3)).number, 3);
  EXPECT_EQ(DecideLaunchEnd(Ended("", {}, 9)).kind, EndKind::kSignal);
  EXPECT_EQ(DecideLaunchEnd(Ended("", {}, 9)).number, 9);
}

TEST(LaunchEnd, IsNotGuessedFrom137) {
  EXPECT_EQ(DecideLaunchEnd(Ended("Error", 137)).kind, EndKind::kFailed);
  EXPECT_EQ(DecideLaunchEnd(Ended("Error", 143)).kind, EndKind::kFailed);
}

TEST(LaunchEnd, BelievesTheClustersReasonBeforeTheCode) {
  EXPECT_EQ(DecideLaunchEnd(Ended("OOMKilled", 0)).kind, EndKind::kOom);
  EXPECT_EQ(DecideLaunchEnd(Ended("Pod was evicted: low on memory", 137)).kind, EndKind::kEvicted);
  EXPECT_EQ(DecideLaunchEnd(Ended("machine restarted", {})).kind, EndKind::kNodeLost);
}

TEST(LaunchEnd, IsUnknownWithoutConfirmationOrEvidence) {
  EXPECT_EQ(DecideLaunchEnd(Ended("", {})).kind, EndKind::kUnknown);
  LaunchObservation unconfirmed = Ended("", 0);
  unconfirmed.confirmed = false;
  EXPECT_EQ(DecideLaunchEnd(unconfirmed).kind, EndKind::kUnknown);
}

TEST(LaunchEnd, KeepsTheClustersOwnWords) {
  EXPECT_EQ(DecideLaunchEnd(Ended("Evicted: disk pressure", {})).detail, "Evicted: disk pressure");
}

TEST(LaunchEnd, MatchesWholeWordsOnlyAndAKindsOwnTableFirst) {
  EXPECT_EQ(DecideLaunchEnd(Ended("unevicted", 0)).kind, EndKind::kOk);
  constexpr EndRule kOwn[] = {{"evicted", EndKind::kPreempted}};
  EXPECT_EQ(DecideLaunchEnd(Ended("evicted", 0), kOwn).kind, EndKind::kPreempted);
}

TEST(LaunchEnd, NeverCallsAnUnknownEndASuccess) {
  for (const char* words : {"", "Completed?", "gone", "unknown state 17"}) {
    EXPECT_NE(DecideLaunchEnd(Ended(words, {})).kind, EndKind::kOk) << words;
  }
}

}  // namespace
}  // namespace muster
