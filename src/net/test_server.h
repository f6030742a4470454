// For the tests of this room: a server with its loop on a thread of its own, and a bare socket that
// can misbehave.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "support/temp_dir.h"

namespace muster::test {

// An EventLoop that runs on its own thread until destroyed.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.Run(); }) {}
  ~LoopThread() { Stop(); }
  void Stop() {
    if (!thread_.joinable()) return;
    loop_.Stop();
    thread_.join();
  }
  EventLoop& loop() { return loop_; }
  // Runs `work` on the loop and waits for it.
  void Do(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  EventLoop loop_;
  std::thread thread_;
};

class TestServer {
 public:
  explicit TestServer(const std::function<void(HttpServer&)>& add_routes,
                      HttpServerOptions options = {}) {
    thread_.Do([&] {
      server_ = std::make_unique<HttpServer>(thread_.loop(), std::move(options));
      add_routes(*server_);
      EXPECT_TRUE(server_->ListenUnix(path_).ok());
      EXPECT_TRUE(server_->ListenTcp("127.0.0.1", 0).ok());
      port_ = server_->port();
    });
  }
  ~TestServer() {
    thread_.Do([&] { server_.reset(); });
    // Lets what the connections left to do be done.
    thread_.Do([] {});
    thread_.Do([] {});
  }
  void Do(const std::function<void()>& work) { thread_.Do(work); }
  EventLoop& loop() { return thread_.loop(); }
  HttpServer& server() { return *server_; }
  Endpoint unix_end() const { return Endpoint::Unix(path_); }
  Endpoint tcp_end() const { return Endpoint::Tcp("127.0.0.1", port_); }
  const std::string& path() const { return path_; }
  size_t connections() {
    size_t count = 0;
    Do([&] { count = server_->connections(); });
    return count;
  }

 private:
  TempDir folder_;
  const std::string path_ = folder_ / "server.sock";
  uint16_t port_ = 0;
  LoopThread thread_;
  std::unique_ptr<HttpServer> server_;
};

class RawSocket {
 public:
  explicit RawSocket(const Endpoint& to) {
    if (!to.unix_path.empty()) {
      auto address = UnixAddress::Make(to.unix_path);
      fd_.Reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      connected_ = ::connect(fd_.get(), address->address(), address->length()) == 0;
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(to.port);
      ::inet_pton(AF_INET, to.host.c_str(), &address.sin_addr);
      fd_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    timeval limit{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  // False once the other side has hung up.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
    return true;
  }
  void FinishSending() { ::shutdown(fd_.get(), SHUT_WR); }
  void Close() { fd_.Reset(); }
  // Everything until `end` has come, or the connection ends.
  std::string ReadUntil(std::string_view end) {
    while (end.empty() || inbox_.find(end) == std::string::npos) {
      char buffer[65536];
      ssize_t size = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (size <= 0) {
        timed_out_ = size < 0 && errno == EAGAIN;
        return std::exchange(inbox_, {});
      }
      inbox_.append(buffer, static_cast<size_t>(size));
    }
    size_t size = inbox_.find(end) + end.size();
    std::string part = inbox_.substr(0, size);
    inbox_.erase(0, size);
    return part;
  }
  std::string ReadToEnd() { return ReadUntil(""); }
  bool timed_out() const { return timed_out_; }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string inbox_;
};

}  // namespace muster::test
