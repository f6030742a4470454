#include "net/http_connection.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Pipelined requests that may wait in memory behind the one being answered.
constexpr size_t kMaxWaiting = 64 << 10;
constexpr uint64_t kMaxLingerBytes = 64 << 20;
constexpr Duration kLingerTime = 2s;

int StatusOfBadRequest(const Error& error) {
  return error.code == ErrorCode::kResourceExhausted ? 431 : 400;
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpServerState> server,
                               std::shared_ptr<ByteStream> stream)
    : server_(std::move(server)), stream_(std::move(stream)) {}

HttpConnection::~HttpConnection() {
  if (!upgraded_) stream_->Close();
}

void HttpConnection::Start() {
  stream_->SetListener(weak_from_this());
  SetDeadline(limits().head_time);
  stream_->ResumeReading();
}

void HttpConnection::TurnAway() {
  keep_alive_ = false;
  Refuse(
      503,
      OperatorError(ErrorCode::kUnavailable, fmt::format("too many connections: {} are open",
                                                         server_->options.limits.max_connections)),
      {{"Retry-After", "1"}});
}

void HttpConnection::CloseWhenIdle() {
  keep_alive_ = false;
  bool idle = reading_ == Reading::kHead && answer_ == Answer::kNone && unparsed().empty();
  if (!idle || life_ != Life::kServing) return;
  if (stream_->pending_bytes() == 0) return Cut();
  Linger();
}

void HttpConnection::CutSilently() {
  life_ = Life::kGone;
  exchange_id_ = nullptr;
  if (!upgraded_) stream_->Close();
  if (auto held = exchange()) held->DropCallbacks();
  server_->Remove(shared_from_this());
}

void HttpConnection::Cut() {
  if (life_ == Life::kGone) return;
  life_ = Life::kGone;
  bool had_exchange = std::exchange(exchange_id_, nullptr) != nullptr;
  stream_->Close();
  if (had_exchange) {
    bool body_missing = reading_ != Reading::kDone;
    server_->loop.Post([weak = exchange_, body_missing] {
      auto held = weak.lock();
      if (!held) return;
      if (body_missing && held->on_body_end_) {
        held->on_body_end_(UserError(ErrorCode::kUnavailable, "the client went away"));
      }
      if (held->on_closed_) held->on_closed_();
      held->DropCallbacks();
    });
  }
  server_->Remove(shared_from_this());
}

void HttpConnection::SetDeadline(Duration from_now) {
  deadline_ = server_->loop.ReadClock().boot + from_now;
}

void HttpConnection::Sweep(BootTime now) {
  if (life_ == Life::kGone) return;
  if (events_ && answer_ == Answer::kStreaming && stream_->pending_bytes() == 0 &&
      now - last_write_ >= limits().heartbeat) {
    Write(":\n\n");
  }
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  OnDeadline();
}

void HttpConnection::OnDeadline() {
  if (life_ == Life::kLingering) {
    // A slow reader may take its answer; then the time begins anew.
    if (stream_->pending_bytes() == 0) return Cut();
    return SetDeadline(kLingerTime);
  }
  if (answer_ != Answer::kNone || (reading_ == Reading::kHead && unparsed().empty())) {
    if (answer_ == Answer::kNone) Cut();
    return;
  }
  if (reading_ == Reading::kDone || body_paused_) return;
  keep_alive_ = false;
  Error error = UserError(ErrorCode::kDeadlineExceeded, "the request did not come in time");
  if (exchange_id_ != nullptr) return BreakOff(error);
  Refuse(408, error);
}

void HttpConnection::OnBytes(std::span<char> bytes) {
  if (life_ == Life::kLingering) {
    lingered_bytes_ += bytes.size();
    if (lingered_bytes_ > kMaxLingerBytes) Cut();
    return;
  }
  if (reading_ == Reading::kHead && unparsed().empty() && answer_ == Answer::kNone) {
    SetDeadline(limits().head_time);
  }
  inbox_.append(bytes.data(), bytes.size());
  Advance();
}

void HttpConnection::OnEof() {
  eof_ = true;
  if (stream_->PeerGone()) return Cut();
  if (life_ == Life::kLingering) {
    if (stream_->pending_bytes() == 0) Cut();
    return;
  }
  Advance();
}

void HttpConnection::OnStreamError(const Error& error) {
  LogDebug("http: connection lost: {}", error.message);
  Cut();
}

void HttpConnection::OnDrained() {
  if (life_ == Life::kLingering) {
    if (eof_) return Cut();
    return SetDeadline(kLingerTime);
  }
  if (exchange_id_ == nullptr) return;
  if (auto held = exchange(); held && held->on_drained_) held->on_drained_();
}

void HttpConnection::Advance() {
  if (advancing_) return;
  auto self = shared_from_this();
  advancing_ = true;
  while (life_ == Life::kServing && Step()) {
  }
  advancing_ = false;
  if (inbox_at_ > 0) {
    inbox_.erase(0, std::exchange(inbox_at_, 0));
    if (inbox_.empty() && inbox_.capacity() > kMaxWaiting) inbox_ = std::string();
  }
  UpdateReading();
}

void HttpConnection::UpdateReading() {
  if (life_ == Life::kGone) return;
  bool enough = life_ == Life::kServing &&
                (body_paused_ || (reading_ == Reading::kDone && unparsed().size() > kMaxWaiting));
  if (enough) {
    stream_->PauseReading();
  } else {
    stream_->ResumeReading();
  }
}

bool HttpConnection::Step() {
  if (reading_ == Reading::kHead && answer_ == Answer::kNone) return ReadHead();
  if (reading_ == Reading::kBody) return ReadBody();
  if (answer_ != Answer::kDone) return false;
  if (!keep_alive_ || server_->closing) {
    Linger();
    return false;
  }
  BeginNextRequest();
  return true;
}

bool HttpConnection::Parse() {
  bool unwanted = !body_wanted_;
  auto eaten = parser_->Feed(unparsed(), [this, unwanted](std::string_view part) {
    if (!unwanted) TakeBody(part);
  });
  if (!eaten.ok()) {
    BreakOff(eaten.error());
    return false;
  }
  inbox_at_ += *eaten;
  if (*eaten > 0) return true;
  // An endless line is no progress.
  if (unparsed().size() > limits().max_head.value + kMaxWaiting) {
    BreakOff(UserError(ErrorCode::kResourceExhausted, "line of the HTTP message is too long"));
  } else if (eof_) {
    BreakOff(UserError(ErrorCode::kUnavailable, "the request ended early"));
  }
  return false;
}

bool HttpConnection::ReadHead() {
  if (!parser_) {
    // Empty lines before a request are to be ignored (RFC 9112 section 2.2).
    while (!unparsed().empty() && (unparsed()[0] == '\r' || unparsed()[0] == '\n')) ++inbox_at_;
    if (unparsed().empty()) {
      if (eof_) Linger();
      return false;
    }
    parser_.emplace(HttpParser::Side::kRequest, limits().max_head);
  }
  if (!Parse()) return reading_ == Reading::kDone;
  if (parser_->head_done()) OnHead();
  return true;
}

void HttpConnection::OnHead() {
  const HttpHead& head = parser_->head();
  keep_alive_ = keep_alive_ && head.keep_alive;
  head_only_ = head.method == "HEAD";
  reading_ = parser_->done() ? Reading::kDone : Reading::kBody;
  deadline_.reset();
  if (Status filled = FillRequest(); !filled.ok()) return Refuse(400, filled.error());
  std::string_view raw_path = std::string_view(head.target).substr(0, head.target.find('?'));
  Router::Match match = server_->router.Find(head.method, raw_path);
  request_.parameters = std::move(match.parameters);
  if (server_->options.gate) {
    Status allowed = server_->options.gate(request_);
    if (!allowed.ok()) return Refuse(ToHttpStatus(allowed.error().code), allowed.error());
  }
  Dispatch(std::move(match));
}

Status HttpConnection::FillRequest() {
  const HttpHead& head = parser_->head();
  request_ = {};
  request_.method = head.method;
  request_.target = head.target;
  request_.headers = head.headers;
  request_.peer = stream_->peer();
  if (!head.target.starts_with('/')) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a path of this server", head.target));
  }
  std::string_view target = head.target;
  size_t mark = std::min(target.find('?'), target.size());
  ASSIGN_OR_RETURN(request_.path, DecodePercent(target.substr(0, mark)));
  ASSIGN_OR_RETURN(request_.query, ParseQuery(target.substr(std::min(mark + 1, target.size()))));
  return Status::Ok();
}

void HttpConnection::Dispatch(Router::Match match) {
  switch (match.outcome) {
    case Router::Outcome::kBadPath:
      return Refuse(400, UserError(ErrorCode::kInvalidArgument,
                                   fmt::format("\"{}\" is not a valid path", request_.path)));
    case Router::Outcome::kNoSuchPath:
      return Refuse(404, UserError(ErrorCode::kNotFound,
                                   fmt::format("there is nothing at {}", request_.path)));
    case Router::Outcome::kNoSuchMethod: {
      std::string allowed = fmt::format("{}", fmt::join(match.allowed, ", "));
      return Refuse(
          405,
          UserError(ErrorCode::kUnimplemented,
                    fmt::format("{} takes {}, not {}", request_.path, allowed, request_.method)),
          {{"Allow", allowed}});
    }
    case Router::Outcome::kFound:
      break;
  }
  route_ = &server_->routes[match.route];
  if (route_->kind == HttpServer::RouteEntry::Kind::kUpgrade) return BeginUpgrade();
  BeginBody();
}

void HttpConnection::BeginBody() {
  const HttpHead& head = parser_->head();
  bool streamed = route_->kind == HttpServer::RouteEntry::Kind::kStreamed;
  if (!streamed && head.content_length.value_or(0) > route_->max_body.value) {
    return Refuse(
        413, UserError(ErrorCode::kInvalidArgument,
                       fmt::format("the body has {}, more than {}",
                                   Render(Bytes{*head.content_length}), Render(route_->max_body))));
  }
  body_wanted_ = true;
  body_bytes_ = 0;
  if (reading_ == Reading::kBody) {
    SetDeadline(limits().body_time);
    if (head.version >= 11 && request_.headers.HasToken("Expect", "100-continue")) {
      stream_->Write("HTTP/1.1 100 Continue\r\n\r\n");
    }
  }
  if (streamed) {
    auto made = MakeExchange();
    route_->handler(made);
    if (reading_ == Reading::kDone && exchange_id_ == made.get()) OnBodyDone();
  } else if (reading_ == Reading::kDone) {
    OnBodyDone();
  }
}

void HttpConnection::BeginUpgrade() {
  bool valid = request_.headers.HasToken("Upgrade", "websocket") &&
               request_.headers.HasToken("Connection", "upgrade") &&
               request_.headers.Find("Sec-WebSocket-Version") == "13" &&
               request_.headers.Find("Sec-WebSocket-Key") && reading_ == Reading::kDone;
  if (!valid) {
    return Refuse(426,
                  UserError(ErrorCode::kInvalidArgument,
                            fmt::format("{} speaks WebSocket, version 13", request_.path)),
                  {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}});
  }
  route_->handler(MakeExchange());
}

std::shared_ptr<HttpExchange> HttpConnection::MakeExchange() {
  auto made = std::make_shared<HttpExchange>(weak_from_this(), std::exchange(request_, {}));
  exchange_ = made;
  exchange_id_ = made.get();
  return made;
}

bool HttpConnection::ReadBody() {
  if (body_paused_) return false;
  if (!Parse()) return reading_ == Reading::kDone;
  if (life_ != Life::kServing) return false;
  if (body_wanted_) SetDeadline(limits().body_time);
  if (parser_->done()) {
    reading_ = Reading::kDone;
    if (body_wanted_) OnBodyDone();
  }
  return true;
}

void HttpConnection::TakeBody(std::string_view part) {
  body_bytes_ += part.size();
  if (route_->kind == HttpServer::RouteEntry::Kind::kStreamed) {
    auto held = exchange();
    if (exchange_id_ != nullptr && held && held->on_body_) held->on_body_(part);
    return;
  }
  if (body_bytes_ > route_->max_body.value) {
    keep_alive_ = false;
    return Refuse(413,
                  UserError(ErrorCode::kInvalidArgument,
                            fmt::format("the body has more than {}", Render(route_->max_body))));
  }
  request_.body.append(part);
}

void HttpConnection::OnBodyDone() {
  deadline_.reset();
  if (route_->kind == HttpServer::RouteEntry::Kind::kStreamed) {
    auto held = exchange();
    if (exchange_id_ != nullptr && held && held->on_body_end_) held->on_body_end_(Status::Ok());
    return;
  }
  route_->handler(MakeExchange());
}

void HttpConnection::BreakOff(const Error& error) {
  keep_alive_ = false;
  reading_ = Reading::kDone;
  deadline_.reset();
  if (exchange_id_ == nullptr) {
    if (answer_ == Answer::kNone) Refuse(StatusOfBadRequest(error), error);
    return;
  }
  if (auto held = exchange(); held && held->on_body_end_) held->on_body_end_(error);
}

void HttpConnection::PauseBody() {
  body_paused_ = true;
  deadline_.reset();
  if (!advancing_) UpdateReading();
}

void HttpConnection::ResumeBody() {
  if (!std::exchange(body_paused_, false)) return;
  if (reading_ == Reading::kBody) SetDeadline(limits().body_time);
  // Never from within the caller, which may be in the middle of its own work.
  server_->loop.Post([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Advance();
  });
}

void HttpConnection::BeginNextRequest() {
  parser_.reset();
  request_ = {};
  route_ = nullptr;
  reading_ = Reading::kHead;
  answer_ = Answer::kNone;
  body_wanted_ = true;
  events_ = false;
  SetDeadline(unparsed().empty() ? limits().idle_time : limits().head_time);
}

void HttpConnection::Linger() {
  life_ = Life::kLingering;
  stream_->FinishWriting();
  stream_->Flush();
  if (eof_ && stream_->pending_bytes() == 0) return Cut();
  SetDeadline(kLingerTime);
  stream_->ResumeReading();
}

}  // namespace muster
