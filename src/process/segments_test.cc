#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "process/segment_reader.h"
#include "process/segment_writer.h"
#include "support/eventually.h"
#include "support/manual_clock.h"
#include "support/temp_dir.h"

namespace muster {
namespace {

using Next = SegmentReader::Next;
using enum OutputStream;

AttemptId Attempt(uint32_t task, uint32_t n = 1) { return {{{12}, task}, n}; }

class Segments : public ::testing::Test {
 protected:
  SegmentWriter OpenWriter(SegmentWriter::Limits limits = {}) {
    auto writer = SegmentWriter::Open(folder, limits, clock);
    EXPECT_TRUE(writer.ok());
    return std::move(*writer);
  }
  SegmentReader OpenReader() {
    auto reader = SegmentReader::Open(folder);
    EXPECT_TRUE(reader.ok() && reader->Refresh().ok());
    return std::move(*reader);
  }
  static SegmentReader::Chunk Read(SegmentReader& reader, AttemptId attempt,
                                   std::optional<OutputStream> stream = std::nullopt,
                                   uint64_t offset = 0, size_t max = 1 << 30) {
    auto chunk = reader.Read(attempt, stream, offset, max);
    EXPECT_TRUE(chunk.ok());
    return *chunk;
  }
  size_t CountFiles() const {
    auto entries = std::filesystem::directory_iterator(folder);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }

  test::TempDir dir;
  std::string folder = dir / "output/x1";
  test::ManualClock clock;
};

TEST_F(Segments, KeepsBinaryOutputByteForByteAndStreamsApart) {
  SegmentWriter writer = OpenWriter();
  std::string all_bytes;
  for (int c = 0; c < 256; ++c) all_bytes.push_back(static_cast<char>(c));
  writer.Append(Attempt(1), kStdout, all_bytes);
  writer.Append(Attempt(2), kStdout, "other");
  writer.Append(Attempt(1), kStderr, "\xff\xfe");
  writer.Append(Attempt(1), kStdout, std::string("\0no newline", 11));
  writer.Append(Attempt(1), kExecutor, "killed: time limit 2s");
  EXPECT_EQ(writer.Finish(Attempt(1)), 0U);
  ASSERT_TRUE(writer.Flush().ok());

  SegmentReader reader = OpenReader();
  EXPECT_EQ(Read(reader, Attempt(1), kStdout).bytes, all_bytes + std::string("\0no newline", 11));
  EXPECT_EQ(Read(reader, Attempt(1), kStderr).bytes, "\xff\xfe");
  EXPECT_EQ(Read(reader, Attempt(1), kExecutor).bytes, "killed: time limit 2s");
  auto all = Read(reader, Attempt(1));
  EXPECT_EQ(all.bytes,
            all_bytes + "\xff\xfe" + std::string("\0no newline", 11) + "killed: time limit 2s");
  EXPECT_TRUE(all.complete());
  EXPECT_EQ(all.next_offset, all.bytes.size());
  EXPECT_EQ(Read(reader, Attempt(2)).bytes, "other");
  EXPECT_EQ(Read(reader, Attempt(2)).next, Next::kNotYet);
}

TEST_F(Segments, TellsNotYetFromEnd) {
  SegmentReader reader = OpenReader();  // not even the folder is there
  EXPECT_EQ(Read(reader, Attempt(1)).next, Next::kNotYet);
  EXPECT_FALSE(reader.Find(Attempt(1)).has_value());
  SegmentWriter writer = OpenWriter();
  writer.Append(Attempt(1), kStdout, "ab");
  ASSERT_TRUE(writer.Flush().ok());
  ASSERT_TRUE(reader.Refresh().ok());
  EXPECT_EQ(Read(reader, Attempt(1), kStdout, 0, 1).next, Next::kMore);
  EXPECT_EQ(Read(reader, Attempt(1), kStdout, 1, 1).bytes, "b");
  EXPECT_EQ(Read(reader, Attempt(1), kStdout, 1, 1).next, Next::kNotYet);
  EXPECT_EQ(Read(reader, Attempt(1), kStderr).next, Next::kNotYet);
  EXPECT_EQ(Read(reader, Attempt(1), kStdout, 1000).next, Next::kNotYet);
  writer.Finish(Attempt(1));
  writer.Finish(Attempt(2));
  ASSERT_TRUE(writer.Flush().ok());
  ASSERT_TRUE(reader.Refresh().ok());
  EXPECT_EQ(Read(reader, Attempt(1), kStdout, 2).next, Next::kEnd);
  EXPECT_EQ(Read(reader, Attempt(1), kStderr).next, Next::kEnd);
  EXPECT_EQ(Read(reader, Attempt(2)).next, Next::kEnd) << "an attempt without output";
  EXPECT_EQ(Read(reader, Attempt(3)).next, Next::kNotYet);
  EXPECT_EQ(Read(reader, Attempt(1, 2)).next, Next::kNotYet) << "another attempt of the task";
}

TEST_F(Segments, ReadsAnyRangeOfManyInterleavedAttempts) {
  Random random(7);
  std::map<std::pair<uint32_t, OutputStream>, std::string> expected;
  SegmentWriter writer = OpenWriter({.segment = KiB(64)});
  for (int i = 0; i < 3000; ++i) {
    auto task = static_cast<uint32_t>(random.Below(20));
    OutputStream stream = random.Percent(70) ? kStdout : kStderr;
    std::string bytes(random.Below(400), static_cast<char>(random.Below(256)));
    writer.Append(Attempt(task), stream, bytes);
    expected[{task, stream}] += bytes;
    if (random.Percent(5)) {
      ASSERT_TRUE(writer.Flush().ok());
    }
  }
  ASSERT_TRUE(writer.Flush().ok());
  EXPECT_GT(CountFiles(), 10U) << "several segments";
  SegmentReader reader = OpenReader();
  for (const auto& [key, bytes] : expected) {
    std::string whole;
    for (;;) {
      auto chunk = Read(reader, Attempt(key.first), key.second, whole.size(), 777);
      whole += chunk.bytes;
      if (chunk.next == Next::kNotYet) break;
      ASSERT_EQ(chunk.next, Next::kMore);
    }
    EXPECT_EQ(whole, bytes);
    for (int i = 0; i < 20; ++i) {
      size_t from = random.Below(bytes.size() + 1);
      size_t size = 1 + random.Below(2000);
      EXPECT_EQ(Read(reader, Attempt(key.first), key.second, from, size).bytes,
                bytes.substr(from, size));
    }
  }
  std::string in_order = Read(reader, Attempt(3)).bytes;
  for (int i = 0; i < 50; ++i) {
    size_t from = random.Below(in_order.size());
    EXPECT_EQ(Read(reader, Attempt(3), std::nullopt, from, 500).bytes, in_order.substr(from, 500));
  }
}

TEST_F(Segments, HundredThousandSmallOutputsTakeTwoFiles) {
  SegmentWriter writer = OpenWriter();
  auto output = [](uint32_t task) {
    return std::string(90, 'a' + task % 26) + std::to_string(task);
  };
  for (uint32_t task = 1; task <= 100'000; ++task) {
    writer.Append(Attempt(task), kStdout, output(task));
    EXPECT_EQ(writer.Finish(Attempt(task)), 0U);
  }
  ASSERT_TRUE(writer.Flush().ok());
  EXPECT_EQ(CountFiles(), 2U);
  SegmentReader reader = OpenReader();
  Random random(1);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    auto task = static_cast<uint32_t>(1 + random.Below(100'000));
    auto chunk = Read(reader, Attempt(task));
    ASSERT_EQ(chunk.bytes, output(task));
    ASSERT_TRUE(chunk.complete());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << "1 ms each";
}

TEST_F(Segments, AReaderFollowsAnotherProcess) {
  pid_t pid = ::fork();
  if (pid == 0) {
    SegmentWriter writer = OpenWriter({.segment = KiB(10)});
    for (int i = 0; i < 2000; ++i) {
      writer.Append(Attempt(1), kStdout, std::to_string(i) + "\n");
      if (!writer.Flush().ok()) _exit(1);
    }
    writer.Finish(Attempt(1));
    _exit(writer.Flush().ok() ? 0 : 1);
  }
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += std::to_string(i) + "\n";
  SegmentReader reader = OpenReader();
  std::string got;
  bool ended = test::Eventually(
      [&] {
        EXPECT_TRUE(reader.Refresh().ok());
        for (;;) {
          auto chunk = Read(reader, Attempt(1), kStdout, got.size(), 300);
          got += chunk.bytes;
          if (chunk.next != Next::kMore) return chunk.next == Next::kEnd;
        }
      },
      std::chrono::seconds(60), std::chrono::milliseconds(1));
  EXPECT_TRUE(ended);
  EXPECT_EQ(got, expected);
  EXPECT_EQ(reader.damaged_entries(), 0U);
  ::waitpid(pid, nullptr, 0);
}

TEST_F(Segments, ALaterWriterGoesOnInNewFiles) {
  for (uint32_t n = 1; n <= 3; ++n) {
    SegmentWriter writer = OpenWriter();
    writer.Append(Attempt(1, n), kStdout, "try " + std::to_string(n));
    ASSERT_TRUE(writer.Flush().ok());  // no Finish: it crashed
  }
  EXPECT_EQ(CountFiles(), 6U);
  SegmentReader reader = OpenReader();
  for (uint32_t n = 1; n <= 3; ++n) {
    EXPECT_EQ(Read(reader, Attempt(1, n)).bytes, "try " + std::to_string(n));
  }
}

TEST_F(Segments, TornTailsAreSkipped) {
  {
    SegmentWriter writer = OpenWriter();
    for (uint32_t task = 1; task <= 3; ++task) {
      writer.Append(Attempt(task), kStdout, std::string(100, 'x'));
      writer.Finish(Attempt(task));
    }
    ASSERT_TRUE(writer.Flush().ok());
  }
  const std::string index = SegmentIndexPath(folder, 1);
  const std::string data = SegmentDataPath(folder, 1);
  std::filesystem::resize_file(index, 64 * 4 - 20);  // half of the last entry
  std::filesystem::resize_file(data, 150);           // and the second one's bytes did not arrive
  SegmentReader reader = OpenReader();
  EXPECT_EQ(Read(reader, Attempt(1)).bytes.size(), 100U);
  auto second = Read(reader, Attempt(2));
  EXPECT_EQ(second.bytes, "");
  EXPECT_EQ(second.next, Next::kGone);
  EXPECT_EQ(second.next_offset, 100U);
  EXPECT_EQ(Read(reader, Attempt(2), std::nullopt, 100).next, Next::kEnd);
  EXPECT_EQ(Read(reader, Attempt(3)).next, Next::kNotYet);
}

TEST_F(Segments, DamagedEntriesAndBytesAreNotedNotReturned) {
  {
    SegmentWriter writer = OpenWriter();
    for (int i = 0; i < 4; ++i) {
      writer.Append(Attempt(1), kStdout, std::string(10, static_cast<char>('0' + i)));
      ASSERT_TRUE(writer.Flush().ok());
    }
  }
  auto damage = [](const std::string& path, int64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
  };
  damage(SegmentIndexPath(folder, 1), 64 * 2 + 9);
  damage(SegmentDataPath(folder, 1), 25);
  SegmentReader reader = OpenReader();
  EXPECT_EQ(reader.damaged_entries(), 1U);
  EXPECT_EQ(reader.Find(Attempt(1))->dropped, 10U);
  auto first = Read(reader, Attempt(1));
  EXPECT_EQ(first.bytes, "0000000000");
  EXPECT_EQ(first.next, Next::kMore);
  EXPECT_EQ(Read(reader, Attempt(1), std::nullopt, 10).next, Next::kGone);
  EXPECT_EQ(Read(reader, Attempt(1), std::nullopt, 20).bytes, "3333333333");
}

TEST_F(Segments, AFolderFullOfGarbageHurtsNobody) {
  std::filesystem::create_directories(folder);
  Random random(3);
  for (int i = 1; i <= 5; ++i) {
    std::ofstream index(SegmentIndexPath(folder, static_cast<uint64_t>(i)));
    for (int k = 0; k < 1000; ++k) index.put(static_cast<char>(random.Below(256)));
  }
  std::ofstream(folder + "/x.idx") << "x";
  std::ofstream(folder + "/000009.idx") << "";
  SegmentReader reader = OpenReader();
  EXPECT_EQ(reader.attempts(), 0U);
  EXPECT_GE(reader.damaged_entries(), 5U);
  SegmentWriter writer = OpenWriter();
  writer.Append(Attempt(1), kStdout, "fine");
  ASSERT_TRUE(writer.Flush().ok());
  ASSERT_TRUE(reader.Refresh().ok());
  EXPECT_EQ(Read(reader, Attempt(1)).bytes, "fine");
}

TEST_F(Segments, KeepsTheFirstBytesOfAnAttemptWithinItsBound) {
  SegmentWriter writer = OpenWriter({.attempt = Bytes{1000}});
  writer.Append(Attempt(1), kStdout, std::string(900, 'a'));
  writer.Append(Attempt(1), kStderr, std::string(900, 'b'));
  writer.Append(Attempt(2), kStdout, std::string(900, 'c'));
  EXPECT_EQ(writer.Finish(Attempt(1)), 800U);
  EXPECT_EQ(writer.Finish(Attempt(2)), 0U);
  ASSERT_TRUE(writer.Flush().ok());
  SegmentReader reader = OpenReader();
  EXPECT_EQ(Read(reader, Attempt(1)).bytes, std::string(900, 'a') + std::string(100, 'b'));
  EXPECT_TRUE(Read(reader, Attempt(1)).complete());
  EXPECT_EQ(reader.Find(Attempt(1))->dropped, 800U);
  EXPECT_EQ(reader.Find(Attempt(2))->dropped, 0U);
  EXPECT_EQ(writer.dropped_bytes(), 800U);
}

TEST_F(Segments, GivesUpOldestSegmentsAndSaysSo) {
  SegmentWriter writer = OpenWriter({.segment = KiB(10), .total = KiB(40)});
  SegmentReader early = OpenReader();
  for (uint32_t task = 1; task <= 100; ++task) {
    writer.Append(Attempt(task), kStdout, std::string(1000, 'x'));
    writer.Finish(Attempt(task));
    ASSERT_TRUE(writer.Flush().ok());
    if (task == 5) {
      ASSERT_TRUE(early.Refresh().ok());
      EXPECT_EQ(Read(early, Attempt(1)).bytes.size(), 1000U);
    }
  }
  ASSERT_TRUE(early.Refresh().ok());
  SegmentReader late = OpenReader();
  for (SegmentReader* reader : {&early, &late}) {
    auto gone = Read(*reader, Attempt(1));
    EXPECT_EQ(gone.next, Next::kGone);
    EXPECT_EQ(gone.next_offset, 1000U);
    EXPECT_EQ(Read(*reader, Attempt(1), std::nullopt, 1000).next, Next::kEnd);
    EXPECT_EQ(Read(*reader, Attempt(100)).bytes.size(), 1000U);
    EXPECT_EQ(Read(*reader, Attempt(101)).next, Next::kNotYet);
  }
  uint64_t on_disk = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".out") on_disk += file.file_size();
  }
  EXPECT_LE(on_disk, 40U << 10);
}

// A disk that is full: writes fail part of the way, as they do with a limit on the size of files.
class FullDisk {
 public:
  explicit FullDisk(uint64_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Segments, AFullDiskDropsAndCountsAndIsRecoveredFrom) {
  SegmentWriter writer = OpenWriter();
  writer.Append(Attempt(1), kStdout, "before ");
  writer.Append(Attempt(2), kStdout, std::string(5000, 'y'));
  ASSERT_TRUE(writer.Flush().ok());
  {
    FullDisk full(6000);
    writer.Append(Attempt(1), kStdout, std::string(3000, 'z'));
    writer.Append(Attempt(3), kStderr, "lost");
    writer.Finish(Attempt(3));
    auto flushed = writer.Flush();
    ASSERT_FALSE(flushed.ok());
    EXPECT_THAT(flushed.error().message, ::testing::HasSubstr("000001.out"));
    EXPECT_TRUE(writer.Flush().ok()) << "the end of attempt 3, for which there is room";
  }
  EXPECT_EQ(writer.dropped_bytes(), 3004U);
  writer.Append(Attempt(1), kStdout, "after");
  EXPECT_EQ(writer.Finish(Attempt(1)), 3000U);
  EXPECT_TRUE(writer.Flush().ok());
  SegmentReader reader = OpenReader();
  EXPECT_EQ(Read(reader, Attempt(1)).bytes, "before after");
  EXPECT_TRUE(Read(reader, Attempt(1)).complete());
  EXPECT_EQ(reader.Find(Attempt(1))->dropped, 3000U);
  EXPECT_EQ(reader.Find(Attempt(3))->dropped, 4U);
  EXPECT_TRUE(Read(reader, Attempt(3)).complete());
  EXPECT_EQ(reader.damaged_entries(), 0U);
}

TEST_F(Segments, AnIndexThatCouldNotBeWrittenWholeStaysReadable) {
  SegmentWriter writer = OpenWriter();
  for (uint32_t task = 1; task <= 20; ++task) {
    writer.Append(Attempt(task), kStdout, "x");
    writer.Finish(Attempt(task));
  }
  {
    FullDisk full(64 * 11 + 30);  // the header, ten entries, and a bit
    EXPECT_FALSE(writer.Flush().ok());
  }
  SegmentReader reader = OpenReader();
  EXPECT_EQ(reader.attempts(), 10U);
  EXPECT_TRUE(writer.Flush().ok());
  ASSERT_TRUE(reader.Refresh().ok());
  EXPECT_EQ(reader.attempts(), 20U);
  EXPECT_EQ(reader.damaged_entries(), 0U);
  for (uint32_t task = 1; task <= 20; ++task) {
    auto chunk = Read(reader, Attempt(task));
    EXPECT_TRUE(chunk.complete());
    EXPECT_EQ(chunk.bytes, task <= 10 ? "x" : "");
    EXPECT_EQ(reader.Find(Attempt(task))->dropped, task <= 10 ? 0U : 1U);
  }
}

TEST_F(Segments, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  std::ofstream(dir / "file") << "x";
  auto writer = SegmentWriter::Open(dir / "file/output", {}, clock);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, ::testing::HasSubstr(dir / "file/output"));
}

TEST(SegmentFormat, EntriesSurviveAndEveryFlippedBitIsSeen) {
  SegmentEntry entry{{{{77}, 500}, 3}, OutputStream::kStderr, true, 1, 2, 3, 4, {5}, 6};
  std::string bytes;
  AppendTo(bytes, entry);
  ASSERT_EQ(bytes.size(), kSegmentEntrySize);
  EXPECT_EQ(ParseSegmentEntry(bytes), entry);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(ParseSegmentEntry(damaged).has_value()) << bit;
  }
  EXPECT_FALSE(ParseSegmentEntry(std::string(kSegmentEntrySize, '\0')).has_value());
}

}  // namespace
}  // namespace muster
