#include "backend/settings.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::vector<SpecProblem> ProblemsOf(const std::vector<Setting>& settings) {
  SettingsReader reader(settings);
  ReadPoolSettings(reader, {});
  return std::move(reader).Finish();
}

TEST(Settings, AreReadWithTheirUnits) {
  std::vector<Setting> settings{{"pool.max", "50"},     {"pool.cpus", "4"},
                                {"pool.memory", "8Gi"}, {"pool.idle", "2m"},
                                {"pool.slots", "3"},    {"pool.resources.licence", "7"}};
  SettingsReader reader(settings);
  PoolSettings pool = ReadPoolSettings(reader, {});
  EXPECT_TRUE(std::move(reader).Finish().empty());
  EXPECT_EQ(pool.max, 50U);
  EXPECT_EQ(pool.executor_size.cpus, MilliCpu{4000});
  EXPECT_EQ(pool.executor_size.memory, GiB(8));
  EXPECT_EQ(pool.idle, std::chrono::minutes(2));
  EXPECT_EQ(pool.slots, 3U);
  ASSERT_EQ(pool.executor_size.named.size(), 1U);
  EXPECT_EQ(pool.executor_size.named[0], (std::pair<std::string, uint64_t>("licence", 7)));
}

TEST(Settings, ReportEverythingWrongAtOnceWithItsLine) {
  auto problems = ProblemsOf({{"pool.mx", "50", 3, 5},
                              {"pool.cpus", "many", 4, 5},
                              {"pool.memory", "8 elephants", 5, 5},
                              {"pool.idle", "60", 6, 5},
                              {"pool.min", "-1", 7, 5}});
  ASSERT_EQ(problems.size(), 5U);
  std::vector<int> lines;
  for (const SpecProblem& problem : problems) lines.push_back(problem.line);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<int>{3, 4, 5, 6, 7}));
}

TEST(Settings, SuggestTheKnownKeyThatIsMeant) {
  auto problems = ProblemsOf({{"pool.memry", "8Gi"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].path, "pool.memry");
  EXPECT_EQ(problems[0].suggestion, "pool.memory");
}

TEST(Settings, RefuseAKeyGivenTwice) {
  auto problems = ProblemsOf({{"pool.max", "1"}, {"pool.max", "2"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "is given twice");
}

TEST(Settings, RefuseAPoolInWhichNothingCanRun) {
  EXPECT_EQ(ProblemsOf({{"pool.max", "0"}}).size(), 1U);
  EXPECT_EQ(ProblemsOf({{"pool.max", "1"}, {"pool.min", "2"}}).size(), 1U);
}

TEST(Settings, MinAloneRaisesMax) {
  std::vector<Setting> settings{{"pool.min", "5"}};
  SettingsReader reader(settings);
  EXPECT_EQ(ReadPoolSettings(reader, {}).max, 5U);
  EXPECT_TRUE(std::move(reader).Finish().empty());
}

TEST(MachineSize, IsNotNothing) {
  MachineSize size = ReadMachineSize();
  EXPECT_GE(size.cpus, MilliCpu{1000});
  EXPECT_GT(size.memory, MiB(64));
}

}  // namespace
}  // namespace muster
