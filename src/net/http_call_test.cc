#include "net/http_call.h"

#include <gtest/gtest.h>

#include <optional>

#include "net/http_server.h"
#include "net/listener.h"
#include "support/temp_dir.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using ExchangePtr = std::shared_ptr<HttpExchange>;

// Server and callers on one loop.
class HttpCallTest : public ::testing::Test {
 protected:
  HttpCallTest() {
    server_.Route("POST", "/echo", [](const ExchangePtr& exchange) {
      exchange->Respond(200, "", exchange->request().body);
    });
    server_.Route("GET", "/wait", [this](ExchangePtr exchange) { held_ = std::move(exchange); });
    server_.Route("POST", "/wait", [this](ExchangePtr exchange) { held_ = std::move(exchange); });
    EXPECT_TRUE(server_.ListenUnix(path_).ok());
    EXPECT_TRUE(server_.ListenTcp("127.0.0.1", 0).ok());
  }

  Result<HttpResponse> Call(const Endpoint& endpoint, HttpClientRequest request,
                            Duration limit = 10s) {
    std::optional<Result<HttpResponse>> answer;
    CallHttp(
        loop_, endpoint, std::move(request), limit,
        [&](Result<HttpResponse> got) { answer = std::move(got); }, MiB(1));
    while (!answer) loop_.RunOnce(10ms);
    return std::move(*answer);
  }
  Endpoint unix_end() const { return Endpoint::Unix(path_); }

  test::TempDir folder_;
  const std::string path_ = folder_ / "s.sock";
  EventLoop loop_;
  HttpServer server_{loop_};
  ExchangePtr held_;
};

TEST_F(HttpCallTest, GetsAnswersOverBothKindsOfSocket) {
  for (const Endpoint& end : {unix_end(), Endpoint::Tcp("127.0.0.1", server_.port())}) {
    std::string body(1 << 19, 'x');
    auto answer = Call(end, {.method = "POST", .target = "/echo", .body = body});
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_TRUE(answer->body == body);
    EXPECT_EQ(Call(end, {.target = "/none"})->status, 404);
    EXPECT_EQ(Call(end, {.method = "HEAD", .target = "/none"})->body, "");
  }
}

TEST_F(HttpCallTest, TellsItsFailuresApart) {
  EXPECT_EQ(Call(Endpoint::Unix(folder_ / "none"), {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Call(Endpoint::Tcp("127.0.0.1", 1), {}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Call(unix_end(), {.target = "/wait"}, 20ms).error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(Call(unix_end(), {.method = "POST", .target = "/wait"}, 20ms).error().code,
            ErrorCode::kOutcomeUnknown);
  std::string body(2 << 20, 'x');
  EXPECT_EQ(Call(unix_end(), {.method = "POST", .target = "/echo", .body = body}).error().code,
            ErrorCode::kResourceExhausted);
  auto cutting = Listener::Unix(loop_, folder_ / "cut.sock", 0600, [](UniqueFd) {});
  EXPECT_EQ(Call(Endpoint::Unix(folder_ / "cut.sock"), {}).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster
