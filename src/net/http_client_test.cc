#include "net/http_client.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>

#include "net/http_server.h"
#include "net/test_server.h"
#include "support/eventually.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Eventually;
using test::TestServer;
using ::testing::HasSubstr;
using ExchangePtr = std::shared_ptr<HttpExchange>;

// Accepts one connection after the other and does with it what the test says.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::function<void(int fd, int turn)> script)
      : address_(*UnixAddress::Make(path_)), listener_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    EXPECT_EQ(::bind(listener_.get(), address_.address(), address_.length()), 0);
    EXPECT_EQ(::listen(listener_.get(), 10), 0);
    thread_ = std::thread([this, script = std::move(script)] {
      for (int turn = 0;; ++turn) {
        UniqueFd fd(::accept(listener_.get(), nullptr, nullptr));
        if (!fd.valid()) return;
        script(fd.get(), turn);
      }
    });
  }
  ~ScriptedServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Endpoint end() const { return Endpoint::Unix(path_); }

 private:
  test::TempDir folder_;
  const std::string path_ = folder_ / "s.sock";
  UnixAddress address_;
  UniqueFd listener_;
  std::thread thread_;
};

void ReadHead(int fd) {
  std::string text;
  char byte = 0;
  while (!text.ends_with("\r\n\r\n") && ::recv(fd, &byte, 1, 0) == 1) text.push_back(byte);
}

void Say(int fd, std::string_view text) {
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST(HttpClient, SaysThatNobodyListens) {
  test::TempDir folder;
  std::string path = folder / "none.sock";
  Error error = HttpClient(Endpoint::Unix(path)).Call({}, 1s).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, "connect to " + path + ": No such file or directory");
  {
    UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    auto address = UnixAddress::Make(path);
    ASSERT_EQ(::bind(dead.get(), address->address(), address->length()), 0);
  }
  error = HttpClient(Endpoint::Unix(path)).Call({.method = "POST"}, 1s).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, "connect to " + path + ": Connection refused");
  error = HttpClient(Endpoint::Tcp("127.0.0.1", 1)).Call({}, 1s).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
}

TEST(HttpClient, TellsAnUnknownOutcomeFromNone) {
  ScriptedServer silent([](int fd, int) {
    ReadHead(fd);
    char byte = 0;
    while (::recv(fd, &byte, 1, 0) == 1) {
    }
  });
  EXPECT_EQ(HttpClient(silent.end()).Call({.method = "POST"}, 50ms).error().code,
            ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(HttpClient(silent.end()).Call({.method = "GET"}, 50ms).error().code,
            ErrorCode::kDeadlineExceeded);
}

TEST(HttpClient, NeverTakesACutAnswerForAWholeOne) {
  for (std::string_view half :
       {"", "HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n"}) {
    ScriptedServer server([half](int fd, int) {
      ReadHead(fd);
      if (!half.empty()) Say(fd, half);
    });
    EXPECT_EQ(HttpClient(server.end()).Call({}, 5s).error().code, ErrorCode::kUnavailable) << half;
    EXPECT_EQ(HttpClient(server.end()).Call({.method = "POST"}, 5s).error().code,
              ErrorCode::kOutcomeUnknown)
        << half;
    HttpStreamOptions options;
    options.on_part = [](std::string_view) { return true; };
    EXPECT_EQ(HttpClient(server.end()).Stream({}, options).error().code, ErrorCode::kUnavailable);
  }
}

TEST(HttpClient, TakesAnAnswerThatEndsWithTheConnection) {
  ScriptedServer server([](int fd, int) {
    ReadHead(fd);
    Say(fd, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it");
  });
  auto answer = HttpClient(server.end()).Call({}, 5s);
  ASSERT_TRUE(answer.ok()) << answer.error();
  EXPECT_EQ(answer->body, "all of it");
}

TEST(HttpClient, RefusesWhatIsNotHttp) {
  ScriptedServer server([](int fd, int) { Say(fd, "220 mail.example ESMTP\r\n"); });
  EXPECT_EQ(HttpClient(server.end()).Call({}, 5s).error().code, ErrorCode::kInvalidArgument);
}

TEST(HttpClient, KeepsItsConnectionAndReplacesOneThatTheServerClosed) {
  std::atomic<int> connections = 0;
  ScriptedServer server([&](int fd, int turn) {
    ++connections;
    int answers = turn == 0 ? 2 : 1;
    for (int i = 0; i < answers; ++i) {
      ReadHead(fd);
      Say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    }
    // The second connection closes only after the next request has come.
    if (turn == 1) ReadHead(fd);
  });
  HttpClient client(server.end());
  for (int i = 0; i < 4; ++i) {
    auto answer = client.Call({}, 5s);
    ASSERT_TRUE(answer.ok()) << i << answer.error();
    if (i == 1) ::usleep(20000);
  }
  EXPECT_EQ(connections, 3);
}

TEST(HttpClient, NeverSendsAPostTwice) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&](int fd, int) {
    ReadHead(fd);
    ++requests;
    Say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    ReadHead(fd);
    ++requests;
  });
  HttpClient client(server.end());
  ASSERT_TRUE(client.Call({.method = "POST"}, 5s).ok());
  EXPECT_EQ(client.Call({.method = "POST"}, 5s).error().code, ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(requests, 2);
}

TEST(HttpClient, LimitsWhatItHoldsInMemory) {
  TestServer server([](HttpServer& s) {
    s.Route("GET", "/", [](const ExchangePtr& exchange) {
      exchange->Respond(200, "", std::string(100000, 'x'));
    });
  });
  HttpClient client(server.unix_end());
  client.LimitAnswer(KiB(64));
  EXPECT_EQ(client.Call({}, 5s).error().code, ErrorCode::kResourceExhausted);
  client.LimitAnswer(KiB(128));
  EXPECT_EQ(client.Call({}, 5s)->body.size(), 100000u);
}

TEST(HttpClient, StopsWhenAskedTo) {
  std::vector<ExchangePtr> held;
  TestServer server([&](HttpServer& s) {
    s.Route("GET", "/wait", [&](ExchangePtr exchange) { held.push_back(std::move(exchange)); });
    s.Route("GET", "/events", [&](ExchangePtr exchange) {
      exchange->StartEvents();
      exchange->Write("data: 1\n\n");
      held.push_back(std::move(exchange));
    });
  });
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  UniqueFd read(fds[0]);
  UniqueFd write(fds[1]);
  HttpClient client(server.unix_end());
  client.CancelBy(read.get());
  // By its reader's answer.
  HttpStreamOptions options;
  options.on_part = [](std::string_view) { return false; };
  EXPECT_TRUE(client.Stream({.target = "/events"}, options).ok());
  // By silence.
  options.on_part = [](std::string_view) { return true; };
  options.silence_limit = 50ms;
  EXPECT_EQ(client.Stream({.target = "/events"}, options).error().code,
            ErrorCode::kDeadlineExceeded);
  // By a signal.
  options.silence_limit = Duration{0};
  options.on_part = [&](std::string_view) {
    EXPECT_EQ(::write(write.get(), "x", 1), 1);
    return true;
  };
  EXPECT_EQ(client.Stream({.target = "/events"}, options).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(client.Call({.target = "/wait"}, 10s).error().code, ErrorCode::kCancelled);
  server.Do([&] { held.clear(); });
}

TEST(HttpClient, ReturnsTheErrorOfABodyThatCannotBeMade) {
  TestServer server([](HttpServer& s) {
    s.StreamRoute("POST", "/", [](const ExchangePtr& exchange) {
      exchange->OnBodyEnd([exchange](const Status&) { exchange->Respond(200, "", ""); });
    });
  });
  int part = 0;
  auto next = [&]() -> Result<std::string> {
    if (++part == 3) return UserError(ErrorCode::kInvalidArgument, "line 3 is wrong");
    return std::string("line");
  };
  HttpClient client(server.unix_end());
  EXPECT_EQ(client.Call({.method = "POST", .next_body_part = next}, 5s).error().message,
            "line 3 is wrong");
  EXPECT_TRUE(client.Call({.method = "POST", .body = "x"}, 5s).ok());
}

TEST(HttpClient, GivesErrorAnswersWhole) {
  TestServer server([](HttpServer&) {});
  HttpStreamOptions options;
  int head_status = 0;
  options.on_head = [&](const HttpResponse& head) { head_status = head.status; };
  options.on_part = [](std::string_view) {
    ADD_FAILURE();
    return true;
  };
  auto answer = HttpClient(server.unix_end()).Stream({.target = "/none"}, options);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(head_status, 404);
  EXPECT_EQ(answer->status, 404);
  EXPECT_THAT(answer->body, HasSubstr("there is nothing at /none"));
}

}  // namespace
}  // namespace muster
