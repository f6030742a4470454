// Listens and accepts. Loop's thread only; stops when destroyed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/endpoint.h"
#include "net/event_loop.h"

namespace muster {

class Listener {
 public:
  using OnAccept = std::function<void(UniqueFd)>;
  ~Listener();
  Listener(const Listener&) = delete;

  // The socket gets `mode` from its first moment. A file that a dead server left behind is
  // replaced; where a live one answers: kAlreadyExists. The file is removed at the end, if it is
  // still ours.
  static Result<std::unique_ptr<Listener>> Unix(EventLoop& loop, const std::string& path,
                                                mode_t mode, OnAccept on_accept);
  // `address` is a number ("127.0.0.1", "::1"); port 0 lets the system choose.
  static Result<std::unique_ptr<Listener>> Tcp(EventLoop& loop, const std::string& address,
                                               uint16_t port, OnAccept on_accept);
  // With the port that the system chose.
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Listener(EventLoop& loop, UniqueFd fd, Endpoint endpoint, OnAccept on_accept);
  void AcceptReady();
  void TurnOneAway();
  void PauseAccepting();

  EventLoop& loop_;
  UniqueFd fd_;
  // Given up for a moment when no descriptor is left, to take a caller off the queue and hang up.
  UniqueFd reserve_;
  Endpoint endpoint_;
  OnAccept on_accept_;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  Loop::TimerId resume_ = 0;
};

}  // namespace muster
