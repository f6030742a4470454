#include "wire/spec_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/random.h"
#include "wire/random_values.h"
#include "wire/spec.pb.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(SpecCodec, IsLossless) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    JobSpec job = test::RandomJobSpec(random);
    Result<JobSpec> decoded = DecodeJobSpec(EncodeJobSpec(job));
    ASSERT_TRUE(decoded.ok()) << decoded.error();
    ASSERT_EQ(*decoded, job) << "round " << round;
  }
}

TEST(SpecCodec, KeepsAnEmptyJobAndDefaultsApartFromZeros) {
  JobSpec job;
  EXPECT_EQ(*DecodeJobSpec(EncodeJobSpec(job)), job);
  TaskSpec zeros;
  zeros.request.cpus = MilliCpu{0};
  zeros.retries = {0, 0, 0};
  zeros.grace = Duration(0);
  zeros.memory_limit = Bytes{0};
  zeros.time_limit = Duration(0);
  zeros.each = ItemList();
  zeros.command = ExecCommand{};
  job.tasks = {zeros, TaskSpec()};
  EXPECT_EQ(*DecodeJobSpec(EncodeJobSpec(job)), job);
}

TEST(SpecCodec, SurvivesAnyDamage) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = EncodeJobSpec(test::RandomJobSpec(random));
    for (int k = 0; k < 20; ++k) {
      std::string damaged = bytes.substr(0, random.Below(bytes.size() + 1));
      EXPECT_TRUE(damaged.size() == bytes.size() || !DecodeJobSpec(damaged).ok());
      damaged = bytes;
      for (uint64_t n = random.Below(4); n < 4; ++n) {
        damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      }
      Result<JobSpec> decoded = DecodeJobSpec(damaged);
      // What is read must be fit for the check, whatever it says.
      if (decoded.ok()) (void)CheckJobSpec(*decoded);
    }
    std::string noise;
    for (uint64_t n = random.Below(200); n > 0; --n) noise += static_cast<char>(random.Below(256));
    EXPECT_FALSE(DecodeJobSpec(noise).ok());
    EXPECT_FALSE(DecodeJobSpec(bytes + "x").ok());
  }
}

std::string WithHead(const spec::v1::JobSpec& head, const spec::v1::TaskSpec* task = nullptr) {
  std::string bytes = "MJ\x01";
  std::string text = head.SerializeAsString();
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(text.size() >> shift);
  bytes += text;
  if (task == nullptr) return bytes;
  std::string one = task->SerializeAsString();
  return bytes + static_cast<char>(one.size()) + one;
}

TEST(SpecCodec, SkipsFieldsOfNewerWritersButNotThoseThatMatter) {
  spec::v1::JobSpec head;
  head.set_name("n");
  head.GetReflection()->MutableUnknownFields(&head)->AddVarint(1000, 7);
  Result<JobSpec> job = DecodeJobSpec(WithHead(head));
  ASSERT_TRUE(job.ok()) << job.error();
  EXPECT_EQ(job->name, "n");
  head.set_must_understand(1);
  job = DecodeJobSpec(WithHead(head));
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(job.error().message, HasSubstr("newer version"));
  std::string other_format = EncodeJobSpec(JobSpec());
  other_format[2] = 9;
  EXPECT_THAT(DecodeJobSpec(other_format).error().message, HasSubstr("format 9 is not known"));
}

TEST(SpecCodec, RefusesCountsThatTheBytesCannotHold) {
  spec::v1::JobSpec head;
  head.set_task_count(UINT64_MAX);
  EXPECT_FALSE(DecodeJobSpec(WithHead(head)).ok());
  head.set_task_count(1);
  spec::v1::TaskSpec task;
  task.mutable_items()->set_count(UINT64_MAX);
  EXPECT_FALSE(DecodeJobSpec(WithHead(head, &task)).ok());
  task.mutable_items()->set_count(0);
  task.mutable_items()->set_bytes(UINT64_MAX);
  EXPECT_FALSE(DecodeJobSpec(WithHead(head, &task)).ok());
}

TEST(SpecCodec, RefusesRangesThatCannotBeCounted) {
  for (auto [first, last, step] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 5, 0}, {1, 5, -1}, {INT64_MIN, INT64_MAX, 1}}) {
    spec::v1::JobSpec head;
    head.set_task_count(1);
    spec::v1::TaskSpec task;
    auto* range = task.mutable_range();
    range->set_first(first);
    range->set_last(last);
    range->set_step(step);
    EXPECT_FALSE(DecodeJobSpec(WithHead(head, &task)).ok());
  }
}

TEST(SpecCodec, CarriesAMillionItemsCompactly) {
  JobSpec job;
  ItemList items;
  for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(items.Add(fmt::format("item-{}", i)));
  items.ShrinkToFit();
  job.tasks.emplace_back().each = std::move(items);
  auto begin = std::chrono::steady_clock::now();
  std::string bytes = EncodeJobSpec(job);
  Result<JobSpec> decoded = DecodeJobSpec(bytes);
  auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, job);
  EXPECT_LT(bytes.size(), 10'888'890 + 1'000'000 + 1000);
  EXPECT_LT(took, std::chrono::seconds(10));
}

}  // namespace
}  // namespace muster
