#include "store/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "store/simulated_archive.h"
#include "store/testing/step_loop.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace muster::store {
namespace {

// Takes posts from other threads; the test's thread runs them.
class PostLoop final : public Loop {
 public:
  void Post(std::function<void()> work) override {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  TimerId RunAfter(Duration, std::function<void()> work) override {
    Post(std::move(work));
    return 1;
  }
  void CancelTimer(TimerId) override {}
  void WatchFd(int, std::function<void()>) override {}
  void UnwatchFd(int) override {}
  Now ReadClock() const override { return SystemClock().Read(); }
  // True once something ran.
  bool Run() {
    std::vector<std::function<void()>> taken;
    {
      std::lock_guard lock(mutex_);
      taken.swap(posted_);
    }
    for (auto& work : taken) work();
    return !taken.empty();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

JobView MakeView(uint64_t id, std::string owner, uint64_t ok, uint64_t failed) {
  JobView view;
  view.id = {id};
  view.name = fmt::format("job \xF0\x9F\x90\x9A {}", id);
  view.owner = std::move(owner);
  view.submitted = {static_cast<int64_t>(id) * 1000};
  view.ended = WallTime{static_cast<int64_t>(id) * 1000 + 500};
  view.counts.ended[static_cast<size_t>(EndKind::kOk)] = ok;
  view.counts.ended[static_cast<size_t>(EndKind::kFailed)] = failed;
  return view;
}

core::Facts MakeFacts(uint64_t id, uint32_t tasks) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = fmt::format("job {}", id);
  core::Facts facts{core::JobAccepted{{id}, spec, "ann", fmt::format("request-{}", id), {5}}};
  for (uint32_t t = 1; t <= tasks; ++t) {
    facts.emplace_back(core::TasksEnded{{{id}, t, 1}, {EndKind::kFailed, 3, "x"}, {7}});
  }
  facts.emplace_back(core::JobEnded{{id}, {9}});
  return facts;
}

class ArchiveTest : public ::testing::Test {
 protected:
  void SetUp() override { SetLogLevel(LogLevel::kOff); }
  void TearDown() override { SetLogLevel(LogLevel::kWarning); }

  Status Put(Archive& archive, const JobView& view, core::Facts facts) {
    std::optional<Status> answer;
    archive.Put(view, std::move(facts), [&answer](Status status) { answer = std::move(status); });
    EXPECT_TRUE(test::Eventually([&] { return loop_.Run(), answer.has_value(); }));
    return answer.value_or(InternalError("no answer"));
  }

  test::TempDir dir_;
  PostLoop loop_;
  const std::string path_ = dir_ / "archive.sqlite";
};

TEST_F(ArchiveTest, GivesTheFactsOfAJobBackAfterReopening) {
  core::Facts facts = MakeFacts(3, 1000);
  {
    auto archive = OpenArchive(loop_, path_);
    ASSERT_TRUE(Put(*archive, MakeView(3, "ann", 0, 1000), facts).ok());
  }
  auto archive = OpenArchive(loop_, path_);
  auto got = archive->Get({3});
  ASSERT_TRUE(got.ok()) << got.error();
  ASSERT_TRUE(got->has_value());
  EXPECT_TRUE(**got == facts);
  EXPECT_FALSE(archive->Get({4})->has_value());
  EXPECT_EQ(*archive->FindRequest("request-3"), JobId{3});
  EXPECT_EQ(*archive->FindRequest("request-4"), std::nullopt);
  EXPECT_EQ(*archive->FindRequest(""), std::nullopt);
}

void FillAndList(Archive& archive, const std::function<Status(uint64_t)>& put) {
  for (uint64_t id = 1; id <= 7; ++id) ASSERT_TRUE(put(id).ok());
  ArchiveQuery query;
  query.limit = 3;
  auto first = archive.List(query);
  ASSERT_TRUE(first.ok()) << first.error();
  ASSERT_EQ(first->items.size(), 3U);
  EXPECT_EQ(first->items[0].id, JobId{7});
  EXPECT_EQ(first->total, 7U);
  EXPECT_EQ(first->next, "j5");
  EXPECT_EQ(first->items[0].name, MakeView(7, "", 0, 0).name);
  EXPECT_EQ(first->items[0].request_id, "request-7");
  EXPECT_EQ(first->items[0].counts, MakeView(7, "", 10, 1).counts);
  query.below = JobId{5};
  query.limit = 10;
  auto second = archive.List(query);
  ASSERT_EQ(second->items.size(), 4U);
  EXPECT_EQ(second->next, "");
  query.below.reset();
  query.failed_only = true;
  EXPECT_EQ(archive.List(query)->total, 4U);
  query.owner = "bob";
  EXPECT_EQ(archive.List(query)->total, 0U);
  query.failed_only = false;
  EXPECT_EQ(archive.List(query)->total, 3U);
  query.ended_since = WallTime{4000};
  EXPECT_EQ(archive.List(query)->total, 2U);
}

TEST_F(ArchiveTest, ListsNewestFirstWithFilterAndPages) {
  auto archive = OpenArchive(loop_, path_);
  FillAndList(*archive, [&](uint64_t id) {
    return Put(*archive, MakeView(id, id % 2 == 0 ? "bob" : "ann", 10, id % 2), MakeFacts(id, 1));
  });
}

TEST(SimulatedArchive, AnswersLikeTheRealOne) {
  StepLoop loop;
  Random random(3);
  ArchiveShelf shelf;
  SimulatedArchive archive(loop, random, shelf, Duration{1000});
  FillAndList(archive, [&](uint64_t id) {
    std::optional<Status> answer;
    archive.Put(MakeView(id, id % 2 == 0 ? "bob" : "ann", 10, id % 2), MakeFacts(id, 1),
                [&](Status status) { answer = std::move(status); });
    while (!answer && loop.Step()) {
    }
    return answer.value_or(InternalError("no answer"));
  });
  EXPECT_EQ(archive.Get({2})->value().size(), 3U);
}

TEST_F(ArchiveTest, PrunesByAge) {
  auto archive = OpenArchive(loop_, path_);
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(Put(*archive, MakeView(id, "ann", 1, 0), MakeFacts(id, 1)).ok());
  std::optional<uint64_t> removed;
  archive->Prune({3000}, [&](const Result<uint64_t>& n) { removed = n.value_or(99); });
  ASSERT_TRUE(test::Eventually([&] { return loop_.Run(), removed.has_value(); }));
  EXPECT_EQ(*removed, 2U);
  EXPECT_FALSE(archive->Get({2})->has_value());
  EXPECT_TRUE(archive->Get({3})->has_value());
}

TEST_F(ArchiveTest, MovesADamagedDatabaseAsideAndGoesOn) {
  {
    auto archive = OpenArchive(loop_, path_);
    for (uint64_t id = 1; id <= 30; ++id) {
      ASSERT_TRUE(Put(*archive, MakeView(id, "ann", 1, 0), MakeFacts(id, 100)).ok());
    }
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0);
    for (int i = 0; i < 6000; ++i) file.put(static_cast<char>(i * 7 + 1));
  }
  auto archive = OpenArchive(loop_, path_);
  EXPECT_FALSE(archive->Get({1})->has_value());
  EXPECT_TRUE(Put(*archive, MakeView(31, "ann", 1, 0), MakeFacts(31, 1)).ok());
  EXPECT_TRUE(archive->Get({31})->has_value());
  EXPECT_TRUE(std::filesystem::exists(dir_ / "archive-damaged-1.sqlite"));
}

TEST_F(ArchiveTest, MovesAFileThatIsNoDatabaseAside) {
  std::ofstream(path_) << std::string(5000, 'x');
  auto archive = OpenArchive(loop_, path_);
  EXPECT_TRUE(Put(*archive, MakeView(1, "ann", 1, 0), MakeFacts(1, 1)).ok());
  EXPECT_TRUE(std::filesystem::exists(dir_ / "archive-damaged-1.sqlite"));
}

TEST_F(ArchiveTest, RefusesANewerVersionByName) {
  {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA user_version = 9", nullptr, nullptr, nullptr);
    sqlite3_close(database);
  }
  auto archive = OpenArchive(loop_, path_);
  auto got = archive->Get({1});
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message.find("version 9"), std::string::npos) << got.error();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "archive-damaged-1.sqlite"));
}

TEST_F(ArchiveTest, IsNeverOpenTwiceInOneProcess) {
  auto archive = OpenArchive(loop_, path_);
  ASSERT_TRUE(Put(*archive, MakeView(1, "ann", 1, 0), MakeFacts(1, 1)).ok());
  auto second = OpenArchive(loop_, path_, ArchiveMode::kReadOnly);
  EXPECT_EQ(second->Get({1}).error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(archive->Get({1})->has_value());
}

TEST_F(ArchiveTest, ReadOnlyCreatesNothingAndReadsWhatIsThere) {
  {
    auto nothing = OpenArchive(loop_, path_, ArchiveMode::kReadOnly);
    EXPECT_FALSE(nothing->Get({1})->has_value());
    EXPECT_EQ(nothing->List({})->total, 0U);
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  {
    auto archive = OpenArchive(loop_, path_);
    ASSERT_TRUE(Put(*archive, MakeView(1, "ann", 1, 0), MakeFacts(1, 1)).ok());
  }
  auto archive = OpenArchive(loop_, path_, ArchiveMode::kReadOnly);
  EXPECT_TRUE(archive->Get({1})->has_value());
  EXPECT_FALSE(Put(*archive, MakeView(2, "ann", 1, 0), MakeFacts(2, 1)).ok());
}

TEST_F(ArchiveTest, StoresWhatWasPutBeforeItEnds) {
  {
    auto archive = OpenArchive(loop_, path_);
    for (uint64_t id = 1; id <= 20; ++id)
      archive->Put(MakeView(id, "ann", 1, 0), MakeFacts(id, 10), [](const Status&) {});
  }
  auto archive = OpenArchive(loop_, path_);
  EXPECT_EQ(archive->List({})->total, 20U);
}

}  // namespace
}  // namespace muster::store
