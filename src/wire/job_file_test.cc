#include "wire/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <set>

#include "support/temp_dir.h"
#include "wire/json.h"

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

ParsedJob Parse(std::string_view text, const std::string& cwd = "/nowhere") {
  ParseContext context;
  context.cwd = cwd;
  return ParseJobFile(text, "job.yaml", context);
}

std::string OnlyLine(std::string_view text, const std::string& cwd = "/nowhere") {
  std::vector<std::string> lines = Lines(Parse(text, cwd));
  if (lines.size() == 1) return lines.front();
  return fmt::format("{} problems: {}", lines.size(), fmt::join(lines, " | "));
}

void Write(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Items(const TaskSpec& task) {
  std::vector<std::string> items;
  const auto& list = std::get<ItemList>(task.each);
  for (size_t i = 0; i < list.size(); ++i) items.emplace_back(list[i]);
  return items;
}

std::filesystem::path ProjectRoot() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

TEST(JobFile, ReadsEveryKeyOfATask) {
  test::TempDir dir;
  Write(dir / "in.txt", "x");
  std::filesystem::create_directory(dir / "work");
  ParsedJob job = Parse(R"(
name: all
cluster: here
priority: 3
cwd: work
env: {A: 1, B: ""}
tasks:
  - name: one
    command: echo hi
    env:
      C: c
      D:
    cwd: sub
    cpus: 1.5
    memory: 256Mi
    time: 1h30m
    needs-time: 10m
    grace: 500ms
    retries: 3
    lane: pooled
    once: true
    category: cat
    priority: -2
    queue: default
    gpus: 0
    resources: {}
  - name: two
    command: [cat, "a b", '3']
    needs: [one]
    memory: {request: 1Gi, limit: 2G}
    retries: {user: 1, oom: 0, infrastructure: 9}
    array: 1-9:2%3
    inputs: [../in.txt]
)",
                        dir.path().string());
  ASSERT_THAT(Lines(job), ElementsAre());
  const JobSpec& spec = job.spec;
  EXPECT_EQ(spec.name, "all");
  EXPECT_EQ(spec.cluster, "here");
  EXPECT_EQ(spec.priority, 3);
  EXPECT_EQ(spec.cwd, dir / "work");
  EXPECT_THAT(spec.env, ElementsAre(std::pair("A", "1"), std::pair("B", "")));
  const TaskSpec& one = spec.tasks[0];
  EXPECT_EQ(one.command, Command(ShellCommand{"echo hi"}));
  EXPECT_THAT(one.env, ElementsAre(std::pair("C", "c"), std::pair("D", "")));
  EXPECT_EQ(one.cwd, dir / "work/sub");
  EXPECT_EQ(one.request.cpus, MilliCpu{1500});
  EXPECT_EQ(one.request.memory, MiB(256));
  EXPECT_EQ(one.time_limit, std::chrono::minutes(90));
  EXPECT_EQ(one.needs_time, std::chrono::minutes(10));
  EXPECT_EQ(one.grace, std::chrono::milliseconds(500));
  EXPECT_EQ(one.retries, (RetryBudgets{3, 2, 5}));
  EXPECT_EQ(one.lane, Lane::kPooled);
  EXPECT_TRUE(one.once);
  EXPECT_EQ(one.category, "cat");
  EXPECT_EQ(one.priority, -2);
  const TaskSpec& two = spec.tasks[1];
  EXPECT_EQ(two.command, Command(ExecCommand{{"cat", "a b", "3"}}));
  EXPECT_THAT(two.needs, ElementsAre(0));
  EXPECT_EQ(two.request.memory, GiB(1));
  EXPECT_EQ(two.memory_limit, Bytes{2'000'000'000});
  EXPECT_EQ(two.retries, (RetryBudgets{1, 0, 9}));
  EXPECT_EQ(std::get<IndexRange>(two.each), (IndexRange{1, 9, 2}));
  EXPECT_EQ(two.array_cap, 3U);
  EXPECT_THAT(two.inputs, ElementsAre("../in.txt"));
}

TEST(JobFile, GivesTheJobsKeysToEveryTaskUnlessItHasItsOwn) {
  ParsedJob job = Parse(R"(
cpus: 2
time: 10s
retries: {user: 4, oom: 1}
memory: {request: 1Gi, limit: 2Gi}
tasks:
  - command: a
  - command: b
    cpus: 1
    retries: {user: 0}
    memory: 4Gi
)");
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_EQ(job.spec.name, "job");
  EXPECT_EQ(job.spec.tasks[0].name, "task1");
  EXPECT_EQ(job.spec.tasks[0].request.cpus, MilliCpu{2000});
  EXPECT_EQ(job.spec.tasks[0].retries, (RetryBudgets{4, 1, 5}));
  EXPECT_EQ(job.spec.tasks[0].memory_limit, GiB(2));
  EXPECT_EQ(job.spec.tasks[1].name, "task2");
  EXPECT_EQ(job.spec.tasks[1].request.cpus, MilliCpu{1000});
  EXPECT_EQ(job.spec.tasks[1].time_limit, std::chrono::seconds(10));
  EXPECT_EQ(job.spec.tasks[1].retries, (RetryBudgets{0, 1, 5}));
  EXPECT_EQ(job.spec.tasks[1].request.memory, GiB(4));
  EXPECT_EQ(job.spec.tasks[1].memory_limit, std::nullopt);
}

TEST(JobFile, NamesTheUnknownKeyItsPlaceAndTheKnownOne) {
  EXPECT_EQ(OnlyLine("tasks:\n  - command: a\n  - name: b\n    command: b\n    memry: 1Gi\n"),
            "job.yaml:5:5: tasks[1].memry: unknown key; did you mean 'memory'?");
  EXPECT_EQ(OnlyLine("nmae: x\ntasks:\n  - command: a\n"),
            "job.yaml:1:1: nmae: unknown key; did you mean 'name'?");
  EXPECT_EQ(OnlyLine("zzzzzzzzz: x\ntasks:\n  - command: a\n"),
            "job.yaml:1:1: zzzzzzzzz: unknown key");
}

TEST(JobFile, SaysWhereAKeyBelongs) {
  EXPECT_EQ(OnlyLine("command: a\ntasks:\n  - command: a\n"),
            "job.yaml:1:1: command: 'command' belongs to a task, not to the job; write it below "
            "tasks:, indented");
  EXPECT_EQ(OnlyLine("tasks:\n  - command: a\n    tasks: []\n"),
            "job.yaml:3:5: tasks[0].tasks: 'tasks' belongs to the job, not to a task; write it at "
            "the left margin");
}

TEST(JobFile, FindsAllProblemsAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(
      Lines(Parse(R"(name: x
tasks:
  - name: a
    comand: true
    memory: 256MB
  - name: b
    command: b
    needs: [c, a]
    time: 10 min
  - name: b
    command: again
    retries: -1
)")),
      ElementsAre(HasSubstr("job.yaml:3:5: tasks[0].command: the task has no command"),
                  "job.yaml:4:5: tasks[0].comand: unknown key; did you mean 'command'?",
                  HasSubstr("job.yaml:5:13: tasks[0].memory: '256MB' is not a size"),
                  "job.yaml:8:13: tasks[1].needs[0]: no task is called 'c'; did you mean 'a'?",
                  HasSubstr("job.yaml:9:11: tasks[1].time: '10 min' is not a time"),
                  HasSubstr("job.yaml:10:11: tasks[2].name: 'b' is the name of tasks[1]"),
                  HasSubstr("job.yaml:12:14: tasks[2].retries: -1 is not between 0 and")));
}

TEST(JobFile, SaysWhatAWrongUnitWasMeantToBe) {
  auto line = [](std::string_view key_value) {
    return OnlyLine(fmt::format("tasks:\n  - command: a\n    {}\n", key_value));
  };
  EXPECT_THAT(line("memory: 256MB"), HasSubstr("; did you mean 256M?"));
  EXPECT_THAT(line("memory: 1.5 GiB"), HasSubstr("; did you mean 1.5Gi?"));
  EXPECT_THAT(
      line("memory: 512"),
      HasSubstr("3:13: tasks[0].memory: 512 without a unit is 512 bytes; did you mean 512Mi?"));
  EXPECT_THAT(line("memory: {limit: 2gb}"), HasSubstr("tasks[0].memory.limit:"));
  EXPECT_THAT(line("time: 90"), HasSubstr("; did you mean 90s?"));
  EXPECT_THAT(line("time: 10 minutes"), HasSubstr("; did you mean 10m?"));
  EXPECT_THAT(line("time: 01:30:00"), HasSubstr("; did you mean 1h30m?"));
  EXPECT_THAT(line("cpus: two"), HasSubstr("3:11: tasks[0].cpus: 'two' is not a number of cpus"));
  EXPECT_THAT(line("cpus: 0"), HasSubstr("the least is 0.001"));
  EXPECT_THAT(line("once: yes"), HasSubstr("'yes' is not true or false; did you mean true?"));
  EXPECT_THAT(line("lane: poled"), HasSubstr("'poled' is not a lane; did you mean 'pooled'?"));
  EXPECT_THAT(line("retries: three"), HasSubstr("'three' is not a whole number"));
  EXPECT_THAT(line("retries: {usr: 3}"),
              HasSubstr("tasks[0].retries.usr: unknown key; did you mean 'user'?"));
  EXPECT_THAT(line("memory:"), HasSubstr("has no value"));
  EXPECT_THAT(line("memory: [1Gi]"), HasSubstr("not a list"));
}

TEST(JobFile, TakesNumbersInQuotes) {
  ParsedJob job = Parse(
      "tasks:\n  - {command: a, cpus: \"2\", retries: '3', priority: \"7\", once: \"true\"}\n");
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_EQ(job.spec.tasks[0].request.cpus, MilliCpu{2000});
  EXPECT_EQ(job.spec.tasks[0].retries.user, 3U);
  EXPECT_EQ(job.spec.tasks[0].priority, 7);
  EXPECT_TRUE(job.spec.tasks[0].once);
}

TEST(JobFile, RefusesWhatThisVersionCannotDoAndSaysWhatToDoInstead) {
  auto line = [](std::string_view key_value) {
    return OnlyLine(fmt::format("tasks:\n  - command: a\n    {}\n", key_value));
  };
  EXPECT_EQ(line("group: 4"),
            "job.yaml:3:12: tasks[0].group: tasks that start together are not supported by this "
            "version; start them from one command that waits for all of them");
  for (std::string_view key_value :
       {"image: debian:12", "gpus: 1", "ports: [http]", "outputs: [x]", "resources: {licence: 1}",
        "nodes: a", "queue: etl", "lane: own", "prefer: cost", "cluster: {queue: x}",
        "cluster: hpc"}) {
    std::string key(key_value.substr(0, key_value.find(':')));
    std::string shown = line(key_value);
    EXPECT_THAT(shown, HasSubstr(fmt::format("job.yaml:3:{}: tasks[0].{}: ", key.size() + 7, key)));
    EXPECT_THAT(shown, HasSubstr("version; ")) << "no way out is named";
    EXPECT_THAT(shown, ::testing::Not(HasSubstr("unknown")));
  }
  EXPECT_THAT(OnlyLine("gpus: 2\ntasks:\n  - command: a\n"),
              HasSubstr("job.yaml:1:7: tasks[0].gpus: "));
  EXPECT_THAT(OnlyLine("cluster: {queue: x}\ntasks:\n  - command: a\n"),
              HasSubstr("job.yaml:1:10: cluster: settings for one kind of cluster"));
}

TEST(JobFile, SuggestsAConfiguredCluster) {
  ParseContext context;
  context.cwd = "/";
  context.clusters = {"hadoop", "here"};
  ParsedJob job = ParseJobFile("cluster: hadop\ntasks: [{command: a}]\n", "job.yaml", context);
  EXPECT_THAT(Lines(job), ElementsAre("job.yaml:1:10: cluster: no cluster is called 'hadop'; did "
                                      "you mean 'hadoop'?"));
}

TEST(JobFile, PrintsACycleOfNeeds) {
  EXPECT_THAT(
      OnlyLine(
          "tasks:\n  - {name: a, command: a, needs: [c]}\n  - {name: b, command: b, needs: [a]}\n"
          "  - {name: c, command: c, needs: b}\n"),
      HasSubstr("the needs go in a circle: a -> c -> b -> a"));
  EXPECT_THAT(OnlyLine("tasks:\n  - name: a\n    command: a\n    needs: a\n"),
              HasSubstr("job.yaml:4:12: tasks[0].needs: the needs go in a circle: a -> a"));
}

TEST(JobFile, RefusesArraysThatAreTooLargeOrMakeNoSense) {
  auto line = [](std::string_view array) {
    return OnlyLine(fmt::format("tasks:\n  - command: a\n    array: {}\n", array));
  };
  EXPECT_THAT(
      line("1-100000001"),
      HasSubstr("job.yaml:3:12: tasks[0].array: the array has 100000001 tasks, the limit is "
                "100000000"));
  EXPECT_THAT(line("1-99999999999999999999"), HasSubstr("too large"));
  EXPECT_THAT(line("1-9999999999999999"), HasSubstr("beyond 1000000000000000"));
  EXPECT_THAT(line("10-1"), HasSubstr("10-1 is empty; write the smaller index first"));
  EXPECT_THAT(line("10"), HasSubstr("for 10 tasks the range is 1-10"));
  EXPECT_THAT(line("1-10:0"), HasSubstr("the step behind ':'"));
  EXPECT_THAT(line("1-10%0"), HasSubstr("the cap behind '%'"));
  EXPECT_THAT(line("0,3,7-9"), HasSubstr("lists with commas are not supported"));
  EXPECT_THAT(line("1-10x"), HasSubstr("'x' has no meaning here"));
  EXPECT_THAT(line("a-b"), HasSubstr("does not start with an index"));
  EXPECT_THAT(line("1-10\n    cap: 0"), HasSubstr("tasks[0].cap: 0 is not between 1"));
  EXPECT_THAT(line("1-10%3\n    cap: 4"), HasSubstr("the array itself says %3"));
  EXPECT_THAT(line("1-10\n    items: [a]"), HasSubstr("only one of each, array, lines and items"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    cap: 4\n"), HasSubstr("a cap needs each"));
}

TEST(JobFile, ExpandsPatternsSortedByBytes) {
  test::TempDir dir;
  for (const char* name : {"b.txt", "a.txt", "B.txt", ".hidden.txt", "a b'c.txt", "other"}) {
    Write(dir / name, "");
  }
  ParsedJob job = Parse(
      "tasks:\n  - {command: 'a {item}', each: '*.txt', cap: 2}\n"
      "  - {command: b, each: [other, '[ab].txt']}\n",
      dir.path().string());
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_THAT(Items(job.spec.tasks[0]), ElementsAre("B.txt", "a b'c.txt", "a.txt", "b.txt"));
  EXPECT_EQ(job.spec.tasks[0].array_cap, 2U);
  EXPECT_THAT(Items(job.spec.tasks[1]), ElementsAre("other", "a.txt", "b.txt"));
}

TEST(JobFile, ExpandsPatternsBelowTheTasksFolderWhateverItIsCalled) {
  test::TempDir dir;
  std::string odd = dir / "a[b]*c \\d";
  std::filesystem::create_directories(odd + "/sub");
  Write(odd + "/sub/x.jpg", "");
  ParsedJob job = Parse("tasks:\n  - {command: a, cwd: 'a[b]*c \\d', each: 'sub/*.jpg'}\n",
                        dir.path().string());
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_THAT(Items(job.spec.tasks[0]), ElementsAre("sub/x.jpg"));
  EXPECT_EQ(job.spec.tasks[0].cwd, odd);
}

TEST(JobFile, KeepsFileNamesThatAreNotUtf8) {
  test::TempDir dir;
  Write(dir / "caf\xe9.txt", "");
  Write(dir / "list", "caf\xe9\nok\n");
  ParsedJob job = Parse("tasks:\n  - {command: a, each: '*.txt'}\n  - {command: b, lines: list}\n",
                        dir.path().string());
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_THAT(Items(job.spec.tasks[0]), ElementsAre("caf\xe9.txt"));
  EXPECT_THAT(Items(job.spec.tasks[1]), ElementsAre("caf\xe9", "ok"));
}

TEST(JobFile, RefusesAPatternThatMatchesNothingAndAFileThatIsNotThere) {
  test::TempDir dir;
  std::string cwd = dir.path().string();
  EXPECT_EQ(OnlyLine("tasks:\n  - command: a\n    each: '*.png'\n", cwd),
            fmt::format("job.yaml:3:11: tasks[0].each: no file matches *.png in {}", cwd));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    each: ['*.png', gone]\n", cwd),
              HasSubstr("2 problems: job.yaml:3:12: tasks[0].each[0]: no file matches"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    each: '*.{jpg,png}'\n", cwd),
              HasSubstr("braces are not expanded, write a list of patterns"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    lines: gone.txt\n", cwd),
              HasSubstr("job.yaml:3:12: tasks[0].lines: open " + cwd + "/gone.txt"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    inputs: [gone.txt]\n", cwd),
              HasSubstr("job.yaml:3:14: tasks[0].inputs[0]: " + cwd + "/gone.txt is not there"));
  EXPECT_THAT(OnlyLine("inputs: gone.txt\ntasks:\n  - command: a\n  - command: b\n", cwd),
              HasSubstr("job.yaml:1:9: inputs: "));
  Write(dir / "empty.txt", "\n\n");
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    lines: empty.txt\n", cwd),
              HasSubstr("has no lines"));
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    lines: .\n", cwd), HasSubstr("read " + cwd));
}

TEST(JobFile, ReadsLinesByteForByteButTheNewline) {
  test::TempDir dir;
  Write(dir / "list", "one\n two \r\n\nlast without newline");
  ParsedJob job = Parse("tasks:\n  - {command: a, lines: list}\n", dir.path().string());
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_THAT(Items(job.spec.tasks[0]), ElementsAre("one", " two \r", "last without newline"));
  Write(dir / "list", std::string("one\ntw\0o\n", 9));
  EXPECT_THAT(OnlyLine("tasks:\n  - {command: a, lines: list}\n", dir.path().string()),
              HasSubstr("/list:2: the line holds a NUL byte"));
}

TEST(JobFile, TakesNamesOfAnyLengthAndLetters) {
  std::string common(200, 'x');
  std::string text = "tasks:\n";
  std::vector<std::string> names = {std::string(300, 'n'), "a/b/c",     "with space", "emoji 🚀",
                                    common + "1",          common + "2"};
  for (const std::string& name : names) text += "  - name: " + name + "\n    command: a\n";
  text += "  - name: last\n    command: b\n    needs: [" + common + "2, emoji 🚀, a/b/c]\n";
  ParsedJob job = Parse(text);
  ASSERT_THAT(Lines(job), ElementsAre());
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(job.spec.tasks[i].name, names[i]);
  EXPECT_THAT(job.spec.tasks.back().needs, ElementsAre(5, 3, 1));
}

TEST(JobFile, RefusesKeysThatStandTwice) {
  EXPECT_EQ(OnlyLine("name: a\ntasks:\n  - command: a\nname: b\n"),
            "job.yaml:4:1: name: the key stands twice (first on line 1); keep one of them");
  EXPECT_THAT(OnlyLine("tasks:\n  - command: a\n    env: {A: 1, A: 2}\n"),
              HasSubstr("tasks[0].env.A: the key stands twice"));
}

TEST(ReadJobFile, RefusesAFileOf100MegabytesBeforeReadingIt) {
  test::TempDir dir;
  Write(dir / "big.yaml", "");
  ASSERT_EQ(::truncate((dir / "big.yaml").c_str(), 100'000'000), 0);
  Result<std::string> text = ReadJobFile(dir / "big.yaml");
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message,
              AllOf(HasSubstr("100000000 bytes"), HasSubstr("16 MiB"), HasSubstr("lines:")));
  EXPECT_EQ(text.error().owner, ErrorOwner::kUser);
}

TEST(ReadJobFile, SaysWhichFileIsNotThere) {
  Result<std::string> text = ReadJobFile("/nowhere/job.yaml");
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().ToString(), HasSubstr("/nowhere/job.yaml"));
  EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(ReadJobFile("/").ok());
}

TEST(ReadJobFile, GivesTheBytesOfASmallFile) {
  test::TempDir dir;
  Write(dir / "job.yaml", "name: x\n");
  EXPECT_EQ(ReadJobFile(dir / "job.yaml").value_or(""), "name: x\n");
}

TEST(JobFile, ReadsAHundredThousandTasksInSeconds) {
  std::string text = "tasks:\n";
  for (int i = 0; i < 100'000; ++i) {
    text +=
        fmt::format("- name: t{}\n  command: echo {}\n  needs: [t{}]\n", i, i, i == 0 ? 0 : i - 1);
  }
  text.replace(text.find("needs: [t0]"), 11, "needs: []  ");
  auto begin = std::chrono::steady_clock::now();
  ParsedJob job = Parse(text);
  auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_THAT(Lines(job), ElementsAre());
  EXPECT_EQ(job.spec.tasks.size(), 100'000U);
  EXPECT_LT(took, std::chrono::seconds(60));
}

TEST(Examples, AreValidJobs) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ProjectRoot() / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    ParseContext context;
    context.cwd = "/";
    ParsedJob job = ParseJobFile(ReadAll(entry.path()), entry.path().string(), context);
    EXPECT_THAT(Lines(job), ElementsAre()) << entry.path();
    EXPECT_EQ(job.spec.name, entry.path().stem().string());
  }
  EXPECT_GE(count, 5U);
}

TEST(Schema, HasTheKeysOfTheReaderAndNoOthers) {
  nlohmann::json schema = nlohmann::json::parse(ReadAll(ProjectRoot() / "api/jobfile.schema.json"));
  std::set<std::string> at_job;
  std::set<std::string> at_task;
  std::set<std::string> job_refused;
  for (const JobFileKey& key : JobFileKeys()) {
    if (key.at_job) at_job.emplace(key.name);
    if (key.at_task) at_task.emplace(key.name);
    if (key.refused) job_refused.emplace(key.name);
  }
  auto keys = [](const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
  };
  const nlohmann::json& job = schema["properties"];
  EXPECT_EQ(keys(job), at_job);
  EXPECT_EQ(keys(schema["$defs"]["task"]["properties"]), at_task);
  for (const auto& [name, value] : job.items()) {
    bool refused = value.contains("$ref") && value["$ref"] == "#/$defs/refused";
    EXPECT_EQ(refused, job_refused.contains(name)) << name;
  }
}

}  // namespace
}  // namespace muster
