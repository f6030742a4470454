// One request and its answer. A handler gets it as a shared_ptr and may keep it and answer later
// from anywhere on the loop's thread. Loop's thread only.
//
//     exchange->Respond(200, "application/json", text);
//
//     exchange->StartStream(200, "text/plain");        // or StartEvents()
//     exchange->Write(part);  ...  exchange->Finish();
//
// When the last shared_ptr goes away unanswered, the client gets a 500; an unfinished stream is
// cut, so that nobody takes it for whole. Once the client is gone or the answer is complete, all
// calls do nothing and the callbacks are dropped (and with them what they hold).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "net/http_message.h"

namespace muster {

class HttpConnection;
class WebSocket;
struct WebSocketLimits;

class HttpExchange {
 public:
  HttpExchange(std::weak_ptr<HttpConnection> connection, HttpRequest request);
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;

  const HttpRequest& request() const { return request_; }

  void Respond(int status, std::string_view content_type, std::string_view body,
               const HttpHeaders& extra = {});
  // Status from the error's code, body from the server's error renderer.
  void RespondError(const Error& error, const HttpHeaders& extra = {});
  void RespondError(int status, const Error& error, const HttpHeaders& extra = {});

  // Begins an answer of unknown length.
  void StartStream(int status, std::string_view content_type, const HttpHeaders& extra = {});
  // Begins server-sent events; a comment keeps the connection alive when nothing else is sent.
  void StartEvents(const HttpHeaders& extra = {});
  void Write(std::string_view bytes);
  void SendEvent(std::string_view name, std::string_view id, std::string_view data);
  // The answer is complete.
  void Finish();
  // Cuts the connection: the client sees that the answer is not whole.
  void Abort();

  // Bytes that wait for the client. A writer should stop at some 100 KB and go on in OnDrained;
  // above HttpServerLimits::max_pending the connection is closed.
  size_t pending_bytes() const;
  // Called each time that all written bytes have left, if some had been written.
  void OnDrained(std::function<void()> callback) { on_drained_ = std::move(callback); }
  // Called once if the client goes away, or is closed for not reading, before the answer is
  // complete.
  void OnClosed(std::function<void()> callback) { on_closed_ = std::move(callback); }
  // The client is gone, or the answer complete.
  bool closed() const;

  // On a streamed route: pieces of the body as they come, then the end: Ok, or what is wrong with
  // the body. To be set before the handler returns; without OnBody the body is thrown away. The
  // answer may be given before the end; what is left of the body is then not wanted.
  void OnBody(std::function<void(std::string_view)> callback) { on_body_ = std::move(callback); }
  void OnBodyEnd(std::function<void(Status)> callback) { on_body_end_ = std::move(callback); }
  // Back-pressure: after a pause no piece comes until Resume, and the client must wait.
  void PauseBody();
  void ResumeBody();

  // On an upgrade route: switches this connection to WebSocket; the exchange is then done.
  // Null if the client is gone.
  std::shared_ptr<WebSocket> AcceptWebSocket(const WebSocketLimits& limits);

 private:
  friend class HttpConnection;
  void DropCallbacks();

  std::weak_ptr<HttpConnection> connection_;
  HttpRequest request_;
  std::function<void()> on_drained_;
  std::function<void()> on_closed_;
  std::function<void(std::string_view)> on_body_;
  std::function<void(Status)> on_body_end_;
};

}  // namespace muster
