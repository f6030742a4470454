// What the text of a job file may be: its YAML, its bytes, its shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/job_file.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Everything that is wrong, one line each, as a user sees it.
std::vector<std::string> Lines(const ParsedJob& job) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : job.problems) lines.push_back(Render(problem, "job.yaml"));
  return lines;
}

ParsedJob Parse(std::string_view text) {
  ParseContext context;
  context.cwd = "/nowhere";
  return ParseJobFile(text, "job.yaml", context);
}

std::string OnlyLine(std::string_view text) {
  std::vector<std::string> lines = Lines(Parse(text));
  if (lines.size() == 1) return lines.front();
  return fmt::format("{} problems: {}", lines.size(), fmt::join(lines, " | "));
}

TEST(JobText, SaysWhatIsWrongWithAFileOfAnotherShape) {
  EXPECT_EQ(OnlyLine(""),
            "job.yaml: the file is empty; write tasks: and below it - command: what to run");
  EXPECT_THAT(OnlyLine("# only a comment\n"), HasSubstr("the file is empty"));
  EXPECT_EQ(OnlyLine("- command: a\n"),
            "job.yaml:1:1: a job is a map, this is a list; write tasks: above the list");
  EXPECT_THAT(OnlyLine("echo hi\n"), HasSubstr("a job is a map, this is a single value"));
  EXPECT_THAT(OnlyLine("name: x\n"), HasSubstr("tasks: the job has no tasks"));
  EXPECT_THAT(OnlyLine("tasks: []\n"), HasSubstr("job.yaml:1:8: tasks: the job has no tasks"));
  EXPECT_THAT(OnlyLine("tasks: {a: {command: x}}\n"), HasSubstr("expected a list of tasks"));
  EXPECT_THAT(OnlyLine("tasks:\n  - echo hi\n"),
              HasSubstr("job.yaml:2:5: tasks[0]: a task is a map with at least a command; write - "
                        "command: echo hi"));
  EXPECT_THAT(OnlyLine("tasks: [{command: a}]\n---\ntasks: []\n"),
              HasSubstr("a second document starts here; write one job into one file"));
  EXPECT_THAT(OnlyLine("x: &a {b: c}\ntasks:\n  - <<: *a\n    command: a\n"),
              HasSubstr("merge keys are not supported"));
}

TEST(JobText, SaysWhatIsWrongWithTheYaml) {
  EXPECT_THAT(OnlyLine("tasks:\n\t- command: a\n"), HasSubstr("a tab cannot indent YAML"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    each: *.txt\n"),
              HasSubstr("a value that starts with * needs quotes: '*.txt'"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: echo a: b\n"),
              AllOf(HasSubstr("job.yaml:2:"), HasSubstr("holds ': ' needs quotes")));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: {item} --help\n"), HasSubstr("needs quotes"));
  EXPECT_THAT(OnlyLine("name: 'open\ntasks: []\n"),
              HasSubstr("job.yaml:1:7: the quote that opens here is never closed"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: &a \"open\n"), HasSubstr("never closed"));
  EXPECT_THAT(Lines(Parse("tasks:\n  - command: 'it''s'\n  - command: \"a\\\"\"")), ElementsAre());
  EXPECT_THAT(OnlyLine("name: !foo x\ntasks: [{command: a}]\n"), HasSubstr("the tag"));
}

TEST(JobText, RefusesWhatIsNotUtf8WithTheLine) {
  EXPECT_THAT(OnlyLine("name: x\ntasks:\n  - command: caf\xe9\n"),
              HasSubstr("job.yaml:3:17: the file is not UTF-8: byte 0xe9"));
  EXPECT_THAT(OnlyLine("name: \xed\xa0\x80\n"), HasSubstr("not UTF-8"));
  EXPECT_THAT(OnlyLine("name: \xc0\x80\n"), HasSubstr("not UTF-8"));
  EXPECT_THAT(OnlyLine(std::string("name: a\0b\n", 10)), HasSubstr("control character 0x00"));
  EXPECT_THAT(OnlyLine("name: a\x04\n"), HasSubstr("job.yaml:1:8: the control character 0x04"));
  EXPECT_THAT(OnlyLine("name: a\ntasks:\n  - command: \"a\\0b\"\n"),
              HasSubstr("job.yaml:3:14: tasks[0].command: the command holds a NUL byte"));
}

TEST(JobText, TakesAByteOrderMarkAndWindowsLineEnds) {
  ParsedJob job = Parse("\xef\xbb\xbfname: x\r\ntasks:\r\n  - command: a b\r\n");
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_EQ(job.spec.name, "x");
  EXPECT_EQ(job.spec.tasks[0].command, Command(ShellCommand{"a b"}));
}

TEST(JobText, SurvivesDeepNesting) {
  auto repeated = [](std::string_view text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  for (std::string_view opener : {"[", "{a: ", "- ", "? ", "[a, ", "[{a: ", "!!seq ["}) {
    std::string line = OnlyLine("tasks: \n  " + repeated(opener, 10'000));
    EXPECT_THAT(line, AnyOf(HasSubstr("nested deeper than 64 levels"), HasSubstr("not YAML"),
                            HasSubstr("a key must be a word")))
        << opener;
  }
  std::string steps;
  for (int i = 0; i < 10'000; ++i)
    steps += std::string(static_cast<size_t>(i % 2000), ' ') + "a:\n";
  EXPECT_FALSE(Lines(Parse(steps)).empty());
  std::string balanced = "x: " + repeated("[", 10'000) + repeated("]", 10'000);
  EXPECT_THAT(OnlyLine(balanced), HasSubstr("nested deeper than 64 levels"));
}

TEST(JobText, TakesShellTextFullOfBrackets) {
  std::string text = "tasks:\n  - command: |\n";
  for (int i = 0; i < 3000; ++i) text += "      [ -f x ] && { echo '{'; [[ a = b ]] ; }\n";
  EXPECT_THAT(Lines(Parse(text)), ElementsAre());
}

TEST(JobText, BoundsWhatAliasesStandFor) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  EXPECT_THAT(OnlyLine(bomb), HasSubstr("the aliases (*name) stand for more than"));
  EXPECT_THAT(OnlyLine("a: &a [*a]\n"), HasSubstr("the alias stands inside of what it names"));
  ParsedJob job =
      Parse("env: &e {A: b}\ntasks:\n  - command: &c echo hi\n    env: *e\n  - command: *c\n");
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_EQ(job.spec.tasks[1].command, Command(ShellCommand{"echo hi"}));
  EXPECT_EQ(job.spec.tasks[0].env, job.spec.env);
}

TEST(JobText, SurvivesAnyDamage) {
  const std::string good = R"(name: x
env: &e {A: "1", B: 'it''s'}
tasks:
  - name: a
    command: |
      echo {item}
    items: [a, "b\n", ? c, !!str d]
    env: *e
  - {name: b, command: [cat, -], needs: [a], memory: {request: 1Mi, limit: 2Mi}}
  - name: c   # comment
    command: >-
      folded
      text
    array: 1-10:2%3
)";
  const std::string letters = "{}[]:,-?|>&*!#'\"%@`\n\t \\a1~<\r=";
  Random random(41);
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    for (uint64_t n = 1 + random.Below(5); n > 0; --n) {
      size_t at = random.Below(text.size());
      char letter = letters[random.Below(letters.size())];
      switch (random.Below(4)) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        case 2:
          text.erase(at, 1 + random.Below(10));
          break;
        default:
          text.insert(at, text.substr(random.Below(text.size()), random.Below(40)));
      }
    }
    for (const SpecProblem& problem : Parse(text).problems) {
      EXPECT_FALSE(problem.message.empty());
      EXPECT_GE(problem.line, 0);
    }
  }
}

TEST(JobText, StopsListingProblemsAtSomePoint) {
  std::string text = "tasks:\n";
  for (int i = 0; i < 1000; ++i) text += "  - comand: a\n";
  std::vector<std::string> lines = Lines(Parse(text));
  EXPECT_EQ(lines.size(), ProblemList::kMost + 1);
  EXPECT_EQ(lines.back(), "job.yaml: 1900 more problems are not shown");
}

TEST(JobText, KeepsAProblemOnOneLine) {
  EXPECT_EQ(OnlyLine("\"a\\nb\\e[31m\": 1\ntasks:\n  - command: a\n"),
            "job.yaml:1:1: a\\nb\\x1b[31m: unknown key");
}

}  // namespace
}  // namespace muster
