#include "executor/output_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace muster::executor {
namespace {

constexpr AttemptId kAttempt{{{12}, 500}, 2};
constexpr std::string_view kStore = "1f0e9d8c-0000";

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OutputPlaceTest : public testing::Test {
 protected:
  OutputPlace Place(const std::string& out_name, const std::string& out_dir = "out/count") {
    RunTemplate what;
    what.cwd = dir_.path();
    what.out_dir = out_dir;
    return PlaceOutput(what, out_name, kAttempt, kStore);
  }
  FileFailure TryPublish(const OutputPlace& place) { return Publish(place, left_over_); }

  test::TempDir dir_;
  std::string left_over_;
};

TEST_F(OutputPlaceTest, LiesHiddenInTheFinalFolder) {
  OutputPlace array = Place("7");
  EXPECT_EQ(array.final, dir_ / "out/count/7");
  EXPECT_EQ(array.part, dir_ / "out/count/.j12.500-2-1f0e9d8c.7.part");
  OutputPlace single = Place("", "out/total");
  EXPECT_EQ(single.final, dir_ / "out/total");
  EXPECT_EQ(single.part, dir_ / "out/.j12.500-2-1f0e9d8c.part");
}

TEST_F(OutputPlaceTest, PublishesAFileAndReplacesAnOlderOne) {
  OutputPlace place = Place("7");
  ASSERT_TRUE(MakeOutputFolder(place).ok());
  ASSERT_TRUE(MakeOutputFolder(place).ok());
  for (std::string text : {"one", "two"}) {
    WriteFile(place.part, text);
    EXPECT_TRUE(TryPublish(place).ok());
    EXPECT_EQ(ReadFile(place.final), text);
    EXPECT_FALSE(std::filesystem::exists(place.part));
  }
  EXPECT_EQ(left_over_, "");
}

TEST_F(OutputPlaceTest, PublishesAFolderAndReplacesAnOlderOne) {
  OutputPlace place = Place("7");
  ASSERT_TRUE(MakeOutputFolder(place).ok());
  for (std::string text : {"one", "two"}) {
    std::filesystem::create_directory(place.part);
    WriteFile(place.part + "/" + text, text);
    EXPECT_TRUE(TryPublish(place).ok());
    EXPECT_EQ(ReadFile(place.final + "/" + text), text);
  }
  EXPECT_FALSE(std::filesystem::exists(place.final + "/one"));
  EXPECT_EQ(left_over_, place.part);
  EXPECT_EQ(ReadFile(left_over_ + "/one"), "one");
}

TEST_F(OutputPlaceTest, NeverPutsAFileInPlaceOfAFolder) {
  OutputPlace place = Place("", "out/total");
  std::filesystem::create_directories(place.final);
  WriteFile(place.final + "/precious", "x");
  WriteFile(place.part, "new");
  FileFailure failure = TryPublish(place);
  EXPECT_EQ(failure.error_number, EISDIR);
  EXPECT_EQ(ReadFile(place.final + "/precious"), "x");
  EXPECT_EQ(ReadFile(place.part), "new");
}

TEST_F(OutputPlaceTest, SaysThatTheCommandLeftNothing) {
  OutputPlace place = Place("7");
  ASSERT_TRUE(MakeOutputFolder(place).ok());
  FileFailure failure = TryPublish(place);
  EXPECT_EQ(failure.error_number, ENOENT);
  EXPECT_NE(failure.what_failed.find("left nothing at {out}"), std::string::npos);
}

TEST_F(OutputPlaceTest, DiscardsFilesAtOnceAndLeavesFoldersToTheCaller) {
  OutputPlace place = Place("7");
  ASSERT_TRUE(MakeOutputFolder(place).ok());
  Discard(place, left_over_);
  WriteFile(place.part, "x");
  Discard(place, left_over_);
  EXPECT_FALSE(std::filesystem::exists(place.part));
  EXPECT_EQ(left_over_, "");
  std::filesystem::create_directory(place.part);
  Discard(place, left_over_);
  EXPECT_EQ(left_over_, place.part);
}

TEST_F(OutputPlaceTest, FindsWhatAnotherExecutorLeft) {
  RunTemplate what;
  what.cwd = dir_.path();
  what.out_dir = "out/count";
  EXPECT_FALSE(FindOutput(what, kAttempt, kStore));
  for (std::string out_name : {"7", "odd_name-1f0e", ""}) {
    OutputPlace place = Place(out_name);
    ASSERT_TRUE(MakeOutputFolder(place).ok());
    WriteFile(place.part, "x");
    AttemptId other{{{12}, 500}, 22};
    EXPECT_FALSE(FindOutput(what, other, kStore));
    auto found = FindOutput(what, kAttempt, kStore);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->part, place.part);
    EXPECT_EQ(found->final, place.final);
    std::filesystem::remove(place.part);
  }
}

TEST_F(OutputPlaceTest, DoesNotMakeAWorkingFolderThatIsNotThere) {
  OutputPlace place = Place("7");
  place.cwd = dir_ / "gone";
  place.folder = dir_ / "gone/out";
  EXPECT_TRUE(MakeOutputFolder(place).ok());
  EXPECT_FALSE(std::filesystem::exists(place.cwd));
}

TEST_F(OutputPlaceTest, SaysWhatFailedWhenTheFolderCannotBeMade) {
  WriteFile(dir_ / "out", "a file");
  FileFailure failure = MakeOutputFolder(Place("7"));
  EXPECT_EQ(failure.error_number, ENOTDIR);
  EXPECT_EQ(failure.what_failed, "make folder " + (dir_ / "out/count"));
}

}  // namespace
}  // namespace muster::executor
