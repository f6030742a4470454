#include "net/web_socket.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "net/http_client.h"
#include "net/listener.h"
#include "net/test_server.h"
#include "net/web_socket_frames.h"
#include "support/eventually.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Eventually;
using test::RawSocket;
using test::TestServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using SocketPtr = std::shared_ptr<WebSocket>;

// Both ends on one loop, which the test runs itself.
class WebSocketTest : public ::testing::Test {
 protected:
  void Start(WebSocketLimits server_limits = {}, WebSocketLimits client_limits = {}) {
    server_.emplace(loop_);
    server_->UpgradeRoute(
        "/v1/executor/{name}",
        [this](const HttpRequest& request, SocketPtr socket) {
          EXPECT_EQ(request.parameters.at("name"), "x1");
          far_ = std::move(socket);
          far_->OnClosed([this](const Error& error) { far_closed_ = error; });
        },
        server_limits);
    server_->Route("GET", "/plain", [](const std::shared_ptr<HttpExchange>& exchange) {
      exchange->Respond(200, "", "plain");
    });
    ASSERT_TRUE(server_->ListenUnix(path_).ok());
    ASSERT_TRUE(server_->ListenTcp("127.0.0.1", 0).ok());
    Dial(Endpoint::Unix(path_), client_limits);
  }
  void Dial(const Endpoint& endpoint, WebSocketLimits limits = {}) {
    near_.reset();
    far_.reset();
    WebSocket::Connect(
        loop_, endpoint, "/v1/executor/x1", {{"Authorization", "Bearer t"}}, 5s,
        [this](Result<SocketPtr> socket) {
          ASSERT_TRUE(socket.ok()) << socket.error();
          near_ = *socket;
          near_->OnClosed([this](const Error& error) { near_closed_ = error; });
        },
        limits);
    RunUntil([this] { return near_ && far_; });
  }
  bool RunUntil(const std::function<bool()>& condition, Duration limit = 20s) {
    BootTime end = SystemClock().Read().boot + limit;
    while (!condition()) {
      if (SystemClock().Read().boot > end) return false;
      loop_.RunOnce(10ms);
    }
    return true;
  }

  test::TempDir folder_;
  const std::string path_ = folder_ / "s.sock";
  EventLoop loop_;
  std::optional<HttpServer> server_;
  SocketPtr near_;
  SocketPtr far_;
  std::optional<Error> near_closed_;
  std::optional<Error> far_closed_;
};

TEST_F(WebSocketTest, CarriesManyMessagesInOrderBothWays) {
  Start();
  for (const Endpoint& end : {Endpoint::Unix(path_), Endpoint::Tcp("127.0.0.1", server_->port())}) {
    Dial(end);
    constexpr uint32_t kCount = 100000;
    uint32_t near_seen = 0;
    uint32_t far_seen = 0;
    auto check = [](uint32_t& seen, std::string_view message) {
      uint32_t value = 0;
      ASSERT_EQ(message.size(), 4 + seen % 100);
      std::memcpy(&value, message.data(), 4);
      ASSERT_EQ(value, seen);
      ++seen;
    };
    near_->OnMessage([&](std::string_view message) { check(near_seen, message); });
    far_->OnMessage([&](std::string_view message) { check(far_seen, message); });
    uint32_t sent = 0;
    ASSERT_TRUE(RunUntil([&] {
      for (int i = 0; i < 1000 && sent < kCount; ++i, ++sent) {
        std::string message(4 + sent % 100, 'm');
        std::memcpy(message.data(), &sent, 4);
        near_->Send(message);
        far_->Send(message);
      }
      return near_seen == kCount && far_seen == kCount;
    }));
    EXPECT_EQ(near_->pending_bytes(), 0u);
  }
}

TEST_F(WebSocketTest, CarriesMessagesOfEverySize) {
  Start();
  std::vector<std::string> got;
  far_->OnMessage([&](std::string_view message) { far_->Send(message); });
  near_->OnMessage([&](std::string_view message) { got.emplace_back(message); });
  std::vector<std::string> sent;
  for (size_t size : {0u, 1u, 125u, 126u, 65535u, 65536u, 1u << 20, 16u << 20}) {
    sent.emplace_back(size, static_cast<char>('a' + sent.size()));
    near_->Send(sent.back());
  }
  ASSERT_TRUE(RunUntil([&] { return got.size() == sent.size(); }));
  EXPECT_TRUE(got == sent);
}

TEST_F(WebSocketTest, SaysWhyItClosed) {
  Start();
  near_->OnMessage([](std::string_view) {});
  far_->OnMessage([](std::string_view) {});
  near_->Send("last words");
  near_->Close("going home");
  EXPECT_FALSE(near_->open());
  ASSERT_TRUE(RunUntil([&] { return near_closed_ && far_closed_; }));
  EXPECT_EQ(near_closed_->code, ErrorCode::kCancelled);
  EXPECT_EQ(far_closed_->code, ErrorCode::kCancelled);
  EXPECT_EQ(far_closed_->their_words, "going home");
  near_->Send("nobody hears this");
  near_->Close();
}

TEST_F(WebSocketTest, ClosesEvenIfTheOtherSideDoesNotAnswer) {
  Start();
  near_->OnMessage([](std::string_view) {});
  near_->Close();
  ASSERT_TRUE(RunUntil([&] { return near_closed_.has_value(); }));
  EXPECT_EQ(near_closed_->code, ErrorCode::kCancelled);
}

TEST_F(WebSocketTest, DeliversWhatWasSentBeforeTheClose) {
  Start();
  std::string seen;
  for (int i = 0; i < 10; ++i) near_->Send(std::to_string(i));
  near_->Close();
  far_->OnMessage([&](std::string_view message) { seen += message; });
  ASSERT_TRUE(RunUntil([&] { return far_closed_.has_value(); }));
  EXPECT_EQ(seen, "0123456789");
}

TEST_F(WebSocketTest, ReportsACutConnection) {
  Start();
  near_->OnMessage([](std::string_view) {});
  far_->OnMessage([](std::string_view) {});
  far_.reset();
  ASSERT_TRUE(RunUntil([&] { return near_closed_.has_value(); }));
  EXPECT_EQ(near_closed_->code, ErrorCode::kUnavailable);
  EXPECT_FALSE(far_closed_);
}

TEST_F(WebSocketTest, MayBeDroppedFromItsOwnCallbacks) {
  Start();
  near_->OnMessage([&](std::string_view) { near_.reset(); });
  far_->OnMessage([](std::string_view) {});
  far_->Send("a");
  far_->Send("b");
  ASSERT_TRUE(RunUntil([&] { return far_closed_.has_value(); }));
  Dial(Endpoint::Unix(path_));
  near_->OnClosed([&](const Error&) { near_.reset(); });
  near_->OnMessage([](std::string_view) {});
  far_.reset();
  ASSERT_TRUE(RunUntil([&] { return near_ == nullptr; }));
}

TEST_F(WebSocketTest, LetsACallbackReplaceItself) {
  Start();
  std::string seen;
  near_->OnMessage([&](std::string_view first) {
    seen += std::string(first) + ".";
    near_->OnMessage([&](std::string_view other) { seen += other; });
  });
  for (const char* message : {"hello", "a", "b"}) far_->Send(message);
  ASSERT_TRUE(RunUntil([&] { return seen == "hello.ab"; })) << seen;
}

TEST_F(WebSocketTest, HoldsMessagesBackWhilePaused) {
  Start();
  std::vector<std::string> seen;
  near_->OnMessage([&](std::string_view message) {
    seen.emplace_back(message);
    near_->PauseReading();
  });
  for (int i = 0; i < 5; ++i) far_->Send(std::to_string(i));
  ASSERT_TRUE(RunUntil([&] { return seen.size() == 1; }));
  for (int i = 0; i < 20; ++i) loop_.RunOnce(1ms);
  EXPECT_EQ(seen.size(), 1u);
  for (size_t i = 2; i <= 5; ++i) {
    near_->ResumeReading();
    ASSERT_TRUE(RunUntil([&] { return seen.size() == i; }));
  }
  EXPECT_EQ(seen.back(), "4");
}

TEST_F(WebSocketTest, ClosesWhenTheOtherSideDoesNotRead) {
  WebSocketLimits limits;
  limits.max_pending = MiB(1);
  Start(limits);
  std::string message(100000, 'x');
  EXPECT_TRUE(RunUntil([&] {
    far_->Send(message);
    EXPECT_LE(far_->pending_bytes(), 1u << 20);
    return far_closed_.has_value();
  }));
  EXPECT_EQ(far_closed_->code, ErrorCode::kResourceExhausted);
  near_->OnMessage([](std::string_view) {});
  ASSERT_TRUE(RunUntil([&] { return near_closed_.has_value(); }));
}

TEST_F(WebSocketTest, RefusesMessagesOverTheLimit) {
  WebSocketLimits limits;
  limits.max_message = KiB(64);
  Start(limits);
  near_->OnMessage([](std::string_view) {});
  far_->OnMessage([](std::string_view) { FAIL(); });
  near_->Send(std::string(65537, 'x'));
  ASSERT_TRUE(RunUntil([&] { return far_closed_ && near_closed_; }));
  EXPECT_EQ(far_closed_->code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(near_closed_->code, ErrorCode::kUnavailable);
  EXPECT_THAT(near_closed_->their_words, HasSubstr("more than 64Ki"));
}

TEST_F(WebSocketTest, PingsASilentPeerAndGivesUpOnADeadOne) {
  WebSocketLimits limits;
  limits.ping_every = 20ms;
  Start(limits);
  near_->OnMessage([](std::string_view) {});
  far_->OnMessage([](std::string_view) {});
  // A living one answers by itself.
  EXPECT_FALSE(RunUntil([&] { return far_closed_.has_value(); }, 300ms));
  near_->PauseReading();
  EXPECT_TRUE(RunUntil([&] { return far_closed_.has_value(); }));
  EXPECT_EQ(far_closed_->code, ErrorCode::kUnavailable);
  EXPECT_THAT(far_closed_->message, HasSubstr("silent for 60ms"));
}

TEST_F(WebSocketTest, TellsWhyItCouldNotBeOpened) {
  Start();
  auto dial = [&](const Endpoint& endpoint, const std::string& target) {
    std::optional<Error> error;
    WebSocket::Connect(loop_, endpoint, target, {}, 200ms, [&](Result<SocketPtr> socket) {
      ASSERT_FALSE(socket.ok());
      error = socket.error();
    });
    EXPECT_TRUE(RunUntil([&] { return error.has_value(); }));
    return error.value_or(InternalError("none"));
  };
  EXPECT_EQ(dial(Endpoint::Unix(path_), "/nothing").code, ErrorCode::kNotFound);
  EXPECT_EQ(dial(Endpoint::Unix(path_), "/plain").code, FromHttpStatus(200));
  Error nobody = dial(Endpoint::Unix(folder_ / "none.sock"), "/");
  EXPECT_EQ(nobody.code, ErrorCode::kUnavailable);
  EXPECT_THAT(nobody.message, HasSubstr("none.sock"));
  EXPECT_EQ(dial(Endpoint::Tcp("127.0.0.1", 1), "/").code, ErrorCode::kUnavailable);
  // Listens and says nothing.
  auto silent = Listener::Unix(loop_, folder_ / "silent.sock", 0600, [](UniqueFd) {});
  static std::vector<UniqueFd> held;
  auto holding = Listener::Unix(loop_, folder_ / "holding.sock", 0600,
                                [](UniqueFd fd) { held.push_back(std::move(fd)); });
  EXPECT_EQ(dial(Endpoint::Unix(folder_ / "silent.sock"), "/").code, ErrorCode::kUnavailable);
  EXPECT_EQ(dial(Endpoint::Unix(folder_ / "holding.sock"), "/").code, ErrorCode::kDeadlineExceeded);
  held.clear();
}

TEST_F(WebSocketTest, ResolvesHostNames) {
  Start();
  Dial(Endpoint::Tcp("localhost", server_->port()));
  EXPECT_TRUE(near_ && far_);
}

TEST_F(WebSocketTest, KeepsDescriptorsForItselfOnly) {
  Start();
  EXPECT_TRUE(near_->peer().has_value());
  EXPECT_EQ(far_->peer()->pid, ::getpid());
}

TEST(WebSocket, RefusesClientsThatSpeakSomethingElse) {
  std::vector<SocketPtr> sockets;
  std::atomic<int> closed = 0;
  TestServer server([&](HttpServer& s) {
    s.UpgradeRoute("/ws", [&](const HttpRequest&, SocketPtr socket) {
      socket->OnMessage([](std::string_view) {});
      socket->OnClosed([&](const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
        ++closed;
      });
      sockets.push_back(std::move(socket));
    });
  });
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.target = "/ws"}, 10s)->status, 426);
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.method = "POST", .target = "/ws"}, 10s)->status,
            405);
  RawSocket socket(server.unix_end());
  // Frames may come right behind the handshake.
  socket.Send(
      "GET /ws HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
      "\x89\x80zzzz\xff\xff\xff\xff");
  std::string answer = socket.ReadToEnd();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(answer, HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_THAT(answer, HasSubstr(std::string("\x8a\x00\x88", 3)));
  EXPECT_TRUE(Eventually([&] { return closed == 1; }));
  server.Do([&] { sockets.clear(); });
}

}  // namespace
}  // namespace muster
