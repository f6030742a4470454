#include "executor/scratch_folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace muster::executor {
namespace {

class ScratchFoldersTest : public testing::Test {
 protected:
  test::TempDir dir_;
  WorkerPool pool_{"cleaners", 1, 100};
  ScratchFolders folders_{dir_ / "scratch", pool_};
};

TEST_F(ScratchFoldersTest, GivesEachItsOwnEmptyFolder) {
  size_t a = folders_.Take();
  size_t b = folders_.Take();
  EXPECT_NE(folders_.path(a), folders_.path(b));
  EXPECT_TRUE(std::filesystem::is_empty(folders_.path(a)));
  EXPECT_TRUE(std::filesystem::is_empty(folders_.path(b)));
}

TEST_F(ScratchFoldersTest, UsesAnUntouchedFolderAgain) {
  size_t a = folders_.Take();
  struct stat before, after;
  ::stat(folders_.path(a).c_str(), &before);
  folders_.GiveBack(a);
  ASSERT_EQ(folders_.Take(), a);
  ::stat(folders_.path(a).c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(ScratchFoldersTest, RemovesWhatATaskLeft) {
  for (int round = 0; round < 3; ++round) {
    size_t a = folders_.Take();
    EXPECT_TRUE(std::filesystem::is_empty(folders_.path(a)));
    std::filesystem::create_directories(folders_.path(a) + "/deep/er");
    std::ofstream(folders_.path(a) + "/deep/er/file") << "x";
    folders_.GiveBack(a);
  }
  // A file that came and went again counts as touched too.
  size_t a = folders_.Take();
  std::ofstream(folders_.path(a) + "/file") << "x";
  std::filesystem::remove(folders_.path(a) + "/file");
  folders_.GiveBack(a);
  pool_.Drain();
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "scratch"));
}

TEST_F(ScratchFoldersTest, SurvivesTasksThatRemoveOrReplaceTheirFolder) {
  size_t a = folders_.Take();
  std::filesystem::remove(folders_.path(a));
  folders_.GiveBack(a);
  a = folders_.Take();
  EXPECT_TRUE(std::filesystem::is_directory(folders_.path(a)));
  std::filesystem::remove(folders_.path(a));
  std::ofstream(folders_.path(a)) << "a file now";
  folders_.GiveBack(a);
  a = folders_.Take();
  EXPECT_TRUE(std::filesystem::is_directory(folders_.path(a)));
}

TEST_F(ScratchFoldersTest, GoesOnWithoutWhenItCannotBeMade) {
  std::ofstream(dir_ / "scratch") << "in the way";
  size_t a = folders_.Take();
  EXPECT_EQ(folders_.path(a), "");
  folders_.GiveBack(a);
}

}  // namespace
}  // namespace muster::executor
