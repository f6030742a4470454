#include "executor/program_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::executor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

StartAttempt Start(std::shared_ptr<const RunTemplate> what, int64_t index = 7,
                   std::string item = "a b.jpg") {
  return {{{{12}, 500}, 2}, std::move(what), index, std::move(item), ""};
}

std::shared_ptr<RunTemplate> Template() {
  auto what = std::make_shared<RunTemplate>();
  what->command = ShellCommand{"convert {item} > {out}"};
  what->env = {{"PATH", "/bin"},
               {"A", "old"},
               {"A", "new"},
               {"MUSTER_JOB", "j1"},
               {"MUSTER_LAUNCH", "stolen"}};
  what->cwd = "/data";
  what->job_name = "pictures";
  what->task_name = "shrink";
  return what;
}

TEST(ProgramBuilder, FillsPlaceholdersAndSaysWhoItIs) {
  ProgramBuilder builder({3}, {{"MUSTER_LAUNCH", "cookie"}, {"A", "outside"}});
  const auto& program = builder.Build(Start(Template()), "/data/out/.p", "/scratch/1");
  EXPECT_THAT(program.argv, ElementsAre("/bin/sh", "-c", "convert 'a b.jpg' > '/data/out/.p'"));
  EXPECT_EQ(program.cwd, "/data");
  EXPECT_THAT(
      program.env,
      ElementsAre("MUSTER_LAUNCH=cookie", "A=new", "PATH=/bin", "MUSTER_EXECUTOR=x3",
                  "MUSTER_JOB_NAME=pictures", "MUSTER_TASK_NAME=shrink", "MUSTER_JOB=j12",
                  "MUSTER_TASK=j12.500", "MUSTER_ATTEMPT=2", "MUSTER_INDEX=7",
                  "MUSTER_ITEM=a b.jpg", "MUSTER_OUT=/data/out/.p", "MUSTER_SCRATCH=/scratch/1"));
}

TEST(ProgramBuilder, LeavesNothingOfTheRunBefore) {
  ProgramBuilder builder({3}, {});
  auto what = Template();
  builder.Build(Start(what), "/data/out/.p", "/scratch/1");
  const auto& second = builder.Build(Start(what, 8, ""), "", "");
  EXPECT_THAT(second.env, Contains("MUSTER_INDEX=8"));
  EXPECT_THAT(second.env, Contains("PATH=/bin"));
  for (const char* name : {"MUSTER_ITEM", "MUSTER_OUT", "MUSTER_SCRATCH"}) {
    EXPECT_THAT(second.env, Not(Contains(StartsWith(name))));
  }
  auto other = std::make_shared<RunTemplate>();
  other->command = ExecCommand{{"/bin/true", "{index}"}};
  const auto& third = builder.Build(Start(other, 9, ""), "", "");
  EXPECT_THAT(third.argv, ElementsAre("/bin/true", "9"));
  EXPECT_THAT(third.env, Not(Contains("PATH=/bin")));
}

TEST(ProgramBuilder, DoesNotMakeAVariableThatTheKernelRefuses) {
  ProgramBuilder builder({3}, {});
  const auto& program = builder.Build(Start(Template(), 1, std::string(200'000, 'x')), "", "");
  EXPECT_THAT(program.env, Not(Contains(StartsWith("MUSTER_ITEM="))));
}

}  // namespace
}  // namespace muster::executor
