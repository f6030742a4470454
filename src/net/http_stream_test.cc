// Bodies and answers that are longer than memory should hold; event streams; clients that go.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/sse.h"
#include "net/test_server.h"
#include "support/eventually.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Eventually;
using test::RawSocket;
using test::TestServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ExchangePtr = std::shared_ptr<HttpExchange>;

constexpr size_t kHuge = 100 << 20;

// Writes `left` bytes as fast as the client reads them.
struct Faucet {
  ExchangePtr exchange;
  size_t left = kHuge;
  std::atomic<size_t>* most_pending = nullptr;

  void Pour(const std::shared_ptr<Faucet>& self) {
    std::string part(64 << 10, 'z');
    while (left > 0 && exchange->pending_bytes() < (256 << 10)) {
      exchange->Write(part);
      left -= part.size();
      *most_pending = std::max(most_pending->load(), exchange->pending_bytes());
    }
    if (left == 0) return exchange->Finish();
    exchange->OnDrained([self] { self->Pour(self); });
  }
};

TEST(HttpStream, PoursAHugeAnswerThroughLittleMemory) {
  std::atomic<size_t> most_pending = 0;
  TestServer server([&](HttpServer& s) {
    s.Route("GET", "/huge", [&](ExchangePtr exchange) {
      exchange->StartStream(200, "application/octet-stream");
      auto faucet = std::make_shared<Faucet>();
      faucet->exchange = std::move(exchange);
      faucet->most_pending = &most_pending;
      faucet->Pour(faucet);
    });
  });
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    HttpClient client(end);
    size_t size = 0;
    HttpStreamOptions options;
    options.on_part = [&](std::string_view part) {
      size += part.size();
      return true;
    };
    auto answer = client.Stream({.target = "/huge"}, options);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(size, kHuge);
    EXPECT_EQ(answer->body, "");
  }
  EXPECT_LT(most_pending, 1u << 20);
}

TEST(HttpStream, TakesAHugeBodyInPieces) {
  TestServer server([&](HttpServer& s) {
    s.StreamRoute("POST", "/lines", [](const ExchangePtr& exchange) {
      auto size = std::make_shared<size_t>(0);
      auto largest = std::make_shared<size_t>(0);
      exchange->OnBody([size, largest](std::string_view part) {
        *size += part.size();
        *largest = std::max(*largest, part.size());
      });
      exchange->OnBodyEnd([exchange, size, largest](const Status& status) {
        EXPECT_TRUE(status.ok());
        EXPECT_LE(*largest, 1u << 20);
        exchange->Respond(200, "", std::to_string(*size));
      });
    });
  });
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    HttpClient client(end);
    size_t left = kHuge;
    auto next = [&]() -> Result<std::string> {
      size_t size = std::min<size_t>(left, 100000);
      left -= size;
      return std::string(size, 'a');
    };
    auto answer = client.Call({.method = "POST", .target = "/lines", .next_body_part = next}, 60s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->body, std::to_string(kHuge));
  }
}

TEST(HttpStream, MakesTheClientWaitWhileTheBodyIsPaused) {
  ExchangePtr paused;
  std::atomic<size_t> taken = 0;
  TestServer server([&](HttpServer& s) {
    s.StreamRoute("POST", "/slow", [&](ExchangePtr exchange) {
      paused = exchange;
      exchange->OnBody([&](std::string_view part) {
        taken += part.size();
        paused->PauseBody();
      });
      exchange->OnBodyEnd([&](const Status& status) {
        EXPECT_TRUE(status.ok());
        paused->Respond(200, "", std::to_string(taken));
        paused.reset();
      });
    });
  });
  RawSocket socket(server.unix_end());
  socket.Send("POST /slow HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n");
  std::thread sender([&] { socket.Send(std::string(10000000, 'b')); });
  EXPECT_TRUE(Eventually([&] { return taken > 0; }));
  size_t before = taken;
  ::usleep(50000);
  EXPECT_EQ(taken, before);
  EXPECT_LT(before, 1000000u);
  EXPECT_TRUE(Eventually(
      [&] {
        server.Do([&] {
          if (paused) paused->ResumeBody();
        });
        return taken == 10000000;
      },
      20s, 0ms));
  sender.join();
  EXPECT_THAT(socket.ReadUntil("10000000"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpStream, MayBeAnsweredBeforeTheBodyEnds) {
  TestServer server([&](HttpServer& s) {
    s.StreamRoute("POST", "/no", [](const ExchangePtr& exchange) {
      exchange->OnBody(
          [exchange](std::string_view) { exchange->Respond(422, "", "line 1 is wrong"); });
    });
  });
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    HttpClient client(end);
    size_t left = 200 << 20;
    auto next = [&]() -> Result<std::string> {
      left -= 1 << 20;
      return std::string(left > 0 ? 1 << 20 : 0, 'a');
    };
    auto answer = client.Call({.method = "POST", .target = "/no", .next_body_part = next}, 20s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->status, 422);
    EXPECT_EQ(answer->body, "line 1 is wrong");
    EXPECT_GT(left, 0u);
  }
}

TEST(HttpStream, TellsTheHandlerThatTheBodyWasCut) {
  std::atomic<int> ends = 0;
  std::atomic<int> closed = 0;
  TestServer server([&](HttpServer& s) {
    s.StreamRoute("POST", "/x", [&](const ExchangePtr& exchange) {
      exchange->OnBody([](std::string_view) {});
      exchange->OnBodyEnd([&, exchange](const Status& status) {
        if (!status.ok()) ++ends;
        exchange->RespondError(status.error());
      });
      exchange->OnClosed([&] { ++closed; });
    });
  });
  {
    RawSocket socket(server.unix_end());
    socket.Send("POST /x HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc");
    EXPECT_TRUE(Eventually([&] { return server.connections() == 1; }));
    ::usleep(20000);
  }
  EXPECT_TRUE(Eventually([&] { return ends == 1 && closed == 1; }));
  RawSocket broken(server.unix_end());
  broken.Send("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzzz\r\n");
  EXPECT_THAT(broken.ReadToEnd(), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(ends, 2);
}

TEST(HttpStream, NoticesAWatcherThatVanishes) {
  std::atomic<int> closed = 0;
  TestServer server([&](HttpServer& s) {
    s.Route("GET", "/watch", [&](const ExchangePtr& exchange) {
      exchange->StartEvents();
      exchange->SendEvent("state", "1", "hello");
      exchange->OnClosed([&, exchange] { ++closed; });
    });
  });
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    int before = closed;
    RawSocket socket(end);
    socket.Send("GET /watch HTTP/1.1\r\n\r\n");
    socket.ReadUntil("hello");
    if (end.unix_path.empty()) {
      // Only a reset tells at once over TCP.
      linger hard{1, 0};
      ::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    socket.Close();
    EXPECT_TRUE(Eventually([&] { return closed == before + 1; }));
  }
  EXPECT_EQ(server.connections(), 0u);
}

TEST(HttpStream, FeedsFiftyWatchersAndDropsTheOneThatDoesNotRead) {
  HttpServerOptions options;
  options.limits.max_pending = KiB(256);
  std::vector<ExchangePtr> watchers;
  std::atomic<int> dropped = 0;
  TestServer server(
      [&](HttpServer& s) {
        s.Route("GET", "/watch", [&](ExchangePtr exchange) {
          exchange->StartEvents();
          exchange->OnClosed([&] { ++dropped; });
          watchers.push_back(std::move(exchange));
        });
      },
      options);
  constexpr int kWatchers = 50;
  constexpr int kEvents = 1000;
  std::atomic<int> complete = 0;
  RawSocket deaf(server.unix_end());
  deaf.Send("GET /watch HTTP/1.1\r\n\r\n");
  std::vector<std::thread> threads;
  for (int w = 0; w < kWatchers; ++w) {
    threads.emplace_back([&, w] {
      HttpClient client(w % 2 == 0 ? server.unix_end() : server.tcp_end());
      SseParser parser;
      int expected = 0;
      HttpStreamOptions stream;
      stream.on_part = [&](std::string_view part) {
        parser.Feed(part, [&](const SseEvent& event) {
          if (event.id == std::to_string(expected)) ++expected;
        });
        return expected < kEvents;
      };
      if (client.Stream({.target = "/watch"}, stream).ok() && expected == kEvents) ++complete;
    });
  }
  EXPECT_TRUE(Eventually([&] {
    size_t count = 0;
    server.Do([&] { count = watchers.size(); });
    return count == kWatchers + 1;
  }));
  std::string data(1000, 'd');
  // At the pace of those that read.
  for (int i = 0; i < kEvents; i += 100) {
    server.Do([&] {
      for (int k = i; k < i + 100; ++k) {
        for (auto& watcher : watchers) watcher->SendEvent("state", std::to_string(k), data);
      }
    });
    EXPECT_TRUE(Eventually([&] {
      int behind = 0;
      server.Do([&] {
        for (auto& watcher : watchers) behind += watcher->pending_bytes() > 100000 ? 1 : 0;
      });
      return behind <= 1;
    }));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(complete, kWatchers);
  EXPECT_GE(dropped, 1);
  server.Do([&] { watchers.clear(); });
}

TEST(HttpStream, KeepsAQuietEventStreamAlive) {
  HttpServerOptions options;
  options.limits.heartbeat = 40ms;
  ExchangePtr watcher;
  TestServer server(
      [&](HttpServer& s) {
        s.Route("GET", "/watch", [&](ExchangePtr exchange) {
          exchange->StartEvents();
          watcher = std::move(exchange);
        });
      },
      options);
  RawSocket socket(server.unix_end());
  socket.Send("GET /watch HTTP/1.1\r\n\r\n");
  std::string head = socket.ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(socket.ReadUntil(":\n\n"), HasSubstr(":\n\n"));
  server.Do([&] {
    watcher->Finish();
    watcher.reset();
  });
  EXPECT_THAT(socket.ReadUntil("0\r\n\r\n"), HasSubstr("0\r\n\r\n"));
}

}  // namespace
}  // namespace muster
