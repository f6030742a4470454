// The answering half of HttpConnection.
#include <utility>

#include "base/log.h"
#include "net/http_connection.h"
#include "net/web_socket_frames.h"
#include "net/web_socket_link.h"

namespace muster {
namespace {

// An unwanted body up to this size is read and thrown away to keep the connection.
constexpr uint64_t kSmallBody = 1 << 20;

}  // namespace

void HttpConnection::WriteHead(int status, std::string_view content_type, const HttpHeaders& extra,
                               std::optional<size_t> length) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, ReasonPhrase(status));
  AppendHeader(head, "Date", server_->Date());
  if (!content_type.empty()) AppendHeader(head, "Content-Type", content_type);
  bool bodiless = status == 204 || status == 304;
  if (length && !bodiless) AppendHeader(head, "Content-Length", std::to_string(*length));
  if (chunked_) AppendHeader(head, "Transfer-Encoding", "chunked");
  if (!keep_alive_) {
    AppendHeader(head, "Connection", "close");
  } else if (parser_ && parser_->head().version < 11) {
    AppendHeader(head, "Connection", "keep-alive");
  }
  for (const auto& [name, value] : extra) AppendHeader(head, name, value);
  head += "\r\n";
  stream_->Write(head);
}

void HttpConnection::Respond(int status, std::string_view content_type, std::string_view body,
                             const HttpHeaders& extra) {
  if (life_ != Life::kServing) return;
  if (answer_ != Answer::kNone) {
    LogError("http: a second answer ({}) to one request is dropped", status);
    return;
  }
  chunked_ = false;
  if (server_->closing) keep_alive_ = false;
  // The rest of a body is read in silence if it is short; a client that asked first may not send
  // it.
  if (reading_ == Reading::kBody) {
    const HttpHead& head = parser_->head();
    if (head.content_length.value_or(kSmallBody + 1) > kSmallBody || head.headers.Find("Expect")) {
      keep_alive_ = false;
    }
  }
  WriteHead(status, content_type, extra, body.size());
  if (!head_only_ && status != 204 && status != 304) stream_->Write(body);
  FinishAnswer();
}

void HttpConnection::RespondError(int status, const Error& error, const HttpHeaders& extra) {
  Respond(status, server_->error_content_type(), server_->ErrorBody(error, status), extra);
}

void HttpConnection::Refuse(int status, const Error& error, const HttpHeaders& extra) {
  body_wanted_ = false;
  RespondError(status, error, extra);
}

void HttpConnection::StartStream(int status, std::string_view content_type,
                                 const HttpHeaders& extra) {
  if (life_ != Life::kServing || answer_ != Answer::kNone) return;
  chunked_ = parser_->head().version >= 11;
  if (!chunked_ || server_->closing) keep_alive_ = false;
  answer_ = Answer::kStreaming;
  WriteHead(status, content_type, extra, std::nullopt);
  last_write_ = server_->loop.ReadClock().boot;
}

void HttpConnection::StartEvents(const HttpHeaders& extra) {
  HttpHeaders headers = extra;
  headers.Add("Cache-Control", "no-store");
  StartStream(200, "text/event-stream", headers);
  events_ = true;
}

void HttpConnection::Write(std::string_view bytes) {
  if (life_ != Life::kServing || answer_ != Answer::kStreaming || head_only_ || bytes.empty())
    return;
  if (chunked_) {
    std::string chunk;
    chunk.reserve(bytes.size() + 16);
    AppendChunk(chunk, bytes);
    stream_->Write(chunk);
  } else {
    stream_->Write(bytes);
  }
  if (events_) last_write_ = server_->loop.ReadClock().boot;
  if (stream_->pending_bytes() > limits().max_pending.value) {
    LogWarning("http: a client that does not read is cut off: {} wait for it",
               Render(Bytes{stream_->pending_bytes()}));
    Cut();
  }
}

void HttpConnection::Finish() {
  if (life_ != Life::kServing || answer_ != Answer::kStreaming) return;
  if (chunked_ && !head_only_) stream_->Write("0\r\n\r\n");
  if (reading_ == Reading::kBody) keep_alive_ = false;
  FinishAnswer();
}

void HttpConnection::FinishAnswer() {
  answer_ = Answer::kDone;
  events_ = false;
  body_wanted_ = false;
  body_paused_ = false;
  // A body that nobody wants is not read to its end when the connection closes anyway.
  if (!keep_alive_) reading_ = Reading::kDone;
  if (std::exchange(exchange_id_, nullptr) != nullptr) {
    server_->loop.Post([weak = exchange_] {
      if (auto held = weak.lock()) held->DropCallbacks();
    });
  }
  Advance();
}

void HttpConnection::OnExchangeDropped() {
  if (answer_ == Answer::kStreaming) return Cut();
  RespondError(500, InternalError("the handler gave no answer"), {});
}

std::shared_ptr<WebSocket> HttpConnection::AcceptWebSocket(const WebSocketLimits& limits) {
  if (life_ != Life::kServing || answer_ != Answer::kNone || !parser_) return nullptr;
  auto key = parser_->head().headers.Find("Sec-WebSocket-Key");
  if (!key) return nullptr;
  std::string head = "HTTP/1.1 101 Switching Protocols\r\n";
  AppendHeader(head, "Upgrade", "websocket");
  AppendHeader(head, "Connection", "Upgrade");
  AppendHeader(head, "Sec-WebSocket-Accept", AcceptKeyFor(*key));
  head += "\r\n";
  stream_->Write(head);
  auto link =
      std::make_shared<WebSocketLink>(server_->loop, stream_, WebSocketLink::Role::kServer, limits);
  link->Start(std::string(unparsed()));
  upgraded_ = true;
  life_ = Life::kGone;
  exchange_id_ = nullptr;
  answer_ = Answer::kDone;
  server_->Remove(shared_from_this());
  return std::make_shared<WebSocket>(std::move(link));
}

}  // namespace muster
