#include "store/system_disk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "store/background.h"
#include "store/folder.h"
#include "store/record.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace muster::store {
namespace {

TEST(SystemDisk, WritesPiecesOneAfterAnother) {
  test::TempDir dir;
  auto file = SystemDisk().Create(dir / "a");
  ASSERT_TRUE(file.ok()) << file.error();
  std::vector<std::string> texts;
  std::string all;
  for (int i = 0; i < 40; ++i) all += texts.emplace_back(fmt::format("{}-", i));
  std::vector<std::string_view> pieces(texts.begin(), texts.end());
  pieces.insert(pieces.begin() + 3, "");
  ASSERT_TRUE((*file)->WriteAt(0, pieces).ok());
  std::array<std::string_view, 1> piece{"X"};
  ASSERT_TRUE((*file)->WriteAt(1, piece).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  all[1] = 'X';
  EXPECT_EQ(*SystemDisk().Read(dir / "a", kWholeFile), all);
  EXPECT_EQ(*SystemDisk().Read(dir / "a", Bytes{3}), all.substr(0, 3));
  EXPECT_EQ(SystemDisk().Create(dir / "a").error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(SystemDisk().Open(dir / "b").error().code, ErrorCode::kNotFound);
}

TEST(SystemDisk, ReservesSpaceThatReadsAsZeros) {
  test::TempDir dir;
  auto file = SystemDisk().Create(dir / "a");
  ASSERT_TRUE((*file)->Reserve(KiB(64)).ok());
  EXPECT_EQ(*SystemDisk().Read(dir / "a", kWholeFile), std::string(65536, '\0'));
  struct stat facts{};
  ASSERT_EQ(::stat((dir / "a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  EXPECT_GE(facts.st_blocks * 512, 65536);
}

TEST(SystemDisk, MakesFoldersAboveToo) {
  test::TempDir dir;
  ASSERT_TRUE(SystemDisk().MakeFolder(dir / "a/b/c").ok());
  ASSERT_TRUE(SystemDisk().MakeFolder(dir / "a/b/c").ok());
  struct stat facts{};
  ASSERT_EQ(::stat((dir / "a/b/c").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  ASSERT_TRUE(SystemDisk().Create(dir / "file").ok());
  EXPECT_FALSE(SystemDisk().MakeFolder(dir / "file").ok());
  EXPECT_FALSE(SystemDisk().MakeFolder(dir / "file/x").ok());
}

TEST(Record, HeaderComesBack) {
  FileHeader header{FileKind::kSnapshot, 1, 5, 77, 3, "01234567-89ab-4cde-8f01-23456789abcd"};
  auto bytes = RenderHeader(header);
  std::string_view text(bytes.data(), bytes.size());
  EXPECT_EQ(*ParseHeader(text), header);
  EXPECT_EQ(ParseHeader(text.substr(1)).error().code, ErrorCode::kDataLoss);
  bytes[30] ^= 1;
  EXPECT_EQ(ParseHeader(text).error().code, ErrorCode::kDataLoss);
  header.version = 2;
  bytes = RenderHeader(header);
  EXPECT_EQ(ParseHeader(text).error().code, ErrorCode::kUnimplemented);
}

TEST(Record, AFileQuotedInAPayloadIsNotTakenForRecords) {
  auto file_with = [](std::string_view payload, uint64_t position, uint64_t salt) {
    std::string file(kFileHeaderSize, '\0');
    auto header = RenderRecordHeader({position, 0, 1, payload}, salt);
    file.append(header.data(), header.size()).append(payload).append(RecordPadding(payload.size()));
    return file;
  };
  std::string inner = file_with("payload", 1, 42);
  std::string outer = file_with(inner, 1, 43);
  outer[kFileHeaderSize + 20] ^= 1;  // torn
  RecordReader reader(outer, 43);
  EXPECT_FALSE(reader.Next().has_value());
  EXPECT_FALSE(reader.Search().has_value());
  RecordReader same_salt(outer, 42);
  EXPECT_TRUE(same_salt.Search().has_value());
}

TEST(Folder, IgnoresFilesThatAreNotOurs) {
  test::TempDir dir;
  for (const char* name :
       {"notes.txt", "journal-1.seg", "journal-0000000000000000000x.seg", "archive.sqlite"}) {
    ASSERT_TRUE(SystemDisk().Create(dir / name).ok());
  }
  ASSERT_TRUE(SystemDisk().Create(dir / SegmentName(5)).ok());
  ASSERT_TRUE(SystemDisk().Create(dir / SpareName(2)).ok());
  auto content = ListFolder(SystemDisk(), dir.path());
  EXPECT_EQ(content->segments, std::vector<uint64_t>{5});
  EXPECT_EQ(content->leftovers, std::vector<std::string>{"spare-2.seg"});
}

class PostedLoop final : public Loop {
 public:
  void Post(std::function<void()> work) override {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  TimerId RunAfter(Duration, std::function<void()>) override { return 0; }
  void CancelTimer(TimerId) override {}
  void WatchFd(int, std::function<void()>) override {}
  void UnwatchFd(int) override {}
  Now ReadClock() const override { return SystemClock().Read(); }
  void Run() {
    std::vector<std::function<void()>> taken;
    {
      std::lock_guard lock(mutex_);
      taken.swap(posted_);
    }
    for (auto& work : taken) work();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

TEST(ThreadBackground, AnswersInOrderOnTheLoopAndNotAfterItsEnd) {
  PostedLoop loop;
  std::vector<int> answers;
  auto background = std::make_unique<ThreadBackground>(loop, "test");
  for (int i = 0; i < 5; ++i) {
    background->Start([] { return Status::Ok(); },
                      [&answers, i](const Status&) { answers.push_back(i); });
  }
  EXPECT_TRUE(test::Eventually([&] { return loop.Run(), answers.size() == 5; }));
  EXPECT_EQ(answers, (std::vector<int>{0, 1, 2, 3, 4}));
  std::atomic<bool> worked{false};
  background->Start(
      [&] {
        worked = true;
        return Status::Ok();
      },
      [&answers](const Status&) { answers.push_back(9); });
  EXPECT_TRUE(test::Eventually([&] { return worked.load(); }));
  background.reset();
  loop.Run();
  EXPECT_EQ(answers.size(), 5U);
}

}  // namespace
}  // namespace muster::store
