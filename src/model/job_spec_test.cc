#include "model/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <set>

#include "base/random.h"

namespace muster {
namespace {

using ::testing::ElementsAre;

std::string Shell(std::string_view text, const PlaceholderValues& values) {
  return ExpandCommand(ShellCommand{std::string(text)}, values).at(2);
}

// What a real shell makes of `text`.
std::string Output(const std::string& text) {
  FILE* pipe = ::popen(text.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (size_t n = ::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  ::pclose(pipe);
  return output;
}

TEST(Placeholders, StandForTheirValues) {
  PlaceholderValues values{.item = "photos/a b.jpg", .index = 7, .out = "/o/7"};
  EXPECT_EQ(Shell("cp {item} {item:name} {index} > {out}", values),
            "cp 'photos/a b.jpg' 'a b' '7' > '/o/7'");
  EXPECT_THAT(
      ExpandCommand(ExecCommand{{"cp", "{item}", "x-{item:name}-{index}", "{out}"}}, values),
      ElementsAre("cp", "photos/a b.jpg", "x-a b-7", "/o/7"));
}

TEST(Placeholders, LeaveEveryOtherBraceAlone) {
  PlaceholderValues values{.item = "i"};
  for (const char* text : {"awk '{print $1}'", "${HOME}", "a{b,c}", "{", "}", "{}", "{item",
                           "{ item }", "{items}", "{item:nam}", "{{", "}}", "{{}}", "{Item}"}) {
    EXPECT_EQ(Shell(text, values), text);
  }
  EXPECT_EQ(Shell("{{item}} {item} {{out}}", values), "{item} 'i' {out}");
  EXPECT_EQ(Shell("{{item}", values), "{'i'");
  EXPECT_EQ(Shell("{item}}", values), "'i'}");
}

TEST(Placeholders, DoNotExpandWhatAValueHolds) {
  PlaceholderValues values{.item = "{out}{index}", .index = 1, .out = "o"};
  EXPECT_EQ(Shell("{item}", values), "'{out}{index}'");
}

TEST(Placeholders, TellWhetherOutIsUsed) {
  TaskSpec task;
  for (const char* text : {"x > {out}", "{out}", "{{out}", "{{out}} {out}"}) {
    task.command = ShellCommand{text};
    EXPECT_TRUE(UsesOut(task)) << text;
    EXPECT_EQ(Shell(text, {.out = "OUT"}).find("OUT") != std::string::npos, true) << text;
  }
  for (const char* text : {"x > out", "{{out}}", "{out", "{output}"}) {
    task.command = ShellCommand{text};
    EXPECT_FALSE(UsesOut(task)) << text;
  }
  task.command = ExecCommand{{"tee", "{out}"}};
  EXPECT_TRUE(UsesOut(task));
}

TEST(ShellQuote, GivesOneWordToARealShellWhateverIsInIt) {
  Random random(31);
  const std::string letters = " '\"\\$`!*?[]{}()<>|&;#~\n\ta1=-%\xe9";
  for (int round = 0; round < 30; ++round) {
    std::string text;
    for (uint64_t n = random.Below(30); n > 0; --n) text += letters[random.Below(letters.size())];
    EXPECT_EQ(Output("printf '%s|' " + ShellQuote(text)), text + "|");
  }
  EXPECT_EQ(ShellQuote(""), "''");
}

TEST(ItemName, IsTheFileNameWithoutFolderAndLastExtension) {
  EXPECT_EQ(ItemName("photos/a b.jpg"), "a b");
  EXPECT_EQ(ItemName("a.tar.gz"), "a.tar");
  EXPECT_EQ(ItemName("/x/.bashrc"), ".bashrc");
  EXPECT_EQ(ItemName("dir.d/file"), "file");
  EXPECT_EQ(ItemName("dir/"), "");
  EXPECT_EQ(ItemName(""), "");
}

TEST(PathSafeName, KeepsSafeNamesAndMakesOddOnesSafeAndDifferent) {
  EXPECT_EQ(PathSafeName("count"), "count");
  EXPECT_EQ(PathSafeName("a.b-c_9"), "a.b-c_9");
  std::string common(200, 'x');
  std::set<std::string> seen;
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("a_b"),
        std::string(".."), std::string(".hidden"), std::string("🚀"), std::string(300, 'n'),
        common + "1", common + "2", std::string(65, 'y'), std::string(64, 'y'),
        std::string("a\nb")}) {
    std::string safe = PathSafeName(name);
    EXPECT_TRUE(seen.insert(safe).second) << name;
    EXPECT_LE(safe.size(), 64U);
    EXPECT_FALSE(safe.empty());
    EXPECT_NE(safe.front(), '.');
    for (char c : safe)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-');
  }
}

TEST(IndexRange, CountsAndNamesItsIndexes) {
  EXPECT_EQ((IndexRange{1, 10, 3}).size(), 4U);
  EXPECT_EQ((IndexRange{1, 10, 3})[3], 10);
  EXPECT_EQ((IndexRange{5, 5, 9}).size(), 1U);
  EXPECT_EQ((IndexRange{5, 4, 1}).size(), 0U);
  EXPECT_EQ((IndexRange{-3, 3, 2})[2], 1);
}

TEST(ItemList, KeepsItemsByteForByteAndPacked) {
  ItemList items;
  for (std::string_view item :
       {std::string_view("a"), std::string_view(""), std::string_view("\0x", 2)}) {
    ASSERT_TRUE(items.Add(item));
  }
  EXPECT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0], "a");
  EXPECT_EQ(items[1], "");
  EXPECT_EQ(items[2], std::string_view("\0x", 2));
  ItemList many;
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(many.Add("123456"));
  many.ShrinkToFit();
  EXPECT_LE(many.MemoryBytes(), 100'000U * 10 + 100);
}

TEST(CategoryOf, IsJobAndTaskNameUnlessSet) {
  JobSpec job;
  job.name = "j";
  TaskSpec task;
  task.name = "t";
  EXPECT_EQ(CategoryOf(job, task), "j/t");
  task.category = "c";
  EXPECT_EQ(CategoryOf(job, task), "c");
}

}  // namespace
}  // namespace muster
