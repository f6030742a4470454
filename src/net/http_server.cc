#include "net/http_server.h"

#include <algorithm>
#include <utility>

#include "net/http_connection.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Connections that are told they are too many, on top of the limit; more are just dropped.
constexpr size_t kTurnedAwayAtOnce = 64;
constexpr Duration kLongestSweep = 1s;
constexpr Duration kShortestSweep = 10ms;

Duration SweepInterval(const HttpServerLimits& limits) {
  Duration shortest =
      std::min({limits.head_time, limits.idle_time, limits.body_time, limits.heartbeat});
  return std::clamp(shortest / 4, kShortestSweep, kLongestSweep);
}

}  // namespace

void HttpServerState::SweepLater(const std::weak_ptr<HttpServerState>& self) {
  if (sweeping) return;
  sweeping = true;
  loop.RunAfter(SweepInterval(options.limits), [self] {
    auto state = self.lock();
    if (!state) return;
    state->sweeping = false;
    BootTime now = state->loop.ReadClock().boot;
    std::vector<std::shared_ptr<HttpConnection>> all(state->connections.begin(),
                                                     state->connections.end());
    for (auto& connection : all) connection->Sweep(now);
    if (!state->connections.empty()) state->SweepLater(self);
  });
}

void HttpServerState::Remove(const std::shared_ptr<HttpConnection>& connection) {
  connections.erase(connection);
  if (connections.empty() && on_all_closed) loop.Post(std::exchange(on_all_closed, nullptr));
}

const std::string& HttpServerState::Date() {
  int64_t second = loop.ReadClock().wall.us / 1000000;
  if (second != date_second) {
    date_second = second;
    date = RenderHttpDate(second);
  }
  return date;
}

HttpServer::HttpServer(EventLoop& loop, HttpServerOptions options)
    : state_(std::make_shared<HttpServerState>(loop, std::move(options))) {}

HttpServer::~HttpServer() {
  state_->listeners.clear();
  state_->on_all_closed = nullptr;
  auto connections = std::exchange(state_->connections, {});
  for (const auto& connection : connections) connection->CutSilently();
}

void HttpServer::AddRoute(std::string method, std::string_view pattern, RouteEntry entry) {
  state_->router.Add(std::move(method), pattern, state_->routes.size());
  state_->routes.push_back(std::move(entry));
}

void HttpServer::Route(std::string method, std::string_view pattern, Handler handler) {
  Route(std::move(method), pattern, state_->options.limits.max_body, std::move(handler));
}

void HttpServer::Route(std::string method, std::string_view pattern, Bytes max_body,
                       Handler handler) {
  AddRoute(std::move(method), pattern, {RouteEntry::Kind::kBuffered, max_body, std::move(handler)});
}

void HttpServer::StreamRoute(std::string method, std::string_view pattern, Handler handler) {
  AddRoute(std::move(method), pattern, {RouteEntry::Kind::kStreamed, Bytes{}, std::move(handler)});
}

void HttpServer::UpgradeRoute(std::string_view pattern, SocketHandler handler,
                              WebSocketLimits limits) {
  auto accept = [handler = std::move(handler),
                 limits](const std::shared_ptr<HttpExchange>& exchange) {
    if (auto socket = exchange->AcceptWebSocket(limits)) {
      handler(exchange->request(), std::move(socket));
    }
  };
  AddRoute("GET", pattern, {RouteEntry::Kind::kUpgrade, Bytes{}, std::move(accept)});
}

Status HttpServer::ListenUnix(const std::string& path, mode_t mode) {
  auto listener =
      Listener::Unix(state_->loop, path, mode, [this](UniqueFd fd) { OnAccept(std::move(fd)); });
  if (!listener.ok()) return std::move(listener).error();
  state_->listeners.push_back(std::move(*listener));
  return Status::Ok();
}

Status HttpServer::ListenTcp(const std::string& address, uint16_t port) {
  auto listener =
      Listener::Tcp(state_->loop, address, port, [this](UniqueFd fd) { OnAccept(std::move(fd)); });
  if (!listener.ok()) return std::move(listener).error();
  state_->port = (*listener)->endpoint().port;
  state_->listeners.push_back(std::move(*listener));
  return Status::Ok();
}

uint16_t HttpServer::port() const { return state_->port; }
size_t HttpServer::connections() const { return state_->connections.size(); }

void HttpServer::OnAccept(UniqueFd fd) {
  size_t limit = state_->options.limits.max_connections;
  size_t count = state_->connections.size();
  if (count >= limit + kTurnedAwayAtOnce) return;
  auto connection =
      std::make_shared<HttpConnection>(state_, MakeSocketStream(state_->loop, std::move(fd)));
  state_->connections.insert(connection);
  state_->SweepLater(state_);
  connection->Start();
  if (count >= limit) connection->TurnAway();
}

void HttpServer::Close(Duration grace, std::function<void()> done) {
  state_->closing = true;
  state_->listeners.clear();
  state_->on_all_closed = std::move(done);
  std::vector<std::shared_ptr<HttpConnection>> all(state_->connections.begin(),
                                                   state_->connections.end());
  for (auto& connection : all) connection->CloseWhenIdle();
  if (state_->connections.empty() && state_->on_all_closed) {
    state_->loop.Post(std::exchange(state_->on_all_closed, nullptr));
  }
  state_->loop.RunAfter(grace, [weak = std::weak_ptr(state_)] {
    auto state = weak.lock();
    if (!state) return;
    std::vector<std::shared_ptr<HttpConnection>> rest(state->connections.begin(),
                                                      state->connections.end());
    for (auto& connection : rest) connection->Cut();
  });
}

}  // namespace muster
