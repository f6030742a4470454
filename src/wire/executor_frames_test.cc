#include "wire/executor_frames.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "wire/random_values.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

constexpr AttemptId kAttempt{{{12}, 500}, 2};

TEST(ExecutorFrames, KeepEveryExitFact) {
  Random random(21);
  for (int round = 0; round < 300; ++round) {
    ExitFacts facts = test::RandomExitFacts(random);
    for (Duration* time : {&facts.wall, &facts.user_cpu, &facts.system_cpu}) {
      *time = Duration(random.Below(1ULL << 50));
    }
    pb::Ended ended;
    ToEnded(kAttempt, 3, facts, 77, &ended);
    Result<ExitFacts> read = FromEnded(ended);
    ASSERT_TRUE(read.ok()) << read.error();
    EXPECT_EQ(*read, facts);
    EXPECT_EQ(*FromRef(ended.attempt()), (AttemptSend{kAttempt, 3}));
    EXPECT_EQ(ended.pid(), 77);
  }
}

TEST(ExecutorFrames, RefuseWhatCannotBe) {
  pb::Ended ended;
  ended.set_how(static_cast<pb::Ended::How>(9));
  EXPECT_THAT(FromEnded(ended).error().message, HasSubstr("kind 9 is not known"));
  ended.set_how(pb::Ended::EXITED);
  ended.set_stop_cause(static_cast<pb::Ended::Cause>(9));
  EXPECT_FALSE(FromEnded(ended).ok());
  ended.set_stop_cause(pb::Ended::NONE);
  ended.set_wall_us(-1);
  EXPECT_FALSE(FromEnded(ended).ok());
  EXPECT_FALSE(FromRef(pb::AttemptRef()).ok());
}

TEST(ExecutorFrames, KeepCapacityAndCommand) {
  Resources size{MilliCpu{2500}, GiB(3), 1, {{"a", 1}, {"b", 2}}};
  pb::Capacity capacity;
  ToCapacity(size, 7, &capacity);
  ToCapacity(size, 7, &capacity);
  EXPECT_EQ(FromCapacity(capacity), size);
  EXPECT_EQ(capacity.max_attempts(), 7U);
  pb::Template shared;
  for (const Command& command :
       {Command(ShellCommand{"a b"}), Command(ExecCommand{{"a", ""}}), Command(ExecCommand{})}) {
    ToTemplateCommand(command, &shared);
    EXPECT_EQ(*FromTemplateCommand(shared), command);
  }
  EXPECT_FALSE(FromTemplateCommand(pb::Template()).ok());
}

TEST(FrameParser, GivesEachMessageWithoutTracesOfTheLast) {
  FrameParser<pb::FromExecutor> parser;
  for (int n : {5, 0, 20'000, 2}) {
    pb::FromExecutor frame;
    for (int i = 0; i < n; ++i) ToRef(kAttempt, 3, frame.add_dropped());
    std::string bytes;
    ASSERT_TRUE(AppendFrame(frame, bytes).ok());
    Result<const pb::FromExecutor*> parsed = parser.Parse(bytes);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ((*parsed)->dropped_size(), n);
  }
}

TEST(FrameParser, RefusesNoiseAndGoesOn) {
  Random random(22);
  FrameParser<pb::FromController> parser;
  pb::FromController good;
  good.set_epoch(4);
  for (int round = 0; round < 2000; ++round) {
    std::string noise;
    for (uint64_t n = random.Below(60); n > 0; --n) noise += static_cast<char>(random.Below(256));
    (void)parser.Parse(noise);
    Result<const pb::FromController*> parsed = parser.Parse(good.SerializeAsString());
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ((*parsed)->epoch(), 4U);
  }
  EXPECT_FALSE(parser.Parse("\xff\xff\xff").ok());
}

TEST(ExecutorFrames, AreBounded) {
  FrameParser<pb::FromController> parser;
  std::string large(kMaxFrameBytes + 1, '\0');
  EXPECT_THAT(parser.Parse(large).error().message, HasSubstr("the limit is"));
  pb::FromController frame;
  frame.add_runs()->set_item(large);
  std::string out;
  Status status = AppendFrame(frame, out);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(out.empty());
}

TEST(ExecutorFrames, CarryItemsThatAreNotUtf8) {
  using google::protobuf::FieldDescriptor;
  const FieldDescriptor* item = pb::Run::descriptor()->FindFieldByName("item");
  if (item->type() != FieldDescriptor::TYPE_BYTES) {
    GTEST_SKIP() << "Run.item is a string in executor.proto; file names need bytes";
  }
  pb::FromController frame;
  frame.add_runs()->set_item("caf\xe9");
  std::string bytes;
  ASSERT_TRUE(AppendFrame(frame, bytes).ok());
  FrameParser<pb::FromController> parser;
  Result<const pb::FromController*> parsed = parser.Parse(bytes);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)->runs(0).item(), "caf\xe9");
}

}  // namespace
}  // namespace muster
