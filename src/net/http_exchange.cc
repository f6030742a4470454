#include "net/http_exchange.h"

#include <utility>

#include "net/http_connection.h"
#include "net/sse.h"

namespace muster {
namespace {

// The connection, if `exchange` may still answer on it.
std::shared_ptr<HttpConnection> Live(const std::weak_ptr<HttpConnection>& weak,
                                     const HttpExchange* exchange) {
  auto connection = weak.lock();
  return connection && connection->Owns(exchange) ? connection : nullptr;
}

}  // namespace

HttpExchange::HttpExchange(std::weak_ptr<HttpConnection> connection, HttpRequest request)
    : connection_(std::move(connection)), request_(std::move(request)) {}

HttpExchange::~HttpExchange() {
  if (auto connection = Live(connection_, this)) connection->OnExchangeDropped();
}

void HttpExchange::Respond(int status, std::string_view content_type, std::string_view body,
                           const HttpHeaders& extra) {
  if (auto connection = Live(connection_, this)) {
    connection->Respond(status, content_type, body, extra);
  }
}

void HttpExchange::RespondError(const Error& error, const HttpHeaders& extra) {
  RespondError(ToHttpStatus(error.code), error, extra);
}

void HttpExchange::RespondError(int status, const Error& error, const HttpHeaders& extra) {
  if (auto connection = Live(connection_, this)) connection->RespondError(status, error, extra);
}

void HttpExchange::StartStream(int status, std::string_view content_type,
                               const HttpHeaders& extra) {
  if (auto connection = Live(connection_, this)) {
    connection->StartStream(status, content_type, extra);
  }
}

void HttpExchange::StartEvents(const HttpHeaders& extra) {
  if (auto connection = Live(connection_, this)) connection->StartEvents(extra);
}

void HttpExchange::Write(std::string_view bytes) {
  if (auto connection = Live(connection_, this)) connection->Write(bytes);
}

void HttpExchange::SendEvent(std::string_view name, std::string_view id, std::string_view data) {
  if (auto connection = Live(connection_, this)) connection->Write(RenderSseEvent(name, id, data));
}

void HttpExchange::Finish() {
  if (auto connection = Live(connection_, this)) connection->Finish();
}

void HttpExchange::Abort() {
  if (auto connection = Live(connection_, this)) connection->Cut();
}

size_t HttpExchange::pending_bytes() const {
  auto connection = Live(connection_, this);
  return connection ? connection->pending_bytes() : 0;
}

bool HttpExchange::closed() const { return Live(connection_, this) == nullptr; }

void HttpExchange::PauseBody() {
  if (auto connection = Live(connection_, this)) connection->PauseBody();
}

void HttpExchange::ResumeBody() {
  if (auto connection = Live(connection_, this)) connection->ResumeBody();
}

std::shared_ptr<WebSocket> HttpExchange::AcceptWebSocket(const WebSocketLimits& limits) {
  auto connection = Live(connection_, this);
  return connection ? connection->AcceptWebSocket(limits) : nullptr;
}

void HttpExchange::DropCallbacks() {
  on_drained_ = nullptr;
  on_closed_ = nullptr;
  on_body_ = nullptr;
  on_body_end_ = nullptr;
}

}  // namespace muster
