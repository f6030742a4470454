#include "store/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "core/apply.h"
#include "store/fact_codec.h"
#include "store/folder.h"
#include "store/simulated_disk.h"
#include "store/system_disk.h"
#include "store/testing/step_loop.h"
#include "support/temp_dir.h"

namespace muster::store {
namespace {

core::Facts Accept(uint64_t job, int64_t tasks) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = fmt::format("job {}", job);
  spec->cwd = "/tmp";
  spec->tasks.emplace_back().name = "count";
  spec->tasks.back().command = ShellCommand{"echo {index}"};
  spec->tasks.back().each = IndexRange{1, tasks, 1};
  return {core::JobAccepted{{job}, spec, "ann", fmt::format("request-{}", job), {1000}}};
}

// A store with its disk, loop and background work, opened again and again.
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override { SetLogLevel(LogLevel::kOff); }
  void TearDown() override { SetLogLevel(LogLevel::kWarning); }

  JournalTools Tools(Disk& disk) { return {disk, loop_, syncing_, writing_, random_}; }
  Result<Store::Opened> Open(Disk& disk, const std::string& folder) {
    return Store::Open(Tools(disk), folder, options_);
  }
  // Appends to store and state as control does.
  Position Append(Store::Opened& opened, const core::Facts& facts) {
    for (const core::Fact& fact : facts) core::Apply(opened.state, fact);
    auto position = opened.store->Append(facts);
    EXPECT_TRUE(position.ok()) << position.error();
    return position.value_or(0);
  }
  void Start(Store::Opened& opened) {
    Append(opened,
           {core::ControllerStarted{opened.store->epoch(), loop_.ReadClock().wall, "boot"}});
  }
  void EndProcess(Result<Store::Opened>& opened) {
    opened->store.reset();
    loop_.Clear();
    disk_.EndProcess();
  }
  void CutPower(Result<Store::Opened>& opened) {
    opened->store.reset();
    loop_.Clear();
    disk_.CutPower();
  }

  Random random_{5};
  StepLoop loop_;
  SimulatedDisk disk_{random_};
  LoopBackground syncing_{loop_, random_, Duration{500}};
  LoopBackground writing_{loop_, random_, Duration{500}};
  JournalOptions options_{KiB(64)};
  const std::string folder_ = "/state/j";
};

TEST_F(StoreTest, BringsTheStateBackAfterTheProcessEnds) {
  auto opened = Open(disk_, folder_);
  ASSERT_TRUE(opened.ok()) << opened.error();
  Start(*opened);
  Append(*opened, Accept(1, 100));
  Append(*opened, Accept(2, 5));
  uint64_t fingerprint = core::Fingerprint(opened->state);
  std::string id = opened->store->store_id();
  uint64_t epoch = opened->store->epoch();
  EndProcess(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(core::Fingerprint(again->state), fingerprint);
  EXPECT_EQ(again->store->store_id(), id);
  EXPECT_GT(again->store->epoch(), epoch);
  EXPECT_EQ(again->replay.last, 3U);
  EXPECT_EQ(again->state.ViewJob({1})->counts.total(), 100U);
}

TEST_F(StoreTest, CallsDurableOnlyWhatAPowerCutLeaves) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  Position durable = 0;
  opened->store->OnDurable([&](Position position) { durable = position; });
  Append(*opened, Accept(1, 100));
  EXPECT_EQ(opened->store->durable(), 0U);
  loop_.RunFor(std::chrono::milliseconds(20));
  EXPECT_EQ(durable, opened->store->written());
  EXPECT_EQ(opened->store->durable(), durable);
  CutPower(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(again->replay.last, durable);
  EXPECT_TRUE(again->state.ViewJob({1}).has_value());
}

TEST_F(StoreTest, SnapshotsReplaceTheJournalAndGiveAnEqualState) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  uint64_t job = 0;
  while (!opened->store->WantsSnapshot()) {
    Append(*opened, Accept(++job, 10));
    options_.snapshot_after = KiB(256);
    if (job > 600000) FAIL() << "a snapshot is never due";
    if (job == 3000) break;
  }
  ASSERT_TRUE(opened->store->TakeSnapshot(opened->state).ok());
  EXPECT_EQ(opened->store->TakeSnapshot(opened->state).error().code, ErrorCode::kAborted);
  loop_.RunFor(std::chrono::seconds(1));
  Append(*opened, Accept(++job, 10));
  uint64_t fingerprint = core::Fingerprint(opened->state);
  auto content = ListFolder(disk_, folder_);
  EXPECT_EQ(content->segments.size(), 1U);
  EXPECT_EQ(content->snapshots.size(), 1U);
  EndProcess(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(core::Fingerprint(again->state), fingerprint);
  EXPECT_EQ(again->replay.records, 1U);
}

TEST_F(StoreTest, FinishLeavesASnapshotAndNoReservedSpace) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  Append(*opened, Accept(1, 10));
  uint64_t fingerprint = core::Fingerprint(opened->state);
  uint64_t epoch = opened->store->epoch();
  std::optional<Status> finished;
  opened->store->Finish(opened->state, [&](Status status) { finished = std::move(status); });
  EXPECT_FALSE(opened->store->Append(Accept(2, 1)).ok());
  loop_.RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(finished.has_value() && finished->ok());
  EXPECT_LT(disk_.used().value, 4000U);
  auto content = ListFolder(disk_, folder_);
  EXPECT_TRUE(content->segments.empty() && content->leftovers.empty());
  CutPower(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(core::Fingerprint(again->state), fingerprint);
  EXPECT_GT(again->store->epoch(), epoch);
}

TEST_F(StoreTest, SecondOwnerIsToldWhoHoldsIt) {
  test::TempDir dir;
  auto opened = Open(SystemDisk(), dir / "s");
  ASSERT_TRUE(opened.ok()) << opened.error();
  auto second = Open(SystemDisk(), dir / "s");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kAborted);
  EXPECT_NE(second.error().message.find(fmt::format("process {} holds it", ::getpid())),
            std::string::npos)
      << second.error();
  opened->store.reset();
  EXPECT_TRUE(Open(SystemDisk(), dir / "s").ok());
}

TEST_F(StoreTest, FullDiskRefusesSubmitsButTakesFactsOfRunningWork) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  Append(*opened, Accept(1, 100000));
  loop_.RunFor(std::chrono::seconds(1));
  disk_.SetCapacity(disk_.used());
  int submits = 0;
  Status room;
  while ((room = opened->store->HasRoomForSubmit(2000)).ok() && submits < 1000) {
    Append(*opened, Accept(static_cast<uint64_t>(++submits) + 1, 10));
    loop_.RunFor(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(room.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(room.error().message.find("the disk is full"), std::string::npos) << room.error();
  loop_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(opened->store->room(), Room::kReserveOnly);
  core::Facts planned{
      core::ExecutorRegistered{{1}, {}, "here", "i", "h", "b", 1, {}, 1000, {}, "/x", {1}}};
  Append(*opened, planned);
  // A whole segment's worth of facts of running work still goes in.
  Position before = opened->store->written();
  uint32_t task = 0;
  uint64_t bytes = 0;
  while (bytes < options_.segment_size.value * 3 / 4) {
    core::Facts facts{core::AttemptsPlanned{{1}, {{1}, ++task, 1}, 1, 1, false, {2000}}};
    ASSERT_TRUE(opened->store->Append(facts).ok());
    for (const core::Fact& fact : facts) core::Apply(opened->state, fact);
    bytes += 56;
  }
  EXPECT_EQ(opened->store->written(), before + task);
  // Space is made: everything goes on.
  disk_.SetCapacity(GiB(1));
  loop_.RunFor(std::chrono::seconds(3));
  EXPECT_TRUE(opened->store->HasRoomForSubmit(2000).ok());
  EXPECT_EQ(opened->store->room(), Room::kPlenty);
  uint64_t fingerprint = core::Fingerprint(opened->state);
  EndProcess(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(core::Fingerprint(again->state), fingerprint);
}

TEST_F(StoreTest, JobsThatNoRecordCouldHoldAreRefusedAtTheDoor) {
  auto opened = Open(disk_, folder_);
  Status room = opened->store->HasRoomForSubmit(uint64_t{3} << 30);
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(room.error().code, ErrorCode::kOutOfRange);
  EXPECT_NE(room.error().message.find("make it several jobs"), std::string::npos) << room.error();
}

TEST_F(StoreTest, AppendThatFoundNoRoomCanBeRepeatedWhenThereIsSome) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  loop_.RunFor(std::chrono::seconds(1));
  disk_.SetCapacity(disk_.used());
  core::Facts big = Accept(1, 1);
  auto spec = std::make_shared<JobSpec>(*std::get<core::JobAccepted>(big[0]).spec);
  spec->tasks[0].command = ShellCommand{std::string(500000, 'x')};
  std::get<core::JobAccepted>(big[0]).spec = spec;
  auto refused = opened->store->Append(big);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(opened->store->written(), 1U);
  disk_.SetCapacity(GiB(1));
  EXPECT_EQ(Append(*opened, big), 2U);
  EndProcess(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(again->replay.last, 2U);
}

TEST_F(StoreTest, NeverCallsAnythingDurableAfterAFailedSync) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  loop_.RunFor(std::chrono::seconds(1));
  Position durable = opened->store->durable();
  std::optional<Error> fatal;
  opened->store->OnFatal([&](const Error& error) { fatal = error; });
  disk_.FailNextSync();
  Append(*opened, Accept(1, 10));
  loop_.RunFor(std::chrono::seconds(1));
  ASSERT_TRUE(fatal.has_value());
  EXPECT_NE(fatal->message.find("check the disk"), std::string::npos) << *fatal;
  EXPECT_EQ(opened->store->durable(), durable);
  EXPECT_FALSE(opened->store->Append(Accept(2, 10)).ok());
  EXPECT_FALSE(opened->store->HasRoomForSubmit(10).ok());
  loop_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(opened->store->durable(), durable);
}

TEST_F(StoreTest, RecordsThatAFailedSyncLeftInMemoryAreWrittenAgainByTheNextStart) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  loop_.RunFor(std::chrono::seconds(1));
  disk_.FailNextSync();
  Append(*opened, Accept(1, 10));
  loop_.RunFor(std::chrono::seconds(1));
  EndProcess(opened);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  Position last = again->replay.last;
  EXPECT_EQ(again->store->durable(), last);
  CutPower(again);
  auto third = Open(disk_, folder_);
  ASSERT_TRUE(third.ok()) << third.error();
  EXPECT_EQ(third->replay.last, last);
  EXPECT_TRUE(third->state.ViewJob({1}).has_value());
}

TEST_F(StoreTest, DamageInTheMiddleIsAnErrorWithFileAndByte) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  for (uint64_t job = 1; job <= 20; ++job) {
    Append(*opened, Accept(job, 10));
    loop_.RunFor(std::chrono::milliseconds(50));
  }
  EndProcess(opened);
  std::string segment = folder_ + "/" + SegmentName(1);
  disk_.FlipBit(segment, 700);
  auto again = Open(disk_, folder_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(again.error().message.find(segment + " is damaged at byte"), std::string::npos)
      << again.error();
  EXPECT_NE(again.error().message.find("restore the folder from a backup"), std::string::npos);
}

TEST_F(StoreTest, DamagedLastRecordIsATornTail) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  for (uint64_t job = 1; job <= 20; ++job) Append(*opened, Accept(job, 10));
  EndProcess(opened);
  disk_.FlipBit(folder_ + "/" + SegmentName(1), 1500);
  auto again = Open(disk_, folder_);
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_FALSE(again->replay.torn.empty());
  EXPECT_LT(again->replay.last, 21U);
  EXPECT_GT(again->replay.last, 1U);
  // What comes after it is read back, and the rest of the old tail never again.
  Position last = again->replay.last;
  Append(*again, {core::ControllerStarted{again->store->epoch(), {1}, "boot"}});
  EndProcess(again);
  auto third = Open(disk_, folder_);
  ASSERT_TRUE(third.ok()) << third.error();
  EXPECT_EQ(third->replay.last, last + 1);
}

TEST_F(StoreTest, DamagedSnapshotIsAnErrorWithFileAndByte) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  Append(*opened, Accept(1, 10));
  opened->store->Finish(opened->state, [](const Status&) {});
  loop_.RunFor(std::chrono::seconds(1));
  EndProcess(opened);
  std::string snapshot = folder_ + "/" + SnapshotName(2);
  disk_.FlipBit(snapshot, 130);
  auto again = Open(disk_, folder_);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find(snapshot + " is damaged at byte 80"), std::string::npos)
      << again.error();
}

TEST_F(StoreTest, RefusesANewerFormatByName) {
  test::TempDir dir;
  {
    std::ofstream(dir / "FORMAT")
        << "muster store\nversion 7\nid 01234567-89ab-4cde-8f01-23456789abcd\n";
  }
  for (const Error& error :
       {Open(SystemDisk(), dir.path()).error(), ReadStore(SystemDisk(), dir.path()).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
    EXPECT_NE(error.message.find("format version 7, this muster reads up to 1: use a newer muster"),
              std::string::npos)
        << error;
  }
}

TEST_F(StoreTest, AnotherStoresJournalIsRefused) {
  auto one = Open(disk_, "/state/one");
  Start(*one);
  auto two = Open(disk_, "/state/two");
  Start(*two);
  one->store.reset();
  two->store.reset();
  std::string name = "/" + SegmentName(1);
  ASSERT_TRUE(disk_.Rename("/state/one" + name, "/state/two" + name).ok());
  auto again = Open(disk_, "/state/two");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("belongs to store"), std::string::npos) << again.error();
}

TEST_F(StoreTest, ReadOnlyFolderIsAnsweredInOneLineThatSaysWhatToDo) {
  disk_.MakeReadOnly();
  auto opened = Open(disk_, folder_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(opened.error().message.find("make it writable or choose another"), std::string::npos)
      << opened.error();
  EXPECT_EQ(opened.error().ToString().find('\n'), std::string::npos);
}

TEST_F(StoreTest, FullDiskAtTheStartIsAnsweredInOneLineThatSaysWhatToDo) {
  disk_.SetCapacity(KiB(10));
  auto opened = Open(disk_, folder_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(opened.error().message.find("make room in"), std::string::npos) << opened.error();
}

TEST_F(StoreTest, ReadsAStoreOnAReadOnlyDisk) {
  auto opened = Open(disk_, folder_);
  Start(*opened);
  Append(*opened, Accept(1, 10));
  EndProcess(opened);
  disk_.MakeReadOnly();
  auto contents = ReadStore(disk_, folder_);
  ASSERT_TRUE(contents.ok()) << contents.error();
  EXPECT_TRUE(contents->state.ViewJob({1}).has_value());
  EXPECT_EQ(ReadStore(disk_, "/state/none").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, ReadsAStoreThatIsBeingWritten) {
  test::TempDir dir;
  options_.segment_size = KiB(16);
  auto opened = Open(SystemDisk(), dir / "s");
  ASSERT_TRUE(opened.ok()) << opened.error();
  Start(*opened);
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::string trouble;
  std::thread reader([&] {
    uint64_t jobs = 0;
    while (!stop) {
      auto contents = ReadStore(SystemDisk(), dir / "s");
      if (!contents.ok()) {
        trouble = contents.error().ToString();
        return;
      }
      uint64_t now = contents->state.CountJobs(WallTime{0});
      if (now < jobs) trouble = "jobs vanished";
      jobs = now;
      ++reads;
    }
  });
  for (uint64_t job = 1; (job <= 400 || reads < 20) && job < 20000; ++job) {
    Append(*opened, Accept(job, 2));
    if (job % 50 == 0 && opened->store->TakeSnapshot(opened->state).ok()) {
      loop_.RunFor(std::chrono::seconds(1));
    }
  }
  stop = true;
  reader.join();
  EXPECT_EQ(trouble, "");
  EXPECT_GT(reads.load(), 5);
}

}  // namespace
}  // namespace muster::store
