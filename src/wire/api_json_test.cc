#include "wire/api_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "wire/base64.h"
#include "wire/doc_tree.h"
#include "wire/id_text.h"
#include "wire/json.h"
#include "wire/random_values.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T, typename Make>
void ExpectLossless(Make&& make) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    T view = make(random);
    std::string json = ViewToJson(view);
    ASSERT_TRUE(nlohmann::json::accept(json)) << json;
    Result<T> read = ViewFromJson<T>(json);
    ASSERT_TRUE(read.ok()) << read.error() << "\n" << json;
    ASSERT_EQ(*read, view) << json;
  }
}

TEST(ApiJson, ViewsAreLossless) {
  ExpectLossless<JobView>(test::RandomJobView);
  ExpectLossless<TaskView>(test::RandomTaskView);
  ExpectLossless<TaskDetail>(test::RandomTaskDetail);
  ExpectLossless<AttemptView>(test::RandomAttemptView);
  ExpectLossless<WhyView>(test::RandomWhyView);
  ExpectLossless<ExecutorView>(test::RandomExecutorView);
  ExpectLossless<ServerView>(test::RandomServerView);
}

TEST(ApiJson, ErrorsAreLossless) {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    ApiError failed = test::RandomApiError(random);
    Result<ApiError> read = ApiErrorFromJson(ApiErrorToJson(failed));
    ASSERT_TRUE(read.ok()) << read.error();
    ASSERT_EQ(*read, failed);
  }
}

TEST(ApiJson, JobsAreLossless) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    JobSpec job = test::RandomJobSpec(random);
    std::string json = JobSpecToJson(job);
    ASSERT_TRUE(nlohmann::json::accept(json)) << json;
    ParsedJob read = JobSpecFromJson(json);
    ASSERT_TRUE(read.problems.empty()) << Render(read.problems[0], "body") << "\n" << json;
    ASSERT_EQ(read.spec, job) << json;
  }
}

TEST(ApiJson, PagesAreLosslessAndQuick) {
  Random random(10);
  Page<TaskView> page;
  for (int i = 0; i < 5000; ++i) page.items.push_back(test::RandomTaskView(random));
  page.next = "cursor";
  page.total = 123456;
  auto begin = std::chrono::steady_clock::now();
  Result<Page<TaskView>> read = ViewFromJson<Page<TaskView>>(ViewToJson(page));
  auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->items, page.items);
  EXPECT_EQ(read->next, "cursor");
  EXPECT_EQ(read->total, 123456U);
  EXPECT_LT(took, std::chrono::seconds(20));
}

TEST(ApiJson, LooksAsItIsDescribed) {
  TaskView view;
  view.id = {{12}, 500};
  view.name = "count";
  view.item = "caf\xe9";
  view.state = TaskState::kEnded;
  view.reason = EndReason{EndKind::kFailed, 3, "", false};
  view.retry_at = WallTime{1'700'000'000'123'456};
  nlohmann::json json = nlohmann::json::parse(TaskViewToJson(view));
  EXPECT_EQ(json["id"], "j12.500");
  EXPECT_EQ(json["state"], "ended");
  EXPECT_EQ(json["item"]["base64"], "Y2Fm6Q==");
  EXPECT_EQ(json["reason"]["kind"], "failed");
  EXPECT_EQ(json["reason"]["text"], "failed(3)");
  EXPECT_EQ(json["reason"]["retry_class"], "user");
  EXPECT_EQ(json["retry_at"], "2023-11-14T22:13:20.123456Z");
  EXPECT_FALSE(json.contains("index"));
  EXPECT_FALSE(json.contains("last_attempt"));
}

TEST(ApiJson, SkipsWhatItDoesNotKnowAndNamesWhatIsWrong) {
  EXPECT_TRUE(ServerViewFromJson(R"({"version":"9","future":[1,{"a":null}]})").ok());
  auto message = [](std::string_view json) {
    auto read = ViewFromJson<Page<TaskView>>(json);
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_THAT(message(R"({"items":[{},{"state":"foo"}]})"),
              HasSubstr("items[1].state: 'foo' is not known"));
  EXPECT_THAT(message(R"({"items":[{"last_attempt":{"pid":"x"}}]})"),
              HasSubstr("items[0].last_attempt.pid: a whole number in range is expected"));
  EXPECT_THAT(message(R"({"items":[{"attempts":-1}]})"), HasSubstr("items[0].attempts"));
  EXPECT_THAT(message(R"({"items":{}})"), HasSubstr("items: a list is expected"));
  EXPECT_THAT(message(R"({"items":[{"id":"j1"}]})"), HasSubstr("items[0].id"));
  EXPECT_THAT(message(R"([])"), HasSubstr("an object is expected"));
  EXPECT_THAT(message(""), HasSubstr("this is not JSON"));
  EXPECT_THAT(message("{\"a\":\"\xff\"}"), HasSubstr("this is not JSON"));
  EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("nested deeper than 64 levels"));
}

TEST(ApiJson, SurvivesAnyDamage) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::string json = ViewToJson(test::RandomTaskDetail(random));
    std::string job = JobSpecToJson(test::RandomJobSpec(random));
    for (int k = 0; k < 10; ++k) {
      std::string damaged = json;
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      (void)ViewFromJson<TaskDetail>(damaged);
      EXPECT_FALSE(ViewFromJson<TaskDetail>(json.substr(0, random.Below(json.size()))).ok());
      damaged = job;
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      (void)JobSpecFromJson(damaged);
      EXPECT_FALSE(JobSpecFromJson(job.substr(0, random.Below(job.size()))).problems.empty());
    }
  }
}

std::vector<std::string> ProblemsOf(std::string_view json) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : JobSpecFromJson(json).problems) {
    lines.push_back(Render(problem, ""));
  }
  return lines;
}

TEST(ApiJson, RefusesJobsThatWouldNeedTheClientsFiles) {
  EXPECT_THAT(ProblemsOf(R"({"cwd":"/","tasks":[{"command":"a","each":"/etc/*"}]})"),
              ElementsAre("tasks[0].each: patterns are expanded by the client; send items: [...]"));
  EXPECT_THAT(ProblemsOf(R"({"cwd":"/","tasks":[{"command":"a","lines":"/etc/passwd"}]})"),
              ElementsAre("tasks[0].lines: files are read by the client; send items: [...]"));
  EXPECT_THAT(ProblemsOf(R"({"tasks":[{"command":"a"}]})"),
              ElementsAre(HasSubstr("cwd: the folder of submit is missing or not absolute")));
  EXPECT_THAT(ProblemsOf(R"({"cwd":"/","tasks":[{"command":"a","inputs":["/not/there"]}]})"),
              ElementsAre());
}

TEST(ApiJson, GivesAllProblemsOfAJobAtOnce) {
  EXPECT_THAT(ProblemsOf(R"({"cwd":"/","nam":"x","tasks":[{"comand":"a"},
                            {"name":"b","command":"b","needs":["c"],"memory":"1GB"}]})"),
              ElementsAre("nam: unknown key; did you mean 'name'?",
                          "tasks[0].comand: unknown key; did you mean 'command'?",
                          HasSubstr("tasks[0].command: the task has no command"),
                          HasSubstr("tasks[1].memory: '1GB' is not a size"),
                          HasSubstr("tasks[1].needs[0]: no task is called 'c'")));
}

TEST(ApiJson, TakesAMillionItems) {
  std::string json = R"({"cwd":"/","tasks":[{"command":"a","items":[)";
  for (int i = 0; i < 300'000; ++i) json += fmt::format("{}\"item{}\"", i == 0 ? "" : ",", i);
  json += "]}]}";
  ParsedJob job = JobSpecFromJson(json);
  EXPECT_TRUE(job.problems.empty());
  EXPECT_EQ(job.spec.tasks[0].count(), 300'000U);
}

TEST(Base64, IsLosslessAndStrict) {
  Random random(12);
  for (size_t size = 0; size < 70; ++size) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(random.Below(256));
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
  }
  EXPECT_EQ(ToBase64("Man"), "TWFu");
  EXPECT_EQ(ToBase64("Ma"), "TWE=");
  EXPECT_EQ(ToBase64("M"), "TQ==");
  for (const char* bad : {"T", "TQ", "TQ=", "TQ==TQ==", "TR==", "TWF=", "T===", "====", "TW u"}) {
    EXPECT_EQ(FromBase64(bad), std::nullopt) << bad;
  }
}

TEST(IdText, TakesExactlyWhatRenderGives) {
  EXPECT_EQ(*ParseJobId("j12"), JobId{12});
  EXPECT_EQ(*ParseTaskId("j12.500"), (TaskId{{12}, 500}));
  EXPECT_EQ(*ParseAttemptId("j12.500#2"), (AttemptId{{{12}, 500}, 2}));
  EXPECT_EQ(*ParseExecutorId("x3"), ExecutorId{3});
  EXPECT_EQ(*ParseLaunchId("l18446744073709551615"), LaunchId{UINT64_MAX});
  for (const char* bad : {"", "j", "12", "j-1", "j+1", "j012", "j1 ", " j1", "J1", "j1.2", "x1",
                          "j18446744073709551616"}) {
    EXPECT_FALSE(ParseJobId(bad).ok()) << bad;
  }
  for (const char* bad : {"j1", "j1.", "j1.4294967296", "j1.2#1", "j1.2.3"}) {
    EXPECT_FALSE(ParseTaskId(bad).ok()) << bad;
  }
}

TEST(Rfc3339, IsLosslessForEveryTime) {
  Random random(13);
  for (int i = 0; i < 20'000; ++i) {
    WallTime time{static_cast<int64_t>(random.Next())};
    if (i % 2 == 0) time.us %= 260'000'000'000'000'000;
    ASSERT_EQ(*ParseRfc3339(RenderRfc3339(time)), time) << RenderRfc3339(time);
  }
  for (int64_t us : {INT64_MIN, INT64_MAX, int64_t{0}, int64_t{-1},
                     int64_t{-62'167'219'200'000'000}, int64_t{-62'167'219'200'000'001},
                     int64_t{253'402'300'799'999'999}, int64_t{253'402'300'800'000'000}}) {
    EXPECT_EQ(*ParseRfc3339(RenderRfc3339({us})), WallTime{us}) << RenderRfc3339({us});
  }
  EXPECT_EQ(RenderRfc3339({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(RenderRfc3339({-1}), "1969-12-31T23:59:59.999999Z");
}

TEST(Rfc3339, TakesOtherFormsAndRefusesTheRest) {
  EXPECT_EQ(ParseRfc3339("2023-11-14T23:13:20+01:00")->us, 1'700'000'000'000'000);
  EXPECT_EQ(ParseRfc3339("2023-11-14t22:13:20.5z")->us, 1'700'000'000'500'000);
  for (const char* bad :
       {"", "2023-11-14", "2023-11-31T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T00:00:00",
        "2023-11-14T00:00:00.Z", "2023-11-14T00:00:00Zx", "2023-11-14T00:00:00+1:00", "e", "e1x"}) {
    EXPECT_FALSE(ParseRfc3339(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace muster
