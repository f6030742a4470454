// The living half of a WebSocket: reads and writes frames on a stream. For the files of this room.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/event_loop.h"
#include "net/web_socket.h"
#include "net/web_socket_frames.h"

namespace muster {

class WebSocketLink final : public StreamListener,
                            public std::enable_shared_from_this<WebSocketLink> {
 public:
  enum class Role { kServer, kClient };
  WebSocketLink(EventLoop& loop, std::shared_ptr<ByteStream> stream, Role role,
                WebSocketLimits limits);

  // Takes over the stream; `early` are bytes that were read behind the handshake.
  void Start(std::string early);
  void Send(std::string_view message);
  size_t pending_bytes() const { return stream_->pending_bytes(); }
  void OnMessageCall(std::function<void(std::string_view)> callback);
  void OnClosedCall(std::function<void(const Error&)> callback);
  void PauseReading();
  void ResumeReading();
  void Close(std::string_view reason);
  // The holder is gone: no more callbacks.
  void Abandon();
  bool open() const { return state_ == State::kOpen; }
  std::optional<PeerCredentials> peer() const { return stream_->peer(); }

  void OnBytes(std::span<char> bytes) override;
  void OnEof() override;
  void OnStreamError(const Error& error) override;
  void OnDrained() override {}

 private:
  enum class State { kOpen, kClosing, kClosed };
  // Hands out the messages that are there.
  void Pump();
  void TakeFrame(const FrameReader::Frame& frame);
  void WriteFrame(FrameKind kind, std::string_view payload);
  // Says why to the other side and ends.
  void Fail(uint16_t code, const Error& reason);
  // `reason` goes to the holder in a later handler.
  void Finish(const Error& reason);
  void PingLater();
  void OnPingTime();

  EventLoop& loop_;
  const std::shared_ptr<ByteStream> stream_;
  const Role role_;
  const WebSocketLimits limits_;
  FrameReader reader_;
  uint64_t mask_state_ = 0;
  State state_ = State::kOpen;
  bool abandoned_ = false;
  bool paused_ = false;
  bool pumping_ = false;
  bool heard_ = false;
  int silent_turns_ = 0;
  Loop::TimerId timer_ = 0;
  std::string scratch_;
  std::optional<Error> why_;
  // Shared while they run: a callback may replace itself or drop the socket.
  std::shared_ptr<const std::function<void(std::string_view)>> on_message_;
  std::shared_ptr<const std::function<void(const Error&)>> on_closed_;
};

}  // namespace muster
