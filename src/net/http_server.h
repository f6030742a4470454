// HTTP/1.1 server on an event loop, over unix sockets and TCP. Loop's thread only; the loop
// outlives it. Not to be destroyed from within a handler.
//
//     HttpServer server(loop, {.render_error = RenderProblem});
//     server.Route("GET", "/v1/jobs/{id}", [&](std::shared_ptr<HttpExchange> exchange) {
//       const std::string& id = exchange->request().parameters.at("id");
//       exchange->Respond(200, "application/json", ShowJob(id));
//     });
//     RETURN_IF_ERROR(server.ListenUnix("/run/muster.sock", 0600));
//
// Answered by the server itself, through render_error: unknown path 404, wrong method 405 with
// Allow, bad request 400, body too large 413, head too large 431, head too slow 408, too many
// connections 503 with Retry-After.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "net/event_loop.h"
#include "net/http_exchange.h"
#include "net/web_socket.h"

namespace muster {

struct HttpServerLimits {
  Bytes max_head = KiB(64);
  // Of buffered bodies; streamed ones have no limit.
  Bytes max_body = MiB(16);
  // What may wait for one client before it is cut off.
  Bytes max_pending = MiB(8);
  size_t max_connections = 4096;
  // From the first byte of a request to the end of its head, and from connecting to a first byte.
  Duration head_time{std::chrono::seconds(10)};
  // Between requests.
  Duration idle_time{std::chrono::seconds(75)};
  // Without a byte of a body that is wanted.
  Duration body_time{std::chrono::seconds(30)};
  // Silence after which an event stream gets a comment.
  Duration heartbeat{std::chrono::seconds(15)};
};

struct HttpServerOptions {
  // The body of an error answer, and its type. Without: the message as plain text.
  std::function<std::string(const Error&, int status)> render_error;
  std::string error_content_type = "application/problem+json";
  HttpServerLimits limits;
  // Asked before each route, upgrades included; an error is the answer. For tokens and peers.
  std::function<Status(const HttpRequest&)> gate;
};

struct HttpServerState;

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<HttpExchange>)>;
  using SocketHandler = std::function<void(const HttpRequest&, std::shared_ptr<WebSocket>)>;

  // For the files of this room.
  struct RouteEntry;

  explicit HttpServer(EventLoop& loop, HttpServerOptions options = {});
  // Cuts all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  // `pattern`: "/v1/jobs/{id}/tasks". Routes are added before listening. The handler is called when
  // the whole body is there; `max_body` overrides the server's limit.
  void Route(std::string method, std::string_view pattern, Handler handler);
  void Route(std::string method, std::string_view pattern, Bytes max_body, Handler handler);
  // The handler is called at the end of the head and takes the body in pieces (OnBody).
  void StreamRoute(std::string method, std::string_view pattern, Handler handler);
  void UpgradeRoute(std::string_view pattern, SocketHandler handler, WebSocketLimits limits = {});

  // Several listeners are possible. Errors say what is in the way; see Listener.
  Status ListenUnix(const std::string& path, mode_t mode = 0600);
  Status ListenTcp(const std::string& address, uint16_t port);
  // Of the last ListenTcp.
  uint16_t port() const;

  size_t connections() const;
  // Stops listening, closes idle connections, lets answers under way end, cuts the rest after
  // `grace`; then calls `done` (from the loop). WebSockets are their owners' affair.
  void Close(Duration grace, std::function<void()> done = nullptr);

 private:
  void AddRoute(std::string method, std::string_view pattern, RouteEntry entry);
  void OnAccept(UniqueFd fd);

  std::shared_ptr<HttpServerState> state_;
};

}  // namespace muster
