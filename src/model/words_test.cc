#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "model/end_reason.h"
#include "model/view.h"

namespace muster {
namespace {

// Each value has a word of its own, the word gives the value back, and other words give nothing.
template <typename E, typename Parse>
void ExpectWords(E last, Parse&& parse) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    auto value = static_cast<E>(i);
    std::string_view word = ToString(value);
    EXPECT_FALSE(word.empty());
    EXPECT_TRUE(seen.insert(word).second) << word;
    EXPECT_EQ(parse(word), value) << word;
  }
  EXPECT_EQ(parse("no such word"), std::nullopt);
  EXPECT_EQ(parse(""), std::nullopt);
}

TEST(Words, GoBothWays) {
  ExpectWords(EndKind::kUnknown, ParseEndKind);
  ExpectWords(TaskState::kEnded, ParseTaskState);
  ExpectWords(AttemptState::kEnded, ParseAttemptState);
  ExpectWords(LaunchState::kEnded, ParseLaunchState);
  ExpectWords(ExecutorState::kGone, ParseExecutorState);
  ExpectWords(WhyCause::kEnded, ParseWhyCause);
}

TEST(EndReason, ReadsAsAWordWithItsFigure) {
  EXPECT_EQ(Render(EndReason{EndKind::kOk, 0, "", false}), "ok");
  EXPECT_EQ(Render(EndReason{EndKind::kFailed, 3, "", false}), "failed(3)");
  EXPECT_EQ(Render(EndReason{EndKind::kSignal, 9, "", false}), "signal(9)");
  EXPECT_EQ(Render(EndReason{EndKind::kStartFailed, ENOENT, "exec /bin/foo", false}),
            "start-failed(exec /bin/foo: No such file or directory)");
  EXPECT_EQ(Render(EndReason{EndKind::kCancelled, 0, "", false}), "cancelled");
  EXPECT_EQ(Render(EndReason{EndKind::kCancelled, 0, "", true}), "cancelled (unconfirmed)");
  EXPECT_EQ(Render(EndReason{EndKind::kDependency, 0, "count", false}), "dependency(count)");
  EXPECT_EQ(Render(EndReason{EndKind::kOomChild, 0, "", false}), "oom-child");
}

TEST(EndReason, HasTheClassWhoseBudgetPays) {
  auto class_of = [](EndKind kind, int number = 0) {
    return ToString(RetryClassOf(EndReason{kind, number, "", false}));
  };
  for (EndKind kind : {EndKind::kFailed, EndKind::kSignal, EndKind::kTimeout, EndKind::kOomChild}) {
    EXPECT_EQ(class_of(kind), "user") << ToString(kind);
  }
  EXPECT_EQ(class_of(EndKind::kOom), "oom");
  for (EndKind kind : {EndKind::kEvicted, EndKind::kPreempted, EndKind::kNodeLost,
                       EndKind::kExecutorLost, EndKind::kDiskFull, EndKind::kUnknown}) {
    EXPECT_EQ(class_of(kind), "infrastructure") << ToString(kind);
  }
  for (EndKind kind : {EndKind::kOk, EndKind::kCancelled, EndKind::kInfeasible,
                       EndKind::kDependency, EndKind::kRejected}) {
    EXPECT_EQ(class_of(kind), "none") << ToString(kind);
  }
  EXPECT_EQ(class_of(EndKind::kImage), "image");
}

TEST(EndReason, RetriesAStartThatFailedForAPassingCauseOnly) {
  auto class_of = [](int error_number) {
    return RetryClassOf(EndReason{EndKind::kStartFailed, error_number, "exec x", false});
  };
  for (int passing : {EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, EIO, ESTALE}) {
    EXPECT_EQ(class_of(passing), RetryClass::kInfrastructure) << passing;
  }
  for (int lasting : {ENOENT, EACCES, ENOEXEC, E2BIG, ENOTDIR, ELOOP}) {
    EXPECT_EQ(class_of(lasting), RetryClass::kNone) << lasting;
  }
}

TEST(TaskCounts, AddUp) {
  TaskCounts counts;
  counts.waiting = 1;
  counts.ready = 2;
  counts.held = 3;
  counts.active = 4;
  counts.running = 2;
  counts.ended[static_cast<size_t>(EndKind::kOk)] = 10;
  counts.ended[static_cast<size_t>(EndKind::kCancelled)] = 5;
  counts.ended[static_cast<size_t>(EndKind::kFailed)] = 6;
  counts.ended[static_cast<size_t>(EndKind::kUnknown)] = 7;
  EXPECT_EQ(counts.total(), 38U);
  EXPECT_EQ(counts.ok(), 10U);
  EXPECT_EQ(counts.cancelled(), 5U);
  EXPECT_EQ(counts.failed(), 13U);
}

}  // namespace
}  // namespace muster
