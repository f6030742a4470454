#include "model/job_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TaskSpec Task(std::string name, std::vector<uint32_t> needs = {}) {
  TaskSpec task;
  task.name = std::move(name);
  task.command = ShellCommand{"true"};
  task.needs = std::move(needs);
  return task;
}

JobSpec Job(std::vector<TaskSpec> tasks) {
  JobSpec job;
  job.name = "job";
  job.cwd = "/";
  job.tasks = std::move(tasks);
  return job;
}

// "path: message" of each problem.
std::vector<std::string> Check(const JobSpec& job) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : CheckJobSpec(job)) {
    lines.push_back(problem.path + ": " + problem.message);
  }
  return lines;
}

// The only problem after `change` was made to a good task.
template <typename F>
std::string Broken(F&& change) {
  TaskSpec task = Task("a");
  change(task);
  std::vector<std::string> lines = Check(Job({task}));
  if (lines.size() == 1) return lines.front();
  return fmt::format("{} problems: {}", lines.size(), fmt::join(lines, " | "));
}

TEST(JobCheck, AcceptsAGoodJob) {
  TaskSpec array = Task("array", {0});
  array.each = IndexRange{1, 100'000'000, 1};
  array.array_cap = 50;
  EXPECT_THAT(Check(Job({Task("a"), array, Task("c", {0, 1})})), IsEmpty());
}

TEST(JobCheck, NamesWhatIsMissing) {
  EXPECT_THAT(Check(Job({})), ElementsAre("tasks: the job has no tasks"));
  EXPECT_THAT(Broken([](TaskSpec& t) { t.name = ""; }), "tasks[0].name: the name is empty");
  EXPECT_THAT(Broken([](TaskSpec& t) { t.command = ShellCommand{}; }),
              "tasks[0].command: the command is empty");
  EXPECT_THAT(Broken([](TaskSpec& t) { t.command = ExecCommand{}; }),
              "tasks[0].command: the command is empty");
  EXPECT_THAT(Broken([](TaskSpec& t) { t.command = ExecCommand{{"", "x"}}; }),
              "tasks[0].command: the command is empty");
  EXPECT_THAT(Broken([](TaskSpec& t) { t.each = ItemList(); }),
              "tasks[0].each: the list of items is empty");
}

TEST(JobCheck, RefusesTwoTasksOfOneName) {
  EXPECT_THAT(Check(Job({Task("a"), Task("b"), Task("a")})),
              ElementsAre("tasks[2].name: 'a' is the name of tasks[0] already"));
  std::string common(200, 'x');
  EXPECT_THAT(Check(Job({Task(common + "1"), Task(common + "2")})), IsEmpty());
}

TEST(JobCheck, FindsCyclesOfEveryLengthWithoutRecursion) {
  EXPECT_THAT(Check(Job({Task("a", {0})})),
              ElementsAre("tasks[0].needs: the needs go in a circle: a -> a"));
  EXPECT_THAT(Check(Job({Task("a", {1}), Task("b", {2}), Task("c", {0})})),
              ElementsAre(HasSubstr("a -> b -> c -> a")));
  std::vector<TaskSpec> chain;
  for (uint32_t i = 0; i < 200'000; ++i) {
    chain.push_back(i == 0 ? Task("0") : Task(fmt::format("{}", i), {i - 1}));
  }
  EXPECT_THAT(Check(Job(chain)), IsEmpty());
  chain[0].needs = {199'999};
  std::vector<std::string> lines = Check(Job(chain));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr(" ... -> "));
  EXPECT_LT(lines[0].size(), 200U);
}

TEST(JobCheck, RefusesNeedsOfNoTask) {
  EXPECT_THAT(Check(Job({Task("a", {7})})),
              ElementsAre("tasks[0].needs[0]: there is no task at position 7"));
}

TEST(JobCheck, BoundsArraysAndJobs) {
  EXPECT_EQ(Broken([](TaskSpec& t) { t.each = IndexRange{1, 100'000'001, 1}; }),
            "tasks[0].array: the array has 100000001 tasks, the limit is 100000000");
  std::vector<TaskSpec> tasks;
  for (int i = 0; i < 3; ++i) {
    tasks.push_back(Task(fmt::format("{}", i)));
    tasks.back().each = IndexRange{1, 100'000'000, 1};
  }
  EXPECT_THAT(Check(Job(tasks)),
              ElementsAre("tasks: the job has 300000000 tasks, the limit is 200000000"));
}

TEST(JobCheck, SurvivesRangesThatCannotBeCounted) {
  EXPECT_EQ(Broken([](TaskSpec& t) { t.each = IndexRange{1, 5, 0}; }),
            "tasks[0].array: the step is 0, it must be at least 1");
  EXPECT_EQ(Broken([](TaskSpec& t) { t.each = IndexRange{1, 5, -2}; }),
            "tasks[0].array: the step is -2, it must be at least 1");
  EXPECT_THAT(Broken([](TaskSpec& t) { t.each = IndexRange{INT64_MIN, INT64_MAX, 1}; }),
              HasSubstr("too large"));
  EXPECT_EQ(Broken([](TaskSpec& t) { t.each = IndexRange{5, 1, 1}; }),
            "tasks[0].array: 5-1 is empty");
  std::vector<TaskSpec> tasks;
  for (int i = 0; i < 9; ++i) {
    tasks.push_back(Task(fmt::format("{}", i)));
    tasks.back().each = IndexRange{0, INT64_MAX / 4, 1};
  }
  // Their sum does not fit 64 bits; it must not come out small.
  EXPECT_THAT(Check(Job(tasks)),
              ::testing::Contains(HasSubstr("tasks: the job has 1844674407370955")));
}

TEST(JobCheck, RefusesFiguresThatMakeNoSense) {
  EXPECT_THAT(Broken([](TaskSpec& t) { t.request.cpus = MilliCpu{0}; }), HasSubstr("cpus: 0 cpus"));
  EXPECT_EQ(Broken([](TaskSpec& t) {
              t.request.memory = GiB(2);
              t.memory_limit = GiB(1);
            }),
            "tasks[0].memory: the limit 1Gi is below the request 2Gi");
  EXPECT_EQ(Broken([](TaskSpec& t) { t.time_limit = Duration(0); }),
            "tasks[0].time: the time limit is not above zero");
  EXPECT_THAT(Broken([](TaskSpec& t) {
                t.time_limit = std::chrono::seconds(1);
                t.needs_time = std::chrono::seconds(2);
              }),
              HasSubstr("needs-time 2s is longer than the time limit 1s"));
  EXPECT_THAT(Broken([](TaskSpec& t) { t.grace = Duration(-1); }), HasSubstr("below zero"));
  EXPECT_EQ(Broken([](TaskSpec& t) { t.array_cap = 3; }), "tasks[0].array: a cap needs an array");
}

TEST(JobCheck, RefusesNulBytesWherever) {
  const std::string nul("a\0b", 3);
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.name = nul; }), HasSubstr("tasks[0].name: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.command = ShellCommand{nul}; }), HasSubstr(".command: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.command = ExecCommand{{"a", nul}}; }),
              HasSubstr(".command: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.env = {{"A", nul}}; }), HasSubstr(".env: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.env = {{nul, "x"}}; }), HasSubstr(".env: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.env = {{"A=B", "x"}}; }), HasSubstr(".env: 'A=B'"));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.env = {{"", "x"}}; }), HasSubstr(".env: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.cwd = nul; }), HasSubstr(".cwd: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) { t.inputs = {"x", nul}; }), HasSubstr(".inputs[1]: "));
  EXPECT_THAT(Broken([&](TaskSpec& t) {
                ItemList items;
                ASSERT_TRUE(items.Add("ok") && items.Add(nul));
                t.each = items;
              }),
              "tasks[0].each: item 2 holds a NUL byte");
  JobSpec job = Job({Task("a")});
  job.name = nul;
  job.cwd = nul;
  job.env = {{"A", nul}};
  EXPECT_EQ(Check(job).size(), 3U);
}

TEST(JobCheck, RefusesWhatThisVersionCannotDo) {
  EXPECT_THAT(Broken([](TaskSpec& t) { t.lane = Lane::kOwn; }),
              HasSubstr("tasks[0].lane: a launch of its own for a task is not supported"));
  EXPECT_THAT(Broken([](TaskSpec& t) { t.request.gpus = 1; }), HasSubstr("tasks[0].gpus: "));
  EXPECT_THAT(Broken([](TaskSpec& t) { t.request.named = {{"licence", 1}}; }),
              HasSubstr("tasks[0].resources: "));
}

TEST(JobCheck, FindsAllProblemsAtOnce) {
  TaskSpec bad = Task("a", {9});
  bad.command = ShellCommand{};
  bad.request.cpus = MilliCpu{0};
  EXPECT_EQ(Check(Job({bad, bad})).size(), 7U);
}

TEST(Suggest, FindsSlipsOfTheKeyboardAndNothingElse) {
  const std::vector<std::string> known = {"command", "memory", "cpus", "needs", "needs-time"};
  EXPECT_EQ(Suggest("comand", known), "command");
  EXPECT_EQ(Suggest("commandd", known), "command");
  EXPECT_EQ(Suggest("memroy", known), "memory");
  EXPECT_EQ(Suggest("cpu", known), "cpus");
  EXPECT_EQ(Suggest("need", known), "needs");
  EXPECT_EQ(Suggest("needs_time", known), "needs-time");
  EXPECT_EQ(Suggest("xyzzy", known), "");
  EXPECT_EQ(Suggest("", {}), "");
  EXPECT_EQ(Suggest(std::string(1'000'000, 'a'), known), "");
}

}  // namespace
}  // namespace muster
