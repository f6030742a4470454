// The connection to the controller: dials, and dials again after 50 ms to 1 s, for ever. Loop's
// thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/web_socket.h"

namespace muster::executor {

class ControllerLink {
 public:
  struct Events {
    std::function<void()> on_connected;
    std::function<void(std::string_view message)> on_message;
    std::function<void()> on_disconnected;
  };

  ControllerLink(EventLoop& loop, Endpoint controller, std::string target, Random random,
                 Events events);
  ControllerLink(const ControllerLink&) = delete;

  void Dial();
  // The controller has taken us: the next pause is short again.
  void NoteWelcome() { failures_ = 0; }
  // Drops the connection without on_disconnected, and dials again.
  void Cut(std::string_view why);
  void Send(std::string_view message) { socket_->Send(message); }
  // False while there is no connection or too much waits on it.
  bool can_send() const;
  // Sends what waits, says goodbye, dials no more. `done` is called after a second at the latest.
  void Close(std::string_view why, std::function<void()> done);

 private:
  void OnDialled(Result<std::shared_ptr<WebSocket>> dialled);
  void OnClosed(const Error& reason);
  void DialLater();

  EventLoop& loop_;
  const Endpoint controller_;
  const std::string target_;
  Random random_;
  const Events events_;
  std::shared_ptr<WebSocket> socket_;
  unsigned failures_ = 0;
  bool said_unreachable_ = false;
  std::function<void()> on_goodbye_;
  // Callbacks that come after our end see it expired.
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace muster::executor
