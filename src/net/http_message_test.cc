#include "net/http_message.h"

#include <gtest/gtest.h>

#include "net/endpoint.h"
#include "net/http_parser.h"
#include "net/router.h"

namespace muster {
namespace {

TEST(HttpHeaders, AreFoundInAnyCase) {
  HttpHeaders headers{{"Content-Type", "a"}, {"X-B", "1"}, {"x-b", "2"}};
  EXPECT_EQ(headers.Find("content-TYPE"), "a");
  EXPECT_EQ(headers.Find("X-b"), "1");
  EXPECT_EQ(headers.Find("x"), std::nullopt);
}

TEST(HttpHeaders, SplitListsOfTokens) {
  HttpHeaders headers{{"Connection", "keep-alive, Upgrade"}};
  EXPECT_TRUE(headers.HasToken("connection", "upgrade"));
  EXPECT_TRUE(headers.HasToken("connection", "keep-alive"));
  EXPECT_FALSE(headers.HasToken("connection", "keep"));
}

TEST(HttpMessage, DecodesPercentCodes) {
  EXPECT_EQ(*DecodePercent("a%20b%2Fc%e2%82%ac"), "a b/c\u20ac");
  EXPECT_EQ(*DecodePercent(""), "");
  for (const char* broken : {"%", "%2", "a%g0", "%zz"}) EXPECT_FALSE(DecodePercent(broken).ok());
}

TEST(HttpMessage, EncodesWhatItDecodes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(*DecodePercent(EncodePercent(all)), all);
  EXPECT_EQ(EncodePercent("a-b c/é"), "a-b%20c%2F%C3%A9");
}

TEST(HttpMessage, ParsesQueries) {
  auto query = ParseQuery("a=1&b=x+y%26&&c&d==&a=2");
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(*query,
            (std::map<std::string, std::string>{{"a", "2"}, {"b", "x y&"}, {"c", ""}, {"d", "="}}));
  EXPECT_FALSE(ParseQuery("a=%1").ok());
}

TEST(HttpMessage, LetsNoHeaderValueAddAHeader) {
  std::string head;
  AppendHeader(head, "X", "a\r\nEvil: 1\x01");
  EXPECT_EQ(head, "X: a  Evil: 1 \r\n");
}

TEST(HttpMessage, RendersDates) {
  EXPECT_EQ(RenderHttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Endpoint, IsReadInTheFormsItIsWritten) {
  for (const Endpoint& endpoint : {Endpoint::Unix("/run/a b.sock"), Endpoint::Tcp("10.0.0.1", 80),
                                   Endpoint::Tcp("::1", 8080)}) {
    EXPECT_EQ(*ParseEndpoint(Render(endpoint)), endpoint);
  }
  EXPECT_EQ(*ParseEndpoint("unix:/x"), Endpoint::Unix("/x"));
  EXPECT_EQ(*ParseEndpoint("http://host:1/"), Endpoint::Tcp("host", 1));
  for (const char* bad : {"", "host", "host:", "host:99999", ":1", "host:1x"}) {
    EXPECT_FALSE(ParseEndpoint(bad).ok()) << bad;
  }
}

TEST(Router, PrefersWordsToParameters) {
  Router router;
  router.Add("GET", "/v1/jobs/{id}", 1);
  router.Add("GET", "/v1/jobs/last", 2);
  router.Add("POST", "/v1/jobs/last", 3);
  router.Add("GET", "/v1/jobs/{id}/tasks/{n}", 4);
  router.Add("GET", "/", 5);
  EXPECT_EQ(router.Find("GET", "/v1/jobs/j1").route, 1u);
  EXPECT_EQ(router.Find("GET", "/v1/jobs/last").route, 2u);
  EXPECT_EQ(router.Find("HEAD", "/v1/jobs/last").route, 2u);
  EXPECT_EQ(router.Find("POST", "/v1/jobs/last").route, 3u);
  EXPECT_EQ(router.Find("GET", "/").route, 5u);
  auto match = router.Find("GET", "/v1/jobs/a%2Fb/tasks/7");
  EXPECT_EQ(match.route, 4u);
  EXPECT_EQ(match.parameters, (std::map<std::string, std::string>{{"id", "a/b"}, {"n", "7"}}));
}

TEST(Router, TellsAWrongPathFromAWrongMethod) {
  Router router;
  router.Add("GET", "/a/{x}", 1);
  router.Add("DELETE", "/a/{x}", 2);
  EXPECT_EQ(router.Find("GET", "/a").outcome, Router::Outcome::kNoSuchPath);
  EXPECT_EQ(router.Find("GET", "/a/").outcome, Router::Outcome::kNoSuchPath);
  EXPECT_EQ(router.Find("GET", "/a/b/c").outcome, Router::Outcome::kNoSuchPath);
  EXPECT_EQ(router.Find("GET", "/a/%").outcome, Router::Outcome::kBadPath);
  EXPECT_EQ(router.Find("GET", "").outcome, Router::Outcome::kBadPath);
  auto match = router.Find("PUT", "/a/b");
  EXPECT_EQ(match.outcome, Router::Outcome::kNoSuchMethod);
  EXPECT_EQ(match.allowed, (std::vector<std::string>{"DELETE", "GET"}));
}

// Feeds `text` in pieces of `step` bytes; the body, or what is wrong.
Result<std::string> ParseRequest(std::string_view text, size_t step) {
  HttpParser parser(HttpParser::Side::kRequest, KiB(1));
  std::string inbox;
  std::string body;
  while (!parser.done()) {
    if (text.empty()) return UserError(ErrorCode::kUnavailable, "more is needed");
    inbox.append(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
    while (!parser.done()) {
      auto eaten = parser.Feed(inbox, [&](std::string_view part) { body.append(part); });
      if (!eaten.ok()) return std::move(eaten).error();
      if (*eaten == 0) break;
      inbox.erase(0, *eaten);
    }
  }
  return body;
}

TEST(HttpParser, FindsTheSameBodyHoweverTheBytesCome) {
  std::string chunked =
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n";
  std::string sized = "POST /x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
  for (size_t step = 1; step <= chunked.size(); ++step) {
    EXPECT_EQ(*ParseRequest(chunked, step), "abc0123456789") << step;
    EXPECT_EQ(*ParseRequest(sized, step), "hello") << step;
  }
}

TEST(HttpParser, RefusesWhatIsNotHttp) {
  for (const char* text :
       {"\x01\x02\x03\x04\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/3.0\r\n\r\n",
        "GET / HTTP/1.1\r\nbad\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"}) {
    auto body = ParseRequest(text, 1000);
    ASSERT_FALSE(body.ok()) << text;
    EXPECT_EQ(body.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(HttpParser, LimitsTheSumOfAllHeaders) {
  std::string head = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 100; ++i) head += fmt::format("X-{}: 0123456789\r\n", i);
  for (size_t step : {1, 10, 100, 10000}) {
    EXPECT_EQ(ParseRequest(head + "\r\n", step).error().code, ErrorCode::kResourceExhausted);
  }
  EXPECT_EQ(ParseRequest("GET /" + std::string(2000, 'a'), 7).error().code,
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace muster
