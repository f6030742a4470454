#include "fakes/fault_proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "support/eventually.h"
#include "support/temp_dir.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

// Answers "<request>!" to each line, and remembers what it heard.
class EchoServer {
 public:
  explicit EchoServer(const std::string& path)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~EchoServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (std::thread& talk : talks_) talk.join();
  }
  size_t heard() const { return heard_; }

 private:
  void Run() {
    for (;;) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      talks_.emplace_back([this, fd = std::move(client)] { Talk(fd.get()); });
    }
  }
  void Talk(int fd) {
    std::string line;
    char c = 0;
    while (::recv(fd, &c, 1, 0) == 1) {
      ++heard_;
      line += c;
      if (c != '\n') continue;
      line.insert(line.size() - 1, "!");
      ::send(fd, line.data(), line.size(), MSG_NOSIGNAL);
      line.clear();
    }
  }
  UniqueFd listener_;
  std::atomic<size_t> heard_{0};
  std::thread thread_;
  std::vector<std::thread> talks_;
};

class FaultProxyTest : public ::testing::Test {
 protected:
  void StartProxy(std::vector<ConnectionPlan> plans) {
    auto proxy = FaultProxy::Start(TcpEndpoint{0}, UnixEndpoint{path_}, Scripted(std::move(plans)));
    ASSERT_TRUE(proxy.ok()) << proxy.error();
    proxy_ = *std::move(proxy);
  }
  UniqueFd Dial() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(proxy_->port());
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    return fd;
  }
  static void Send(const UniqueFd& fd, std::string_view text) {
    (void)::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Until `count` bytes, the end, or an error ("(cut)").
  static std::string Receive(const UniqueFd& fd, size_t count) {
    std::string text;
    while (text.size() < count) {
      char part[4096];
      ssize_t size = ::recv(fd.get(), part, std::min(count - text.size(), sizeof part), 0);
      if (size < 0) return text + "(cut)";
      if (size == 0) return text + "(end)";
      text.append(part, static_cast<size_t>(size));
    }
    return text;
  }
  static bool HearsNothing(const UniqueFd& fd) {
    pollfd readable{fd.get(), POLLIN, 0};
    return ::poll(&readable, 1, 100) == 0;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "server";
  EchoServer server_{path_};
  std::unique_ptr<FaultProxy> proxy_;
};

TEST_F(FaultProxyTest, PassesEverythingWhenNothingIsPlanned) {
  StartProxy({});
  UniqueFd fd = Dial();
  Send(fd, "hello\n");
  EXPECT_EQ(Receive(fd, 7), "hello!\n");
  Send(fd, "again\n");
  EXPECT_EQ(Receive(fd, 7), "again!\n");
  ::shutdown(fd.get(), SHUT_WR);
  EXPECT_EQ(Receive(fd, 1), "(end)");
  EXPECT_EQ(proxy_->counts().request_bytes, 12U);
  EXPECT_EQ(proxy_->counts().answer_bytes, 14U);
}

TEST_F(FaultProxyTest, PassesMegabytesUnchanged) {
  StartProxy({});
  UniqueFd fd = Dial();
  std::string line(3'000'000, 'x');
  line += "\n";
  std::thread sender([&] { Send(fd, line); });
  std::string answer = Receive(fd, line.size() + 1);
  sender.join();
  EXPECT_EQ(answer, line.substr(0, line.size() - 1) + "!\n");
}

TEST_F(FaultProxyTest, DropsTheAnswerAfterTheRequestWentThrough) {
  StartProxy({{.drop_answer = true}});
  UniqueFd fd = Dial();
  Send(fd, "do it\n");
  EXPECT_EQ(Receive(fd, 1), "(cut)");
  EXPECT_EQ(server_.heard(), 6U);
  EXPECT_EQ(proxy_->counts().cut, 1U);
  UniqueFd second = Dial();
  Send(second, "do it\n");
  EXPECT_EQ(Receive(second, 7), "do it!\n") << "only the first was to suffer";
}

TEST_F(FaultProxyTest, CutsInTheMiddleOfARequestOrAnAnswer) {
  StartProxy({{.cut_after_request_bytes = 3}, {.cut_after_answer_bytes = 4}});
  UniqueFd first = Dial();
  Send(first, "hello\n");
  EXPECT_EQ(Receive(first, 1), "(cut)");
  // What was handed on before a reset may be lost with it, as on a real network.
  EXPECT_LE(server_.heard(), 3U);
  EXPECT_EQ(proxy_->counts().request_bytes, 3U);
  UniqueFd second = Dial();
  Send(second, "hello\n");
  std::string answer = Receive(second, 7);
  EXPECT_TRUE(answer.ends_with("(cut)")) << answer;
  EXPECT_LE(answer.size(), 4 + strlen("(cut)"));
  EXPECT_EQ(proxy_->counts().answer_bytes, 4U);
}

TEST_F(FaultProxyTest, RefusesAndAnswersWithHttpCodesOfItsOwn) {
  StartProxy({{.refuse = true}, {.http_status = 503}});
  UniqueFd refused = Dial();
  Send(refused, "hello\n");
  std::string end = Receive(refused, 1);
  EXPECT_TRUE(end == "(end)" || end == "(cut)");
  UniqueFd http = Dial();
  const std::string answer = "HTTP/1.1 503 Fault\r\nContent-Length: 0\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    Send(http, "POST / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(Receive(http, answer.size()), answer);
  }
  EXPECT_EQ(server_.heard(), 0U);
  EXPECT_EQ(proxy_->counts().http_answers, 2U);
}

TEST_F(FaultProxyTest, HalfOpenConnectionStaysOpenAndSilent) {
  StartProxy({{.stall_after_request_bytes = 0}, {.stall_after_answer_bytes = 0}});
  UniqueFd unread = Dial();
  Send(unread, "hello\n");
  EXPECT_TRUE(HearsNothing(unread));
  EXPECT_EQ(server_.heard(), 0U);
  UniqueFd unanswered = Dial();
  Send(unanswered, "hello\n");
  EXPECT_TRUE(Eventually([&] { return server_.heard() == 6; }));
  EXPECT_TRUE(HearsNothing(unanswered));
  EXPECT_EQ(proxy_->counts().cut, 0U);
  proxy_->CutAll();
  EXPECT_EQ(Receive(unread, 1), "(cut)");
  EXPECT_EQ(Receive(unanswered, 1), "(cut)");
}

TEST_F(FaultProxyTest, DelaysEachDirection) {
  StartProxy({{.request_delay = 40ms, .answer_delay = 40ms}});
  UniqueFd fd = Dial();
  auto start = std::chrono::steady_clock::now();
  Send(fd, "hello\n");
  EXPECT_EQ(Receive(fd, 7), "hello!\n");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 80ms);
}

TEST_F(FaultProxyTest, ListensOnAUnixSocketToo) {
  const std::string front = dir_ / "front";
  auto proxy = FaultProxy::Start(UnixEndpoint{front}, UnixEndpoint{path_});
  ASSERT_TRUE(proxy.ok());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, front.c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  Send(fd, "hello\n");
  EXPECT_EQ(Receive(fd, 7), "hello!\n");
}

TEST_F(FaultProxyTest, ClientOfADeadServerSeesItsEnd) {
  auto proxy = FaultProxy::Start(TcpEndpoint{0}, UnixEndpoint{dir_ / "nobody"});
  ASSERT_TRUE(proxy.ok());
  proxy_ = *std::move(proxy);
  UniqueFd fd = Dial();
  std::string end = Receive(fd, 1);
  EXPECT_TRUE(end == "(end)" || end == "(cut)");
}

TEST(SeededPlans, OneSeedGivesOnePlanForEachConnection) {
  PlanSource a = SeededPlans(5, 50);
  PlanSource b = SeededPlans(5, 50);
  int spoiled = 0;
  for (uint64_t n = 1; n <= 200; ++n) {
    ConnectionPlan plan = a(n);
    EXPECT_EQ(plan.cut_after_request_bytes, b(n).cut_after_request_bytes);
    EXPECT_EQ(plan.refuse, b(n).refuse);
    spoiled += plan.refuse || plan.drop_answer || plan.cut_after_request_bytes ||
               plan.cut_after_answer_bytes || plan.request_delay.count() > 0 ||
               plan.answer_delay.count() > 0;
  }
  EXPECT_GT(spoiled, 70);
  EXPECT_LT(spoiled, 130);
}

}  // namespace
}  // namespace muster::test
