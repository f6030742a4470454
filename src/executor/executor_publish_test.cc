// What becomes of {out}.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "executor/executor_machine.h"
#include "executor/machine_driver.h"
#include "wire/executor.pb.h"

namespace muster::executor {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

TEST(ExecutorPublish, PublishesAfterTheAckAndSaysSoAgain) {
  Driver d;
  d.Connect();
  d.RunWithOut({1});
  d.End(1);
  d.Take();
  d.Ack(1);
  EXPECT_THAT(d.Actions<PublishOutput>(), IsEmpty());
  EXPECT_EQ(d.machine.attempts().unpublished(), 1u);
  for (int round = 0; round < 2; ++round) {
    d.Publish(1);
    auto orders = d.Actions<PublishOutput>();
    ASSERT_EQ(orders.size(), round == 0 ? 1u : 0u);
    if (round == 0) d.machine.OnPublished(Driver::Id(1), 1, d.now);
    EXPECT_EQ(d.Take()->published_size(), 1);
  }
  EXPECT_EQ(d.machine.attempts().unpublished(), 0u);
}

TEST(ExecutorPublish, KeepsTheOutputWhenPublishingFailed) {
  Driver d;
  d.Connect();
  d.RunWithOut({1});
  d.End(1);
  d.Take();
  d.Ack(1);
  d.Publish(1);
  d.Actions<PublishOutput>();
  d.machine.OnPublishFailed(Driver::Id(1), 1, EACCES, "rename a to b", d.now);
  auto report = d.Take();
  ASSERT_EQ(report->publish_failed_size(), 1);
  EXPECT_EQ(report->publish_failed(0).error_number(), EACCES);
  d.Publish(1);
  EXPECT_EQ(d.Actions<PublishOutput>().size(), 1u);
}

TEST(ExecutorPublish, PublishesForAnExecutorThatIsGoneWhatItFinds) {
  Driver d;
  d.Connect();
  auto message = d.Message();
  Driver::AddTemplate(message, 1);
  Driver::AddTemplate(message, 2).set_out_dir("out/t");
  for (uint32_t task : {8, 9}) Driver::Name(*message.add_publishes(), task, 3);
  d.Send(message);
  auto orders = d.Actions<PublishFound>();
  ASSERT_EQ(orders.size(), 2u);
  ASSERT_EQ(orders[0].candidates.size(), 1u);
  EXPECT_EQ(orders[0].candidates[0]->out_dir, "out/t");
  d.machine.OnPublished(Driver::Id(8), 3, d.now);
  d.machine.OnPublishFailed(Driver::Id(9), 3, ESTALE, "find", d.now);
  auto report = d.Take();
  ASSERT_EQ(report->published_size(), 1);
  EXPECT_EQ(report->published(0).send(), 3u);
  EXPECT_EQ(report->publish_failed_size(), 1);
  d.Publish(8);
  EXPECT_THAT(d.Actions<PublishFound>(), IsEmpty());
  EXPECT_EQ(d.Take()->published_size(), 1);
}

TEST(ExecutorPublish, RemovesUnpublishedOutputWhenItsJobIsOver) {
  Driver d;
  d.Connect();
  d.RunWithOut({1});
  d.End(1);
  d.Take();
  d.Ack(1);
  auto message = d.Message();
  message.add_forget_templates(2);
  d.Send(message);
  EXPECT_EQ(d.Actions<DiscardOutput>().size(), 1u);
  EXPECT_EQ(d.machine.attempts().unpublished(), 0u);
}

TEST(ExecutorPublish, RemovesTheOutputOfFailedAndOfSupersededAttempts) {
  Driver d;
  d.Connect();
  d.RunWithOut({1, 2});
  d.End(1, 3);
  auto discarded = d.Actions<DiscardOutput>();
  ASSERT_EQ(discarded.size(), 1u);
  EXPECT_EQ(discarded[0].attempt, Driver::Id(1));
  d.End(2);
  d.Ack(2);
  EXPECT_THAT(d.Actions<DiscardOutput>(), IsEmpty());
  d.Stop(2, seconds(1));
  EXPECT_EQ(d.Actions<DiscardOutput>().size(), 1u);
  EXPECT_EQ(d.machine.attempts().unpublished(), 0u);
}

}  // namespace
}  // namespace muster::executor
