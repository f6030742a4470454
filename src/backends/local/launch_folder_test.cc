#include "backends/local/launch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "backends/local/launch_lock.h"
#include "backends/local/record_file.h"
#include "support/temp_dir.h"

namespace muster::local {
namespace {

LaunchOrder OddOrder() {
  LaunchOrder order;
  order.spec.id = {7};
  order.spec.executor = {3};
  order.spec.owner = {"0f8e2d4c-1111-2222-3333-444455556666", 5};
  order.spec.size.cpus = {1500};
  order.spec.size.memory = GiB(3);
  order.spec.size.gpus = 2;
  order.spec.size.named = {{"licence=1%\n", 4}, {"two words", 5}};
  order.spec.max_attempts = 9;
  order.spec.labels = {{"a=b", "c=d"},
                       {"line\nend", "\n\r\t%0A"},
                       {"", ""},
                       {"emoji", "🦀 or so"},
                       {"long", std::string(300, 'x')}};
  order.controller = "unix:/tmp/with space/ünïcode";
  order.state_folder = "/tmp/state%folder";
  return order;
}

TEST(LaunchOrder, ComesBackAsItWasWhateverIsInItsNames) {
  LaunchOrder order = OddOrder();
  auto again = ParseLaunchOrder(RenderLaunchOrder(order));
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(RenderLaunchOrder(*again), RenderLaunchOrder(order));
  EXPECT_EQ(again->spec.id, order.spec.id);
  EXPECT_EQ(again->spec.owner, order.spec.owner);
  EXPECT_EQ(again->spec.size, order.spec.size);
  EXPECT_EQ(again->spec.labels, order.spec.labels);
  EXPECT_EQ(again->controller, order.controller);
  EXPECT_EQ(again->state_folder, order.state_folder);
}

TEST(LaunchOrder, CutOffAnywhereIsRefusedOrLacksOnlyItsTail) {
  const std::string text = RenderLaunchOrder(OddOrder());
  for (size_t size = 0; size < text.size(); ++size) {
    auto order = ParseLaunchOrder(text.substr(0, size));
    if (!order.ok()) {
      EXPECT_EQ(order.error().code, ErrorCode::kDataLoss);
    }
  }
}

TEST(FolderName, IsReadBackAndNothingElseIs) {
  std::string name = FolderName("0f8e2d4c-1111-2222", {7});
  EXPECT_EQ(name, "0f8e2d4c-l7");
  auto parsed = ParseFolderName(name);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->store_start, "0f8e2d4c");
  EXPECT_EQ(parsed->launch, LaunchId{7});
  for (const char* other :
       {"", ".", "..", "l7", "-l7", "0f8e2d4c-l", "0f8e2d4c-l07", "0f8e2d4c-l7x", "0f8e2d4c-l-7",
        "0f8e2d4c-7", "0f8e2d4c-l99999999999999999999"}) {
    EXPECT_FALSE(ParseFolderName(other)) << other;
  }
}

TEST(LaunchStage, IsDecidedFromWhatWasSeenNeverGuessed) {
  LaunchIdentity here;
  here.keeper.boot_id = "this boot";
  LaunchIdentity before;
  before.keeper.boot_id = "boot before";
  LaunchEvidence seen;
  seen.boot_id = "this boot";
  EXPECT_EQ(DecideStage(seen), LaunchStage::kNoFolder);
  seen.folder = true;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kNeverStarted);
  seen.lock_held = true;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kStarting);
  seen.identity_written = true;
  seen.identity = here;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kRunning);
  seen.lock_held = false;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kKeeperLost);
  seen.identity.reset();  // there, but torn
  EXPECT_EQ(DecideStage(seen), LaunchStage::kKeeperLost);
  seen.identity = before;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kMachineRestarted);
  seen.lock_held = true;  // by whoever forgets it
  EXPECT_EQ(DecideStage(seen), LaunchStage::kMachineRestarted);
  seen.outcome.emplace();
  EXPECT_EQ(DecideStage(seen), LaunchStage::kEnded);
  seen.identity = here;
  EXPECT_EQ(DecideStage(seen), LaunchStage::kEnded);
}

class LaunchFolderTest : public ::testing::Test {
 protected:
  test::TempDir dir_;
  LaunchFolder folder_{dir_.path().string()};
};

TEST_F(LaunchFolderTest, HasNoOutcomeWhileOnlyItsRoomIsTaken) {
  ASSERT_TRUE(folder_.ReserveOutcome().ok());
  auto seen = folder_.Look();
  ASSERT_TRUE(seen.ok());
  EXPECT_FALSE(seen->outcome);
  LaunchOutcome outcome;
  outcome.exit_signal = 9;
  outcome.left_behind = 2;
  outcome.reason = std::string(5000, 'r');
  ASSERT_TRUE(folder_.WriteOutcome(outcome).ok());
  seen = folder_.Look();
  ASSERT_TRUE(seen.ok() && seen->outcome);
  EXPECT_EQ(seen->outcome->exit_signal, 9);
  EXPECT_FALSE(seen->outcome->exit_code);
  EXPECT_EQ(seen->outcome->left_behind, 2U);
}

TEST_F(LaunchFolderTest, GivesItsTokenOnce) {
  ASSERT_TRUE(folder_.WriteToken("secret").ok());
  struct stat file{};
  ASSERT_EQ(::stat((folder_.path() + "/token").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600U);
  EXPECT_EQ(folder_.TakeToken().value_or(""), "secret");
  auto again = folder_.TakeToken();
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kNotFound);
}

TEST_F(LaunchFolderTest, LockIsSeenWithoutBeingTaken) {
  EXPECT_EQ(ReadLockState(folder_.lock_path()).value(), LockState::kFree);
  auto lock = TakeLock(folder_.lock_path());
  ASSERT_TRUE(lock.ok() && lock->valid());
  EXPECT_EQ(ReadLockState(folder_.lock_path()).value(), LockState::kHeld);
  auto second = TakeLock(folder_.lock_path());
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->valid());
  lock->Reset();
  for (int look = 0; look < 3; ++look) {
    EXPECT_EQ(ReadLockState(folder_.lock_path()).value(), LockState::kFree);
  }
  EXPECT_TRUE(TakeLock(folder_.lock_path())->valid());
}

TEST_F(LaunchFolderTest, LockLastsAsLongAsAnyCopyOfItsDescriptor) {
  auto lock = TakeLock(folder_.lock_path());
  ASSERT_TRUE(lock.ok() && lock->valid());
  UniqueFd copy(::dup(lock->get()));
  lock->Reset();
  EXPECT_EQ(ReadLockState(folder_.lock_path()).value(), LockState::kHeld);
  copy.Reset();
  EXPECT_EQ(ReadLockState(folder_.lock_path()).value(), LockState::kFree);
}

TEST_F(LaunchFolderTest, RemovingIsSuccessWhenItIsGone) {
  EXPECT_TRUE(folder_.Remove().ok());
  EXPECT_TRUE(folder_.Remove().ok());
}

TEST(RecordFile, EscapesWhatWouldBreakItsLines) {
  Record record;
  record.Add("k=\n%", "v\n=%\x01");
  std::string text = RenderRecord(record);
  EXPECT_EQ(text, "k%3D%0A%25=v%0A=%25%01\n");
  auto again = ParseRecord(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->lines(), record.lines());
}

}  // namespace
}  // namespace muster::local
