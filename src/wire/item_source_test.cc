#include "wire/item_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

TEST(LineSplitter, GivesTheSameItemsHoweverTheBytesArrive) {
  Random random(20261201);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    std::vector<std::string> expected;
    for (uint64_t n = random.Below(20); n > 0; --n) {
      std::string line(random.Below(6), static_cast<char>('a' + random.Below(26)));
      if (random.Percent(20)) line += '\r';
      text += line + "\n";
      if (!line.empty()) expected.push_back(line);
    }
    if (random.Percent(50)) {
      text += "end";
      expected.emplace_back("end");
    }
    LineSplitter lines("test");
    for (size_t at = 0; at < text.size();) {
      size_t n = 1 + random.Below(7);
      ASSERT_TRUE(lines.Feed(std::string_view(text).substr(at, n)).ok());
      at += n;
    }
    ASSERT_TRUE(lines.End().ok());
    ItemList items = std::move(lines).Take();
    ASSERT_EQ(items.size(), expected.size());
    for (size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i], expected[i]);
  }
}

TEST(LineSplitter, StopsAtTheFirstNulOfAnEndlessLine) {
  LineSplitter lines("/dev/zero");
  Status status = lines.Feed(std::string(4096, '\0'));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("/dev/zero:1: the line holds a NUL byte"));
}

TEST(ReadItemLines, SaysWhichFileIsNotThere) {
  Result<ItemList> items = ReadItemLines("/nowhere/items.txt");
  ASSERT_FALSE(items.ok());
  EXPECT_THAT(items.error().ToString(), HasSubstr("/nowhere/items.txt"));
}

TEST(ArrayText, IsReadAndWrittenAlike) {
  for (const char* text : {"1-1000", "0-0", "1-10:2", "1-1000%50", "0-100:10%4", "-5--1", "-5-5"}) {
    Result<ArrayText> array = ParseArrayText(text);
    ASSERT_TRUE(array.ok()) << text;
    EXPECT_EQ(RenderArrayText(array->range, array->cap), text);
  }
  for (const char* text : {"", "-", "1", "1-", "1-2-3", " 1-2", "1-2 ", "1-2%", "1-2:", "1-2%%3",
                           "1-2%3:4", "0x1-2", "1-99999999999999999999", "1-2%4294967296"}) {
    EXPECT_FALSE(ParseArrayText(text).ok()) << text;
  }
}

}  // namespace
}  // namespace muster
