#include "net/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "base/random.h"
#include "net/http_client.h"
#include "net/test_server.h"
#include "support/eventually.h"

extern "C" __attribute__((weak)) void __ubsan_handle_dynamic_type_cache_miss_abort();

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Eventually;
using test::RawSocket;
using test::TestServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ExchangePtr = std::shared_ptr<HttpExchange>;

void Echo(const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request();
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.parameters) text += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : request.query) text += fmt::format(" ?{}={}", name, value);
  if (!request.body.empty()) text += " " + request.body;
  exchange->Respond(200, "text/plain", text);
}

void AddEcho(HttpServer& server) {
  server.Route("GET", "/echo", Echo);
  server.Route("POST", "/echo", Echo);
  server.Route("GET", "/v1/jobs/{id}/tasks", Echo);
}

HttpServerOptions WithLimits(HttpServerLimits limits) {
  HttpServerOptions options;
  options.limits = limits;
  return options;
}

constexpr const char* kGetEcho = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr const char* kLastGetEcho = "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST(HttpServer, AnswersOverUnixSocketsAndTcp) {
  TestServer server(AddEcho);
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    HttpClient client(end);
    auto answer = client.Call({.target = "/v1/jobs/j%2F1/tasks?state=a+b&n=1"}, 10s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "GET /v1/jobs/j/1/tasks id=j/1 ?n=1 ?state=a b");
    EXPECT_EQ(answer->headers.Find("content-type"), "text/plain");
    EXPECT_TRUE(answer->headers.Find("Date"));
    answer = client.Call({.method = "POST", .target = "/echo", .body = "hello"}, 10s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->body, "POST /echo hello");
    answer = client.Call({.method = "HEAD", .target = "/echo"}, 10s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->body, "");
    EXPECT_EQ(answer->headers.Find("Content-Length"), "10");
  }
}

TEST(HttpServer, SaysWhatIsWrongInTheFormItWasGiven) {
  HttpServerOptions options;
  options.render_error = [](const Error& error, int status) {
    return fmt::format("<{} {}>", status, error.message);
  };
  TestServer server(AddEcho, options);
  HttpClient client(server.unix_end());
  auto answer = client.Call({.target = "/nowhere"}, 10s);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "<404 there is nothing at /nowhere>");
  EXPECT_EQ(answer->headers.Find("Content-Type"), "application/problem+json");
  answer = client.Call({.method = "DELETE", .target = "/echo"}, 10s);
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->headers.Find("Allow"), "GET, POST");
  answer = client.Call({.target = "/echo?%"}, 10s);
  EXPECT_EQ(answer->status, 400);
  answer = client.Call({.target = "/%zz"}, 10s);
  EXPECT_EQ(answer->status, 400);
}

TEST(HttpServer, KnowsThePeerOfAUnixSocketOnly) {
  TestServer server([](HttpServer& s) {
    s.Route("GET", "/who", [](const ExchangePtr& exchange) {
      auto peer = exchange->request().peer;
      exchange->Respond(200, "", peer ? fmt::format("{} {}", peer->uid, peer->pid) : "nobody");
    });
  });
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.target = "/who"}, 10s)->body,
            fmt::format("{} {}", ::getuid(), ::getpid()));
  EXPECT_EQ(HttpClient(server.tcp_end()).Call({.target = "/who"}, 10s)->body, "nobody");
}

TEST(HttpServer, AsksTheGateFirst) {
  HttpServerOptions options;
  options.gate = [](const HttpRequest& request) -> Status {
    if (request.headers.Find("Authorization") == "Bearer t") return Status::Ok();
    return UserError(ErrorCode::kUnauthenticated, "a token is needed");
  };
  TestServer server(AddEcho, options);
  HttpClient client(server.tcp_end());
  EXPECT_EQ(client.Call({.target = "/echo"}, 10s)->status, 401);
  EXPECT_EQ(
      client.Call({.target = "/echo", .headers = {{"Authorization", "Bearer t"}}}, 10s)->status,
      200);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  TestServer server(AddEcho);
  RawSocket socket(server.unix_end());
  std::string requests;
  for (int i = 0; i < 200; ++i) {
    requests += fmt::format("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\n{:03}", i);
  }
  // A client that has said all it has to say still gets every answer.
  ASSERT_TRUE(socket.Send(requests));
  socket.FinishSending();
  std::string answers = socket.ReadToEnd();
  size_t at = 0;
  for (int i = 0; i < 200; ++i) {
    at = answers.find(fmt::format("POST /echo {:03}", i), at);
    ASSERT_NE(at, std::string::npos) << i << answers.substr(0, 300);
  }
}

TEST(HttpServer, AnswersLaterAndFromOtherHandlers) {
  ExchangePtr waiting;
  TestServer server([&](HttpServer& s) {
    s.Route("GET", "/wait", [&](ExchangePtr exchange) { waiting = std::move(exchange); });
    s.Route("GET", "/go", [&](const ExchangePtr& exchange) {
      waiting->Respond(200, "", "late");
      waiting.reset();
      exchange->Respond(204, "", "");
    });
  });
  RawSocket waiter(server.tcp_end());
  ASSERT_TRUE(waiter.Send("GET /wait HTTP/1.1\r\nConnection: close\r\n\r\n"));
  waiter.FinishSending();
  Eventually([&] {
    bool there = false;
    server.Do([&] { there = waiting != nullptr; });
    return there;
  });
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.target = "/go"}, 10s)->status, 204);
  EXPECT_THAT(waiter.ReadToEnd(), HasSubstr("\r\n\r\nlate"));
}

TEST(HttpServer, AnswersForAHandlerThatForgets) {
  TestServer server([](HttpServer& s) { s.Route("GET", "/", [](const ExchangePtr&) {}); });
  EXPECT_EQ(HttpClient(server.unix_end()).Call({}, 10s)->status, 500);
}

TEST(HttpServer, CutsAStreamThatIsDroppedUnfinished) {
  TestServer server([](HttpServer& s) {
    s.Route("GET", "/", [](const ExchangePtr& exchange) {
      exchange->StartStream(200, "text/plain");
      exchange->Write("half");
    });
  });
  EXPECT_EQ(HttpClient(server.unix_end()).Call({}, 10s).error().code, ErrorCode::kUnavailable);
}

TEST(HttpServer, StreamsWithoutChunksToOldClients) {
  TestServer server([](HttpServer& s) {
    s.Route("GET", "/", [](const ExchangePtr& exchange) {
      exchange->StartStream(200, "text/plain");
      exchange->Write("one ");
      exchange->Write("two");
      exchange->Finish();
    });
  });
  RawSocket old(server.unix_end());
  ASSERT_TRUE(old.Send("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(old.ReadToEnd(), HasSubstr("\r\n\r\none two"));
  EXPECT_EQ(HttpClient(server.unix_end()).Call({}, 10s)->body, "one two");
}

TEST(HttpServer, RefusesBodiesOverTheLimit) {
  HttpServerLimits limits;
  limits.max_body = KiB(1);
  TestServer server(
      [](HttpServer& s) {
        AddEcho(s);
        s.Route("POST", "/big", MiB(4), Echo);
      },
      WithLimits(limits));
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    HttpClient client(end);
    std::string body(2 << 20, 'x');
    auto answer = client.Call({.method = "POST", .target = "/echo", .body = body}, 10s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(client.Call({.method = "POST", .target = "/big", .body = body}, 10s)->status, 200);
    int parts = 0;
    auto next = [&]() -> Result<std::string> {
      return std::string(++parts < 3000 ? 1000 : 0, 'y');
    };
    answer = client.Call({.method = "POST", .target = "/echo", .next_body_part = next}, 10s);
    ASSERT_TRUE(answer.ok()) << answer.error();
    EXPECT_EQ(answer->status, 413);
    EXPECT_EQ(client.Call({.target = "/echo"}, 10s)->status, 200);
  }
}

TEST(HttpServer, TellsAClientThatAsksToGoOn) {
  TestServer server(AddEcho);
  RawSocket socket(server.unix_end());
  ASSERT_TRUE(
      socket.Send("POST /echo HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_THAT(socket.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
  ASSERT_TRUE(socket.Send("ok"));
  EXPECT_THAT(socket.ReadUntil("POST /echo ok"), StartsWith("HTTP/1.1 200 OK"));
}

TEST(HttpServer, SurvivesMalformedRequests) {
  HttpServerLimits limits;
  limits.max_head = KiB(4);
  TestServer server(AddEcho, WithLimits(limits));
  std::string long_head = "GET /echo HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) long_head += fmt::format("X-{}: 0123456789\r\n", i);
  struct Case {
    std::string bytes;
    const char* answer;
  };
  std::vector<Case> cases{
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", "HTTP/1.1 400 "},
      {"garbage\r\n\r\n", "HTTP/1.1 400 "},
      {std::string(100, '\0'), "HTTP/1.1 400 "},
      {"GET http://other/ HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
      {long_head + "\r\n", "HTTP/1.1 431 "},
      {"GET /" + std::string(100000, 'a'), "HTTP/1.1 431 "},
      {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 400 "},
      {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(300000, 'e'),
       "HTTP/1.1 4"},
      {"GET /echo HTTP/1.1\r\nContent-Length: 9999999999999999999999\r\n\r\n", "HTTP/1.1 400 "},
  };
  for (const Endpoint& end : {server.unix_end(), server.tcp_end()}) {
    for (const Case& c : cases) {
      RawSocket socket(end);
      socket.Send(c.bytes);
      std::string answer = socket.ReadToEnd();
      EXPECT_THAT(answer, StartsWith(c.answer)) << c.bytes.substr(0, 60);
      EXPECT_FALSE(socket.timed_out()) << c.bytes.substr(0, 60);
    }
    RawSocket cut(end);
    cut.Send("POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    cut.FinishSending();
    EXPECT_THAT(cut.ReadToEnd(), StartsWith("HTTP/1.1 400 "));
    EXPECT_EQ(HttpClient(end).Call({.target = "/echo"}, 10s)->status, 200);
  }
  EXPECT_TRUE(Eventually([&] { return server.connections() == 0; }));
}

TEST(HttpServer, SurvivesRandomBytes) {
  TestServer server(AddEcho);
  Random random(::testing::GTEST_FLAG(random_seed) + 1);
  std::string valid =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int i = 0; i < 300; ++i) {
    RawSocket socket(server.unix_end());
    std::string bytes = valid + valid;
    for (uint64_t k = random.Below(4) + 1; k > 0; --k) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    socket.Send(bytes);
    socket.FinishSending();
    socket.ReadToEnd();
    ASSERT_FALSE(socket.timed_out()) << bytes;
  }
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.target = "/echo"}, 10s)->status, 200);
}

TEST(HttpServer, DropsSlowAndIdleClients) {
  HttpServerLimits limits;
  limits.head_time = 100ms;
  limits.idle_time = 100ms;
  limits.body_time = 100ms;
  TestServer server(AddEcho, WithLimits(limits));
  RawSocket silent(server.unix_end());
  EXPECT_EQ(silent.ReadToEnd(), "");
  RawSocket slow(server.unix_end());
  slow.Send("GET /echo HT");
  EXPECT_THAT(slow.ReadToEnd(), StartsWith("HTTP/1.1 408 "));
  RawSocket slow_body(server.unix_end());
  slow_body.Send("POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(slow_body.ReadToEnd(), StartsWith("HTTP/1.1 408 "));
  RawSocket idle(server.unix_end());
  idle.Send(kGetEcho);
  EXPECT_THAT(idle.ReadToEnd(), StartsWith("HTTP/1.1 200 "));
  // One byte every now and then does not help.
  RawSocket loris(server.unix_end());
  EXPECT_TRUE(Eventually([&] { return !loris.Send("G"); }, 10s, 20ms));
}

TEST(HttpServer, TellsTooManyClientsThatTheyAreTooMany) {
  HttpServerLimits limits;
  limits.max_connections = 2;
  TestServer server(AddEcho, WithLimits(limits));
  auto first = std::make_unique<RawSocket>(server.unix_end());
  RawSocket second(server.unix_end());
  first->Send(kGetEcho);
  first->ReadUntil("GET /echo");
  second.Send(kGetEcho);
  second.ReadUntil("GET /echo");
  RawSocket third(server.unix_end());
  third.Send(kGetEcho);
  std::string answer = third.ReadToEnd();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
  first.reset();
  third.Close();
  EXPECT_TRUE(Eventually([&] { return server.connections() <= 1; }));
  EXPECT_EQ(HttpClient(server.unix_end()).Call({.target = "/echo"}, 10s)->status, 200);
}

TEST(HttpServer, OutlivesALackOfDescriptors) {
  // The vptr check of UBSan opens a pipe to see whether memory is there and cries wolf without one.
  if (__ubsan_handle_dynamic_type_cache_miss_abort != nullptr) GTEST_SKIP() << "built with UBSan";
  TestServer server(AddEcho);
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  std::vector<std::unique_ptr<RawSocket>> sockets;
  // Room for a few more; each client and each of the server's ends takes one.
  int next = ::dup(0);
  ::close(next);
  rlimit low{static_cast<rlim_t>(next) + 9, old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);
  for (int i = 0; i < 20; ++i) {
    auto socket = std::make_unique<RawSocket>(server.unix_end());
    if (socket->fd() < 0) break;
    sockets.push_back(std::move(socket));
  }
  EXPECT_GE(sockets.size(), 3u);
  timespec before{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  ::usleep(300000);
  timespec after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  // It must not spin.
  EXPECT_LT((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000,
            150);
  sockets.clear();
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_TRUE(Eventually([&] {
    auto answer = HttpClient(server.unix_end()).Call({.target = "/echo"}, 1s);
    return answer.ok() && answer->status == 200;
  }));
}

TEST(HttpServer, ReplacesTheSocketOfADeadServerButNotOfALivingOne) {
  test::TempDir folder;
  std::string path = folder / "s.sock";
  EventLoop loop;
  {
    // What a killed server leaves.
    UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    auto address = UnixAddress::Make(path);
    ASSERT_EQ(::bind(dead.get(), address->address(), address->length()), 0);
  }
  {
    HttpServer first(loop);
    ASSERT_TRUE(first.ListenUnix(path, 0600).ok());
    struct stat made{};
    ASSERT_EQ(::stat(path.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777, 0600u);
    HttpServer second(loop);
    Status refused = second.ListenUnix(path);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
    EXPECT_EQ(refused.error().message, "listen on " + path + ": another server answers there");
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  std::ofstream(path) << "precious";
  HttpServer third(loop);
  EXPECT_EQ(third.ListenUnix(path).error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(third.ListenUnix("/nowhere/at/all").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(third.ListenTcp("localhost", 0).ok());
}

TEST(HttpServer, ListensOnPathsOfAnyLength) {
  test::TempDir folder;
  std::string deep = folder / std::string(200, 'd');
  ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
  test::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  thread.Do([&] {
    server = std::make_unique<HttpServer>(thread.loop());
    AddEcho(*server);
    Status listening = server->ListenUnix(deep + "/s.sock");
    EXPECT_TRUE(listening.ok());
  });
  auto answer = HttpClient(Endpoint::Unix(deep + "/s.sock")).Call({.target = "/echo"}, 10s);
  EXPECT_TRUE(answer.ok()) << answer.error();
  thread.Do([&] { server.reset(); });
  EXPECT_NE(::access((deep + "/s.sock").c_str(), F_OK), 0);
}

TEST(HttpServer, ClosesOnceAnswersUnderWayAreGiven) {
  ExchangePtr waiting;
  std::atomic<bool> closed = false;
  TestServer server([&](HttpServer& s) {
    AddEcho(s);
    s.Route("GET", "/wait", [&](ExchangePtr exchange) { waiting = std::move(exchange); });
  });
  RawSocket idle(server.unix_end());
  idle.Send(kGetEcho);
  idle.ReadUntil("GET /echo");
  RawSocket waiter(server.unix_end());
  waiter.Send("GET /wait HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] {
    bool there = false;
    server.Do([&] { there = waiting != nullptr; });
    return there;
  }));
  server.Do([&] { server.server().Close(10s, [&] { closed = true; }); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_FALSE(RawSocket(server.unix_end()).connected());
  EXPECT_FALSE(closed);
  server.Do([&] {
    waiting->Respond(200, "", "bye");
    waiting.reset();
  });
  std::string answer = waiter.ReadToEnd();
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, HasSubstr("bye"));
  waiter.Close();
  EXPECT_TRUE(Eventually([&] { return closed.load(); }));
}

TEST(HttpServer, CutsWhatDoesNotEndInTime) {
  std::atomic<bool> closed = false;
  std::atomic<bool> told = false;
  TestServer server([&](HttpServer& s) {
    s.Route("GET", "/wait", [&](const ExchangePtr& exchange) {
      exchange->OnClosed([&, exchange] { told = true; });
    });
  });
  RawSocket waiter(server.unix_end());
  waiter.Send("GET /wait HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return server.connections() == 1; }));
  ::usleep(20000);
  server.Do([&] { server.server().Close(10ms, [&] { closed = true; }); });
  EXPECT_EQ(waiter.ReadToEnd(), "");
  EXPECT_TRUE(Eventually([&] { return closed.load() && told.load(); }));
}

TEST(HttpServer, TakesManyClientsAtOnce) {
  TestServer server(AddEcho);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      HttpClient client(t % 2 == 0 ? server.unix_end() : server.tcp_end());
      for (int i = 0; i < 200; ++i) {
        auto answer = client.Call({.target = fmt::format("/v1/jobs/{}/tasks", t * 1000 + i)}, 10s);
        if (answer.ok() && answer->body.ends_with(fmt::format("id={}", t * 1000 + i))) ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 1600);
}

TEST(HttpServer, KeepsTheConnectionAfterASmallUnwantedBody) {
  TestServer server(AddEcho);
  RawSocket socket(server.unix_end());
  socket.Send("POST /nowhere HTTP/1.1\r\nContent-Length: 5\r\n\r\n");
  EXPECT_THAT(socket.ReadUntil("\n"), StartsWith("HTTP/1.1 404"));
  socket.Send("hello");
  socket.Send(kLastGetEcho);
  EXPECT_THAT(socket.ReadToEnd(), HasSubstr("GET /echo"));
}

}  // namespace
}  // namespace muster
