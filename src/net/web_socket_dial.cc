// The client's half of the opening handshake (RFC 6455 section 4.1).
#include <utility>

#include "base/random.h"
#include "net/http_parser.h"
#include "net/web_socket_link.h"

namespace muster {
namespace {

constexpr Bytes kMaxHead = KiB(64);
constexpr size_t kMaxRefusal = 64 << 10;

using Done = std::function<void(Result<std::shared_ptr<WebSocket>>)>;

// The timer owns it until it is finished.
class WebSocketDial final : public StreamListener,
                            public std::enable_shared_from_this<WebSocketDial> {
 public:
  WebSocketDial(EventLoop& loop, const Endpoint& endpoint, WebSocketLimits limits, Done done)
      : loop_(loop),
        endpoint_(endpoint),
        limits_(limits),
        done_(std::move(done)),
        parser_(HttpParser::Side::kResponse, kMaxHead) {
    Random random = Random::FromSystem();
    std::string nonce;
    for (int i = 0; i < 16; ++i) nonce.push_back(static_cast<char>(random.Below(256)));
    key_ = EncodeBase64(nonce);
  }

  void Start(const std::string& target, const HttpHeaders& headers, Duration limit) {
    request_ = "GET " + target + " HTTP/1.1\r\n";
    AppendHeader(request_, "Host", endpoint_.unix_path.empty() ? Render(endpoint_) : "localhost");
    AppendHeader(request_, "Connection", "Upgrade");
    AppendHeader(request_, "Upgrade", "websocket");
    AppendHeader(request_, "Sec-WebSocket-Version", "13");
    AppendHeader(request_, "Sec-WebSocket-Key", key_);
    for (const auto& [name, value] : headers) AppendHeader(request_, name, value);
    request_ += "\r\n";
    timer_ = loop_.RunAfter(limit, [self = shared_from_this(), limit] {
      self->Finish(ClusterError(ErrorCode::kDeadlineExceeded,
                                fmt::format("open a WebSocket to {}: no answer within {}",
                                            Render(self->endpoint_), Render(limit))));
    });
    ConnectStream(loop_, endpoint_, limit,
                  [self = shared_from_this()](Result<std::shared_ptr<ByteStream>> stream) {
                    self->OnConnected(std::move(stream));
                  });
  }

  void OnBytes(std::span<char> bytes) override {
    inbox_.append(bytes.data(), bytes.size());
    auto take_body = [this](std::string_view part) {
      if (refusal_.size() < kMaxRefusal) refusal_.append(part);
    };
    while (!parser_.done()) {
      auto eaten = parser_.Feed(inbox_, take_body);
      if (!eaten.ok()) return Finish(Failed(eaten.error()));
      inbox_.erase(0, *eaten);
      if (parser_.head_done() && parser_.head().status == 101) return OnSwitched();
      if (*eaten == 0 && !parser_.done()) return;
    }
    Refused();
  }
  void OnEof() override {
    if (parser_.head_done()) return Refused();
    Finish(Failed(ClusterError(ErrorCode::kUnavailable, "the server cut the connection")));
  }
  void OnStreamError(const Error& error) override { Finish(Failed(error)); }
  void OnDrained() override {}

 private:
  Error Failed(Error error) const {
    return std::move(error).WithContext("open a WebSocket to " + Render(endpoint_));
  }

  void OnConnected(Result<std::shared_ptr<ByteStream>> stream) {
    if (!done_) {
      if (stream.ok()) (*stream)->Close();
      return;
    }
    if (!stream.ok()) return Finish(stream.error());
    stream_ = *stream;
    stream_->SetListener(weak_from_this());
    stream_->Write(request_);
    stream_->ResumeReading();
  }

  void OnSwitched() {
    if (parser_.head().headers.Find("Sec-WebSocket-Accept") != AcceptKeyFor(key_)) {
      return Finish(
          Failed(ClusterError(ErrorCode::kInvalidArgument, "no WebSocket server answers")));
    }
    auto link = std::make_shared<WebSocketLink>(loop_, std::exchange(stream_, nullptr),
                                                WebSocketLink::Role::kClient, limits_);
    link->Start(std::move(inbox_));
    Finish(std::make_shared<WebSocket>(std::move(link)));
  }

  void Refused() {
    int status = parser_.head().status;
    Finish(Failed(ClusterError(FromHttpStatus(status),
                               fmt::format("the server answered {}", status), refusal_)));
  }

  void Finish(Result<std::shared_ptr<WebSocket>> result) {
    if (!done_) return;
    auto self = shared_from_this();
    loop_.CancelTimer(timer_);
    if (stream_) stream_->Close();
    std::exchange(done_, nullptr)(std::move(result));
  }

  EventLoop& loop_;
  const Endpoint endpoint_;
  const WebSocketLimits limits_;
  Done done_;
  HttpParser parser_;
  std::string key_;
  std::string request_;
  std::string inbox_;
  std::string refusal_;
  std::shared_ptr<ByteStream> stream_;
  Loop::TimerId timer_ = 0;
};

}  // namespace

void WebSocket::Connect(EventLoop& loop, const Endpoint& endpoint, const std::string& target,
                        const HttpHeaders& headers, Duration limit, Done done,
                        WebSocketLimits socket_limits) {
  std::make_shared<WebSocketDial>(loop, endpoint, socket_limits, std::move(done))
      ->Start(target, headers, limit);
}

}  // namespace muster
