#include "net/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

std::vector<SseEvent> ParseInSteps(std::string_view text, size_t step) {
  SseParser parser;
  std::vector<SseEvent> events;
  while (!text.empty()) {
    parser.Feed(text.substr(0, step), [&](const SseEvent& event) { events.push_back(event); });
    text.remove_prefix(std::min(step, text.size()));
  }
  return events;
}

TEST(Sse, FindsTheSameEventsHoweverTheBytesCome) {
  std::string text =
      "\xEF\xBB\xBF: hello\n\nevent: state\r\nid: 7\r\ndata: one\r\ndata:two\r\n\r\n"
      ":\n\ndata\n\nid\rdata:  x: y\r\rretry: 1500\nevent: nothing\n\ndata: cut off";
  std::vector<SseEvent> expected{
      {"state", "7", "one\ntwo"}, {"message", "7", ""}, {"message", "", " x: y"}};
  for (size_t step = 1; step <= text.size(); ++step) EXPECT_EQ(ParseInSteps(text, step), expected);
}

TEST(Sse, KeepsTheLastIdOverARestart) {
  SseParser parser;
  int count = 0;
  auto take = [&](const SseEvent&) { ++count; };
  parser.Feed("id: 5\ndata: a\n\ndata: half", take);
  EXPECT_EQ(parser.last_event_id(), "5");
  parser.Restart();
  parser.Feed("\n\n", take);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(parser.last_event_id(), "5");
  parser.Feed("retry: 250\n", take);
  EXPECT_EQ(parser.retry(), Duration{250000});
}

TEST(Sse, ReadsWhatItWrites) {
  for (std::string_view data : {"", "a", "a\nb", "\n", "a\n\nb\n", " leading", "{\"k\":\"v\"}"}) {
    auto events = ParseInSteps(RenderSseEvent("name", "id-1", data), 1);
    ASSERT_EQ(events.size(), 1u) << data;
    EXPECT_EQ(events[0], (SseEvent{"name", "id-1", std::string(data)}));
  }
}

TEST(Sse, LetsNoNameAddALine) {
  auto events = ParseInSteps(RenderSseEvent("a\ndata: evil", "1\r2", "x"), 3);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], (SseEvent{"a", "1", "x"}));
}

}  // namespace
}  // namespace muster
