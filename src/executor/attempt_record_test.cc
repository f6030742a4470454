#include "executor/attempt_record.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace muster::executor {
namespace {

AttemptId Id(uint32_t task, uint32_t n = 1) { return {{{12}, task}, n}; }

RecordedAttempt SomeEnd(uint32_t task) {
  RecordedAttempt attempt;
  attempt.id = Id(task);
  attempt.send = 3;
  attempt.started = {1'700'000'000'000'001};
  attempt.ended = true;
  attempt.pid = 4711;
  attempt.facts = {ExitFacts::How::kNotStarted,
                   2,
                   "exec /bin/foo",
                   StopCause::kTimeLimit,
                   attempt.started,
                   Duration(5),
                   Duration(6),
                   Duration(7),
                   {8},
                   9,
                   10,
                   11};
  return attempt;
}

class AttemptRecordTest : public testing::Test {
 protected:
  std::string path() const { return dir_ / "attempts"; }
  AttemptRecord Open() {
    auto record = AttemptRecord::Open(path());
    EXPECT_TRUE(record.ok());
    return std::move(record).value();
  }
  std::vector<RecordedAttempt> Read() {
    auto all = ReadAttemptRecord(path());
    EXPECT_TRUE(all.ok());
    return all.ok() ? *all : std::vector<RecordedAttempt>();
  }
  test::TempDir dir_;
};

TEST_F(AttemptRecordTest, TellsWhatRanAndHowItEnded) {
  AttemptRecord record = Open();
  record.AddStart(Id(1), 1, {100});
  record.AddStart(Id(2), 3, {200});
  EXPECT_TRUE(Read().empty());
  ASSERT_TRUE(record.Write().ok());
  record.AddEnd(SomeEnd(2));
  ASSERT_TRUE(record.Write().ok());
  auto all = Read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, Id(1));
  EXPECT_FALSE(all[0].ended);
  EXPECT_EQ(all[0].started, WallTime{100});
  EXPECT_TRUE(all[1].ended);
  EXPECT_EQ(all[1].send, 3u);
  EXPECT_EQ(all[1].pid, 4711);
  EXPECT_EQ(all[1].facts, SomeEnd(2).facts);
}

TEST_F(AttemptRecordTest, ReadsUpToATornOrDamagedTail) {
  AttemptRecord record = Open();
  for (uint32_t task = 1; task <= 3; ++task) record.AddEnd(SomeEnd(task));
  ASSERT_TRUE(record.Write().ok());
  uint64_t whole = std::filesystem::file_size(path());
  for (uint64_t size = whole - 1; size >= 8; --size) {
    ASSERT_EQ(::truncate(path().c_str(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(Read().size(), size < 8 + (whole - 8) / 3       ? 0u
                             : size < 8 + (whole - 8) * 2 / 3 ? 1u
                                                              : 2u);
  }
  EXPECT_EQ(ReadAttemptRecord(dir_ / "none").error().code, ErrorCode::kNotFound);
  std::ofstream(dir_ / "other") << "something else";
  EXPECT_EQ(ReadAttemptRecord(dir_ / "other").error().code, ErrorCode::kDataLoss);
}

TEST_F(AttemptRecordTest, ShrinksToWhatIsLive) {
  AttemptRecord record = Open();
  for (uint32_t task = 1; task <= 1000; ++task) {
    record.AddStart(Id(task), 1, {1});
    record.AddEnd(SomeEnd(task));
  }
  ASSERT_TRUE(record.Write().ok());
  RecordedAttempt running;
  running.id = Id(7, 2);
  ASSERT_TRUE(record.Rewrite({SomeEnd(5), running}).ok());
  record.AddStart(Id(2000), 1, {1});
  ASSERT_TRUE(record.Write().ok());
  auto all = Read();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].facts, SomeEnd(5).facts);
  EXPECT_FALSE(all[1].ended);
  EXPECT_EQ(all[2].id, Id(2000));
  EXPECT_EQ(record.size(), std::filesystem::file_size(path()));
}

TEST_F(AttemptRecordTest, LosesNothingWhenTheDiskIsFullForAWhile) {
  AttemptRecord record = Open();
  record.AddStart(Id(1), 1, {1});
  ASSERT_TRUE(record.Write().ok());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit tight{record.size() + 10, before.rlim_max};
  auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &tight);
  record.AddEnd(SomeEnd(1));
  EXPECT_FALSE(record.Write().ok());
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(Read().size(), 1u);
  record.AddStart(Id(2), 1, {1});
  EXPECT_TRUE(record.Write().ok());
  auto all = Read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].ended);
}

}  // namespace
}  // namespace muster::executor
