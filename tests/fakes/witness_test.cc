#include "support/witness.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "support/temp_dir.h"

namespace muster::test {
namespace {

constexpr const char* kOnce =
    "a 1 host 10 start 100.000000\n"
    "a 1 host 10 end 101.000000 0\n";

TEST(WitnessLog, OneSuccessfulRunOfEachTaskIsWell) {
  EXPECT_EQ(WitnessLog::Parse(kOnce).Check({"a"}).ToString(), "");
}

TEST(WitnessLog, SeesWhatIsMissingAndWhatNobodyExpected) {
  WitnessVerdict verdict = WitnessLog::Parse(kOnce).Check({"b"});
  EXPECT_EQ(verdict.missing, std::vector<std::string>{"b"});
  EXPECT_EQ(verdict.unexpected, std::vector<std::string>{"a"});
  EXPECT_EQ(verdict.ToString(), "1 missing: b; 1 unexpected: a");
}

TEST(WitnessLog, AFailedOrKilledRunIsNoSuccess) {
  EXPECT_FALSE(WitnessLog::Parse("a 1 h 1 start 100.000000\n").Check({"a"}).ok());
  EXPECT_FALSE(
      WitnessLog::Parse("a 1 h 1 start 100.000000\na 1 h 1 end 101.000000 3\n").Check({"a"}).ok());
  std::string killed_then_well =
      "a 1 h 1 start 100.000000\na 2 h 2 start 105.000000\n"
      "a 2 h 2 end 106.000000 0\n";
  EXPECT_EQ(WitnessLog::Parse(killed_then_well).Check({"a"}).ToString(), "");
}

TEST(WitnessLog, SeesASecondSuccess) {
  std::string twice = std::string(kOnce) + "a 2 h 11 start 200.000000\na 2 h 11 end 201.000000 0\n";
  EXPECT_EQ(WitnessLog::Parse(twice).Check({"a"}).doubled, std::vector<std::string>{"a"});
}

TEST(WitnessLog, SeesRunsAtTheSameTimeWhateverTheirEnds) {
  std::string overlapping =
      "a 1 h 10 start 100.000000\na 2 h 11 start 100.500000\n"
      "a 1 h 10 end 101.000000 0\na 2 h 11 end 102.000000 1\n";
  WitnessVerdict verdict = WitnessLog::Parse(overlapping).Check({"a"});
  EXPECT_EQ(verdict.overlapping, std::vector<std::string>{"a"});
  EXPECT_TRUE(verdict.doubled.empty());
}

TEST(WitnessLog, TakesNoTornOrForeignLineForTestimony) {
  for (const char* line : {"a 1 h 10 start 100.000000", "a 1 h 10 end 101.000000 0\n", "nonsense\n",
                           "a 1 h x start 100.000000\n", "a 1 h 1 start 100\n", "\n"}) {
    EXPECT_EQ(WitnessLog::Parse(line).Check({}).malformed.size(), 1U) << line;
  }
}

TEST(WitnessProgram, LeavesAPairThatTheLogReads) {
  TempDir dir;
  const std::string file = dir / "witnesses";
  auto run = [&](const char* task, const char* seconds, int code) {
    std::string command = fmt::format("MUSTER_TASK={} MUSTER_ATTEMPT=1 {} {} {} {}", task,
                                      MUSTER_WITNESS, file, seconds, code);
    int status = std::system(command.c_str());
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(run("j1.1", "0", 0), 0);
  EXPECT_EQ(run("j1.2", "0.02", 7), 7);
  auto log = WitnessLog::Read(file);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->Check({"j1.1", "j1.2"}).ToString(), "1 missing: j1.2");
  const WitnessRun& slow = log->runs().at("j1.2").front();
  EXPECT_EQ(slow.exit_code, 7);
  EXPECT_GE(*slow.end_us - slow.start_us, 20'000);
  EXPECT_EQ(std::system(fmt::format("{} 2>/dev/null", MUSTER_WITNESS).c_str()) >> 8, 99);
}

TEST(WitnessProgram, LinesOfManyNeverMix) {
  TempDir dir;
  const std::string file = dir / "witnesses";
  std::string command = fmt::format(
      "for i in $(seq 200); do MUSTER_TASK=j1.$i MUSTER_ATTEMPT=1 {} {} 0 0 & done; wait",
      MUSTER_WITNESS, file);
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::vector<std::string> tasks;
  for (int i = 1; i <= 200; ++i) tasks.push_back(fmt::format("j1.{}", i));
  auto log = WitnessLog::Read(file);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->Check(tasks).ToString(), "");
}

TEST(NothingProgram, ExitsWithZero) { EXPECT_EQ(std::system(MUSTER_NOTHING), 0); }

}  // namespace
}  // namespace muster::test
