// A connected stream of bytes on an event loop: a unix socket or TCP now, TLS behind the same
// interface later. HTTP and WebSocket know only this.
//
// Loop's thread only. Shared: operations under way keep it alive; the owner calls Close when done.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/endpoint.h"
#include "net/event_loop.h"

namespace muster {

// Told what happens on a stream; never from within a call to the stream.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  // `bytes` are the listener's to change until it returns.
  virtual void OnBytes(std::span<char> bytes) = 0;
  // The other side writes no more; it may still read.
  virtual void OnEof() = 0;
  // The connection is cut; the stream is closed.
  virtual void OnStreamError(const Error& error) = 0;
  // All that was written has been handed to the operating system, after some had to wait for it.
  virtual void OnDrained() = 0;
};

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual void SetListener(std::weak_ptr<StreamListener> listener) = 0;
  // Reading begins with the first Resume. After a Pause one more piece may come.
  virtual void ResumeReading() = 0;
  virtual void PauseReading() = 0;
  // Queues; goes out at the end of the pass, together with what else was written in it.
  virtual void Write(std::string_view bytes) = 0;
  // Written and not yet taken by the operating system.
  virtual size_t pending_bytes() const = 0;
  // Hands over what can go now instead of at the end of the pass.
  virtual void Flush() = 0;
  // Sends what is pending, then tells the other side that no more comes.
  virtual void FinishWriting() = 0;
  // Drops what is pending; the listener hears nothing more. Idempotent.
  virtual void Close() = 0;
  // True if a unix socket's other side has closed both directions. TCP cannot tell before a write.
  virtual bool PeerGone() const = 0;
  virtual std::optional<PeerCredentials> peer() const = 0;
};

// Takes a connected unix or TCP socket.
std::shared_ptr<ByteStream> MakeSocketStream(EventLoop& loop, UniqueFd socket);

// Calls `done` once, from the loop: with a stream, or with what failed. kUnavailable: nobody
// listens there; kDeadlineExceeded: no answer within `limit`.
void ConnectStream(EventLoop& loop, const Endpoint& endpoint, Duration limit,
                   std::function<void(Result<std::shared_ptr<ByteStream>>)> done);

}  // namespace muster
