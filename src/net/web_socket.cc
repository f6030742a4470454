#include "net/web_socket.h"

#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "net/web_socket_link.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr uint16_t kNormalClosure = 1000;
constexpr uint16_t kProtocolError = 1002;
constexpr uint16_t kTooBig = 1009;
constexpr Duration kGoodbyeLimit = 1s;
constexpr int kSilentTurnsLimit = 3;

}  // namespace

WebSocketLink::WebSocketLink(EventLoop& loop, std::shared_ptr<ByteStream> stream, Role role,
                             WebSocketLimits limits)
    : loop_(loop),
      stream_(std::move(stream)),
      role_(role),
      limits_(limits),
      reader_(role == Role::kServer ? FrameReader::Expect::kMasked : FrameReader::Expect::kUnmasked,
              limits.max_message) {
  if (role_ == Role::kClient) mask_state_ = Random::FromSystem().Next();
}

void WebSocketLink::Start(std::string early) {
  stream_->SetListener(weak_from_this());
  stream_->PauseReading();
  reader_.Feed(std::span<char>(early));
  reader_.Keep();
  if (limits_.ping_every > Duration{0}) PingLater();
}

void WebSocketLink::OnMessageCall(std::function<void(std::string_view)> callback) {
  on_message_ = std::make_shared<const std::function<void(std::string_view)>>(std::move(callback));
  if (!paused_) ResumeReading();
}

void WebSocketLink::OnClosedCall(std::function<void(const Error&)> callback) {
  on_closed_ = std::make_shared<const std::function<void(const Error&)>>(std::move(callback));
}

void WebSocketLink::PauseReading() {
  paused_ = true;
  stream_->PauseReading();
}

void WebSocketLink::ResumeReading() {
  paused_ = false;
  if (state_ == State::kClosed) return;
  loop_.Post([self = shared_from_this()] {
    if (self->pumping_ || self->paused_ || self->state_ == State::kClosed) return;
    self->reader_.Feed({});
    self->Pump();
    self->reader_.Keep();
    if (!self->paused_) self->stream_->ResumeReading();
  });
}

void WebSocketLink::OnBytes(std::span<char> bytes) {
  heard_ = true;
  reader_.Feed(bytes);
  Pump();
  reader_.Keep();
}

void WebSocketLink::Pump() {
  pumping_ = true;
  while (!paused_ && !abandoned_ && state_ != State::kClosed) {
    auto frame = reader_.Next();
    if (!frame.ok()) {
      Fail(frame.error().code == ErrorCode::kResourceExhausted ? kTooBig : kProtocolError,
           frame.error());
      break;
    }
    if (!*frame) break;
    TakeFrame(**frame);
  }
  pumping_ = false;
}

void WebSocketLink::TakeFrame(const FrameReader::Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kPing:
      if (state_ == State::kOpen) WriteFrame(FrameKind::kPong, frame.payload);
      return;
    case FrameKind::kPong:
      return;
    case FrameKind::kClose: {
      CloseReason said = ParseClose(frame.payload);
      if (state_ == State::kOpen) {
        bool sendable = frame.payload.size() >= 2;
        WriteFrame(FrameKind::kClose, sendable ? frame.payload.substr(0, 2) : std::string_view());
        stream_->FinishWriting();
        stream_->Flush();
      }
      Error reason =
          why_ ? *why_
               : ClusterError(said.code == kNormalClosure || said.code == 1001 || said.code == 1005
                                  ? ErrorCode::kCancelled
                                  : ErrorCode::kUnavailable,
                              fmt::format("the other side closed the WebSocket ({})", said.code),
                              said.text);
      Finish(reason);
      return;
    }
    default:
      // What still comes after our own goodbye is not wanted.
      if (auto callback = on_message_; state_ == State::kOpen && callback)
        (*callback)(frame.payload);
  }
}

void WebSocketLink::WriteFrame(FrameKind kind, std::string_view payload) {
  std::optional<uint32_t> mask;
  if (role_ == Role::kClient) mask = static_cast<uint32_t>(mask_state_ = Mix64(mask_state_));
  scratch_.clear();
  AppendFrame(scratch_, kind, payload, mask);
  stream_->Write(scratch_);
  if (scratch_.capacity() > (1 << 20)) scratch_ = std::string();
}

void WebSocketLink::Send(std::string_view message) {
  if (state_ != State::kOpen) return;
  if (stream_->pending_bytes() + message.size() > limits_.max_pending.value) {
    Finish(ClusterError(ErrorCode::kResourceExhausted,
                        fmt::format("the other side of the WebSocket does not read: {} wait for it",
                                    Render(Bytes{stream_->pending_bytes()}))));
    return;
  }
  WriteFrame(FrameKind::kBinary, message);
}

void WebSocketLink::Close(std::string_view reason) {
  if (state_ != State::kOpen) return;
  WriteFrame(FrameKind::kClose, RenderClose(kNormalClosure, reason));
  state_ = State::kClosing;
  why_ = Error{ErrorCode::kCancelled, ErrorOwner::kUs,
               fmt::format("WebSocket closed here: {}", reason.empty() ? "done" : reason), ""};
  // The answer must be seen even by a holder that had paused.
  ResumeReading();
  loop_.CancelTimer(timer_);
  timer_ = loop_.RunAfter(kGoodbyeLimit, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Finish(*self->why_);
  });
}

void WebSocketLink::OnEof() {
  Finish(
      why_ ? *why_
           : ClusterError(ErrorCode::kUnavailable, "the other side cut the WebSocket connection"));
}

void WebSocketLink::OnStreamError(const Error& error) { Finish(why_ ? *why_ : error); }

void WebSocketLink::Fail(uint16_t code, const Error& reason) {
  WriteFrame(FrameKind::kClose, RenderClose(code, reason.message));
  stream_->FinishWriting();
  stream_->Flush();
  Finish(reason);
}

void WebSocketLink::Finish(const Error& reason) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  loop_.CancelTimer(timer_);
  loop_.Post([self = shared_from_this(), reason] {
    self->stream_->Close();
    if (auto callback = self->on_closed_; !self->abandoned_ && callback) (*callback)(reason);
    self->on_message_ = nullptr;
    self->on_closed_ = nullptr;
  });
}

void WebSocketLink::Abandon() {
  abandoned_ = true;
  if (state_ != State::kClosed) {
    state_ = State::kClosed;
    loop_.CancelTimer(timer_);
    stream_->Close();
    loop_.Post([self = shared_from_this()] {
      self->on_message_ = nullptr;
      self->on_closed_ = nullptr;
    });
  }
}

void WebSocketLink::PingLater() {
  timer_ = loop_.RunAfter(limits_.ping_every, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnPingTime();
  });
}

void WebSocketLink::OnPingTime() {
  if (state_ != State::kOpen) return;
  silent_turns_ = std::exchange(heard_, false) || paused_ ? 0 : silent_turns_ + 1;
  if (silent_turns_ >= kSilentTurnsLimit) {
    Finish(ClusterError(ErrorCode::kUnavailable,
                        fmt::format("the other side of the WebSocket was silent for {}",
                                    Render(limits_.ping_every * kSilentTurnsLimit))));
    return;
  }
  if (silent_turns_ > 0) WriteFrame(FrameKind::kPing, "");
  PingLater();
}

WebSocket::WebSocket(std::shared_ptr<WebSocketLink> link) : link_(std::move(link)) {}
WebSocket::~WebSocket() { link_->Abandon(); }
void WebSocket::Send(std::string_view message) { link_->Send(message); }
size_t WebSocket::pending_bytes() const { return link_->pending_bytes(); }
void WebSocket::OnMessage(std::function<void(std::string_view)> callback) {
  link_->OnMessageCall(std::move(callback));
}
void WebSocket::OnClosed(std::function<void(const Error&)> callback) {
  link_->OnClosedCall(std::move(callback));
}
void WebSocket::PauseReading() { link_->PauseReading(); }
void WebSocket::ResumeReading() { link_->ResumeReading(); }
void WebSocket::Close(std::string_view reason) { link_->Close(reason); }
bool WebSocket::open() const { return link_->open(); }
std::optional<PeerCredentials> WebSocket::peer() const { return link_->peer(); }

}  // namespace muster
