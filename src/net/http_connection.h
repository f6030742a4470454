// One client of an HttpServer: reads requests one after the other, lets the routes answer. For the
// files of this room.
//
// Reading and answering are two halves: a streamed body may still come while the answer is already
// given, and a client that has said all may still wait. When both halves are done, the next request
// begins, or the connection lingers: it reads and throws away until the client has closed, so that
// the answer is not lost with a reset.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "net/byte_stream.h"
#include "net/event_loop.h"
#include "net/http_exchange.h"
#include "net/http_parser.h"
#include "net/http_server.h"
#include "net/listener.h"
#include "net/router.h"

namespace muster {

class HttpConnection;

struct HttpServer::RouteEntry {
  enum class Kind { kBuffered, kStreamed, kUpgrade };
  Kind kind = Kind::kBuffered;
  Bytes max_body;
  HttpServer::Handler handler;
};

// What a server and its connections share.
struct HttpServerState {
  HttpServerState(EventLoop& the_loop, HttpServerOptions the_options)
      : loop(the_loop), options(std::move(the_options)) {}

  std::string ErrorBody(const Error& error, int status) const {
    return options.render_error ? options.render_error(error, status) : error.ToString() + "\n";
  }
  std::string_view error_content_type() const {
    return options.render_error ? std::string_view(options.error_content_type) : "text/plain";
  }
  // Looks at every connection's deadline while there are any.
  void SweepLater(const std::weak_ptr<HttpServerState>& self);
  void Remove(const std::shared_ptr<HttpConnection>& connection);
  // The Date header's value now.
  const std::string& Date();

  EventLoop& loop;
  const HttpServerOptions options;
  Router router;
  std::vector<HttpServer::RouteEntry> routes;
  std::vector<std::unique_ptr<Listener>> listeners;
  uint16_t port = 0;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections;
  bool sweeping = false;
  bool closing = false;
  std::function<void()> on_all_closed;
  int64_t date_second = -1;
  std::string date;
};

class HttpConnection final : public StreamListener,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpServerState> server, std::shared_ptr<ByteStream> stream);
  ~HttpConnection() override;

  void Start();
  // Says why (503) and hangs up.
  void TurnAway();
  // Closes once nothing is under way.
  void CloseWhenIdle();
  // At once. The exchange under way, if any, is told in a later handler.
  void Cut();
  // At once, and nobody is told: the server itself goes.
  void CutSilently();
  void Sweep(BootTime now);

  void OnBytes(std::span<char> bytes) override;
  void OnEof() override;
  void OnStreamError(const Error& error) override;
  void OnDrained() override;

  // For HttpExchange.
  bool Owns(const HttpExchange* exchange) const { return exchange_id_ == exchange; }
  void Respond(int status, std::string_view content_type, std::string_view body,
               const HttpHeaders& extra);
  void RespondError(int status, const Error& error, const HttpHeaders& extra);
  void StartStream(int status, std::string_view content_type, const HttpHeaders& extra);
  void StartEvents(const HttpHeaders& extra);
  void Write(std::string_view bytes);
  void Finish();
  void PauseBody();
  void ResumeBody();
  size_t pending_bytes() const { return stream_->pending_bytes(); }
  // The last holder of the exchange is gone.
  void OnExchangeDropped();
  std::shared_ptr<WebSocket> AcceptWebSocket(const WebSocketLimits& limits);

 private:
  enum class Reading { kHead, kBody, kDone };
  enum class Answer { kNone, kStreaming, kDone };
  enum class Life { kServing, kLingering, kGone };

  // Goes on with what has been read, as far as it gets.
  void Advance();
  // One step; false: more bytes or an answer are needed.
  bool Step();
  bool ReadHead();
  bool ReadBody();
  // One piece of the request out of the inbox; false when more bytes are needed or it is broken.
  bool Parse();
  void OnHead();
  Status FillRequest();
  void Dispatch(Router::Match match);
  void BeginBody();
  void BeginUpgrade();
  std::shared_ptr<HttpExchange> MakeExchange();
  void TakeBody(std::string_view part);
  void OnBodyDone();
  // The request is not valid or has ended early.
  void BreakOff(const Error& error);
  // An answer by the server itself.
  void Refuse(int status, const Error& error, const HttpHeaders& extra = {});
  void FinishAnswer();
  void BeginNextRequest();
  void UpdateReading();
  std::string_view unparsed() const { return std::string_view(inbox_).substr(inbox_at_); }
  void WriteHead(int status, std::string_view content_type, const HttpHeaders& extra,
                 std::optional<size_t> length);
  void Linger();
  void SetDeadline(Duration from_now);
  void OnDeadline();
  const HttpServerLimits& limits() const { return server_->options.limits; }
  std::shared_ptr<HttpExchange> exchange() const { return exchange_.lock(); }

  const std::shared_ptr<HttpServerState> server_;
  const std::shared_ptr<ByteStream> stream_;
  std::string inbox_;
  size_t inbox_at_ = 0;  // how far it has been parsed
  std::optional<HttpParser> parser_;
  HttpRequest request_;  // until an exchange takes it
  std::weak_ptr<HttpExchange> exchange_;
  // Identity of the exchange that may answer now; null when none may.
  const HttpExchange* exchange_id_ = nullptr;
  const HttpServer::RouteEntry* route_ = nullptr;
  uint64_t body_bytes_ = 0;
  uint64_t lingered_bytes_ = 0;
  Reading reading_ = Reading::kHead;
  Answer answer_ = Answer::kNone;
  Life life_ = Life::kServing;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool chunked_ = false;
  bool events_ = false;
  bool body_paused_ = false;
  bool body_wanted_ = true;
  bool eof_ = false;
  bool advancing_ = false;
  bool upgraded_ = false;
  std::optional<BootTime> deadline_;
  BootTime last_write_;
};

}  // namespace muster
