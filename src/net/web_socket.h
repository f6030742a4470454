// Messages both ways over one connection (RFC 6455), binary only, no compression. Loop's thread
// only.
//
//     WebSocket::Connect(loop, Endpoint::Unix(path), "/v1/executor", {}, 5s,
//                        [&](Result<std::shared_ptr<WebSocket>> socket) { ... });
//     socket->OnClosed([&](const Error& reason) { ... });
//     socket->OnMessage([&](std::string_view message) { ... });   // reading begins here
//     socket->Send(bytes);
//
// The holder of the shared_ptr owns it; dropping the last one closes the connection without a word
// (also while messages wait: see pending_bytes and Close). Callbacks may drop it too. Callbacks
// that hold the socket itself are a cycle, broken when it closes.
//
// What is sent during one pass of the loop leaves with one system call at its end.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "net/endpoint.h"
#include "net/event_loop.h"
#include "net/http_message.h"

namespace muster {

struct WebSocketLimits {
  // A longer message from the other side closes the connection.
  Bytes max_message = MiB(16);
  // More waiting to be sent closes the connection: the other side does not read.
  Bytes max_pending = MiB(64);
  // Ping after this much silence, close after three times as much. 0: never.
  Duration ping_every{0};
};

class ByteStream;
class WebSocketLink;

class WebSocket {
 public:
  // Calls `done` once, from the loop. kUnavailable: nobody listens; kDeadlineExceeded: no answer in
  // `limit`; otherwise the server's refusal, its body in their_words.
  static void Connect(EventLoop& loop, const Endpoint& endpoint, const std::string& target,
                      const HttpHeaders& headers, Duration limit,
                      std::function<void(Result<std::shared_ptr<WebSocket>>)> done,
                      WebSocketLimits socket_limits = {});
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;

  // Never blocks and never calls back; does nothing once closed.
  void Send(std::string_view message);
  // Sent and not yet taken by the operating system.
  size_t pending_bytes() const;
  // Valid during the call. To be set before the loop goes on, or after PauseReading.
  void OnMessage(std::function<void(std::string_view)> callback);
  // Once, from the loop: kCancelled after Close here or there, kUnavailable when cut,
  // kResourceExhausted when over max_pending, kInvalidArgument for what is not WebSocket.
  void OnClosed(std::function<void(const Error&)> callback);
  // After the call under way no message comes until Resume; the other side must wait in the end.
  void PauseReading();
  void ResumeReading();
  // Says goodbye after what is pending; then OnClosed. Cuts after a second without an answer.
  void Close(std::string_view reason = "");
  bool open() const;
  // Only on unix sockets.
  std::optional<PeerCredentials> peer() const;

  // For the files of this room.
  explicit WebSocket(std::shared_ptr<WebSocketLink> link);

 private:
  std::shared_ptr<WebSocketLink> link_;
};

}  // namespace muster
