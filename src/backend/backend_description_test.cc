#include "backend/backend_description.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

size_t Columns(const std::string& line) {
  size_t bars = 0;
  for (size_t i = 0; i < line.size(); ++i)
    bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
  return bars;
}

TEST(CapabilityRow, HasAsManyColumnsAsItsHead) {
  BackendDescription description{.kind = "odd|kind", .sentence = "two\nlines"};
  description.cannot = {"a | b", "c"};
  std::string head = RenderCapabilityHead();
  std::string first = head.substr(0, head.find('\n'));
  std::string row = RenderCapabilityRow(description);
  EXPECT_EQ(Columns(row), Columns(first));
  EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1);
}

TEST(CapabilityRow, SaysWhatTheDescriptionSays) {
  BackendDescription description{.kind = "paper", .sentence = "clerks"};
  description.submit = SubmitStyle::kFind;
  description.settle = std::chrono::seconds(30);
  description.limits = LimitsStyle::kContainer;
  description.name_length = 63;
  description.name_alphabet = "a-z";
  description.cannot = {"stop"};
  EXPECT_EQ(
      RenderCapabilityRow(description),
      "| paper | clerks | find, settles in 30s | container | 63 of a-z | 1 | 1 | – | – | no | no "
      "| no | stop |\n");
}

}  // namespace
}  // namespace muster
