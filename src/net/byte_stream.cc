#include "net/byte_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "net/asio_loop.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Socket =
    asio::basic_stream_socket<asio::generic::stream_protocol, asio::io_context::executor_type>;

constexpr size_t kFirstReadBuffer = 4 << 10;
constexpr size_t kLargestReadBuffer = 64 << 10;
// Beyond this a write does not wait for the end of the pass.
constexpr size_t kWriteNow = 256 << 10;

class SocketStream final : public ByteStream,
                           public Flushable,
                           public std::enable_shared_from_this<SocketStream> {
 public:
  SocketStream(EventLoop& loop, int fd)
      : loop_(loop), socket_(loop.asio().io), peer_(ReadPeerCredentials(fd)) {}

  void Adopt(UniqueFd fd) {
    int one = 1;
    if (!peer_) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int family = peer_ ? AF_UNIX : AF_INET;
    error_code error;
    socket_.assign(asio::generic::stream_protocol(family, 0), fd.get(), error);
    if (!error) {
      fd.Release();
      socket_.non_blocking(true, error);
    }
    if (error) FailLater("prepare a socket", error);
  }

  void SetListener(std::weak_ptr<StreamListener> listener) override {
    listener_ = std::move(listener);
  }
  void ResumeReading() override {
    paused_ = false;
    Read();
  }
  void PauseReading() override { paused_ = true; }
  void Write(std::string_view bytes) override;
  size_t pending_bytes() const override { return out_.size() - sent_; }
  void FinishWriting() override {
    finish_ = true;
    FlushSoon();
  }
  void Close() override;
  bool PeerGone() const override;
  std::optional<PeerCredentials> peer() const override { return peer_; }
  void Flush() override;

 private:
  void Read();
  void OnRead(error_code error, size_t size);
  void FlushSoon();
  void AwaitWritable();
  void DrainedLater();
  // Closes, and tells the listener in a later handler.
  void FailLater(std::string_view what, error_code error);

  EventLoop& loop_;
  Socket socket_;
  const std::optional<PeerCredentials> peer_;
  std::weak_ptr<StreamListener> listener_;
  std::vector<char> in_;
  std::string out_;
  size_t sent_ = 0;
  bool paused_ = true;
  bool reading_ = false;
  bool eof_ = false;
  bool dirty_ = false;
  bool writing_ = false;  // waits until the socket takes more
  bool finish_ = false;
  bool finished_ = false;
  bool closed_ = false;
};

void SocketStream::Read() {
  if (reading_ || paused_ || eof_ || closed_) return;
  reading_ = true;
  if (in_.empty()) in_.resize(kFirstReadBuffer);
  socket_.async_read_some(asio::buffer(in_),
                          [self = shared_from_this()](error_code error, size_t size) {
                            self->loop_.asio().NoteHandler();
                            self->reading_ = false;
                            self->OnRead(error, size);
                          });
}

void SocketStream::OnRead(error_code error, size_t size) {
  if (closed_) return;
  auto listener = listener_.lock();
  if (!listener) return;
  if (error == asio::error::eof) {
    eof_ = true;
    listener->OnEof();
    return;
  }
  if (error) {
    Close();
    listener->OnStreamError(ErrnoError("read from the other side", error.value()));
    return;
  }
  listener->OnBytes(std::span<char>(in_.data(), size));
  if (closed_) return;
  if (size == in_.size() && size < kLargestReadBuffer) in_.resize(in_.size() * 2);
  Read();
}

void SocketStream::Write(std::string_view bytes) {
  if (closed_ || finish_) return;
  out_.append(bytes);
  if (out_.size() - sent_ >= kWriteNow && !writing_) {
    Flush();
  } else {
    FlushSoon();
  }
}

void SocketStream::FlushSoon() {
  if (dirty_ || writing_ || closed_) return;
  dirty_ = true;
  loop_.asio().FlushAtPassEnd(weak_from_this());
}

void SocketStream::Flush() {
  dirty_ = false;
  if (closed_ || writing_) return;
  bool waited = false;
  while (sent_ < out_.size()) {
    error_code error;
    size_t size = socket_.write_some(asio::buffer(out_.data() + sent_, out_.size() - sent_), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      AwaitWritable();
      return;
    }
    if (error) return FailLater("write to the other side", error);
    sent_ += size;
    waited = true;
  }
  out_.clear();
  if (out_.capacity() > kWriteNow) out_.shrink_to_fit();
  sent_ = 0;
  if (finish_ && !finished_) {
    finished_ = true;
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  if (waited) DrainedLater();
}

void SocketStream::AwaitWritable() {
  if (sent_ > kWriteNow && sent_ > out_.size() / 2) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
  writing_ = true;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](error_code error) {
    self->loop_.asio().NoteHandler();
    self->writing_ = false;
    if (!error) self->Flush();
  });
}

void SocketStream::DrainedLater() {
  loop_.Post([self = weak_from_this()] {
    auto stream = self.lock();
    if (!stream || stream->closed_ || stream->pending_bytes() > 0) return;
    if (auto listener = stream->listener_.lock()) listener->OnDrained();
  });
}

void SocketStream::FailLater(std::string_view what, error_code error) {
  Close();
  loop_.Post([self = weak_from_this(), failure = ErrnoError(std::string(what), error.value())] {
    auto stream = self.lock();
    if (!stream) return;
    if (auto listener = stream->listener_.lock()) listener->OnStreamError(failure);
  });
}

void SocketStream::Close() {
  if (closed_) return;
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  out_ = {};
  sent_ = 0;
}

bool SocketStream::PeerGone() const {
  if (closed_) return true;
  if (!peer_) return false;
  // The native handle is only looked at.
  pollfd look{const_cast<Socket&>(socket_).native_handle(), 0, 0};
  return ::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

// One attempt at a TCP connection: names resolved, addresses tried in turn, within one limit.
class TcpDial : public std::enable_shared_from_this<TcpDial> {
 public:
  using Done = std::function<void(Result<std::shared_ptr<ByteStream>>)>;
  TcpDial(EventLoop& loop, Endpoint endpoint, Done done)
      : loop_(loop),
        endpoint_(std::move(endpoint)),
        resolver_(loop.asio().io),
        socket_(loop.asio().io),
        done_(std::move(done)) {}

  void Start(Duration limit) {
    timer_ = loop_.RunAfter(limit, [self = shared_from_this(), limit] {
      self->Finish(ClusterError(ErrorCode::kDeadlineExceeded,
                                fmt::format("connect to {}: no answer within {}",
                                            Render(self->endpoint_), Render(limit))));
    });
    error_code error;
    auto address = asio::ip::make_address(endpoint_.host, error);
    if (!error) {
      addresses_.emplace_back(address, endpoint_.port);
      return TryNext(error_code());
    }
    resolver_.async_resolve(
        endpoint_.host, std::to_string(endpoint_.port),
        [self = shared_from_this()](error_code failed, const tcp::resolver::results_type& found) {
          self->loop_.asio().NoteHandler();
          for (const auto& entry : found) self->addresses_.push_back(entry.endpoint());
          self->TryNext(failed);
        });
  }

 private:
  void TryNext(error_code last) {
    if (!done_) return;
    if (next_ == addresses_.size()) {
      return Finish(ClusterError(ErrorCode::kUnavailable,
                                 fmt::format("connect to {}: {}", Render(endpoint_),
                                             last ? last.message() : "no address found")));
    }
    error_code ignored;
    socket_.close(ignored);
    socket_.async_connect(addresses_[next_++], [self = shared_from_this()](error_code error) {
      self->loop_.asio().NoteHandler();
      if (!self->done_) return;
      if (error) return self->TryNext(error);
      self->Finish(MakeSocketStream(self->loop_, UniqueFd(self->socket_.release())));
    });
  }
  void Finish(Result<std::shared_ptr<ByteStream>> result) {
    if (!done_) return;
    loop_.CancelTimer(timer_);
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
    std::exchange(done_, nullptr)(std::move(result));
  }

  EventLoop& loop_;
  const Endpoint endpoint_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  std::vector<tcp::endpoint> addresses_;
  size_t next_ = 0;
  Loop::TimerId timer_ = 0;
  Done done_;
};

Result<UniqueFd> ConnectUnix(const std::string& path) {
  ASSIGN_OR_RETURN(UnixAddress address, UnixAddress::Make(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError("make a unix socket", errno);
  if (::connect(fd.get(), address.address(), address.length()) == 0) return fd;
  Error error = ErrnoError("connect to " + path, errno);
  if (errno == ECONNREFUSED || errno == ENOENT || errno == EAGAIN) {
    error.code = ErrorCode::kUnavailable;
  }
  return error;
}

}  // namespace

std::shared_ptr<ByteStream> MakeSocketStream(EventLoop& loop, UniqueFd socket) {
  auto stream = std::make_shared<SocketStream>(loop, socket.get());
  stream->Adopt(std::move(socket));
  return stream;
}

void ConnectStream(EventLoop& loop, const Endpoint& endpoint, Duration limit,
                   std::function<void(Result<std::shared_ptr<ByteStream>>)> done) {
  if (endpoint.unix_path.empty()) {
    std::make_shared<TcpDial>(loop, endpoint, std::move(done))->Start(limit);
    return;
  }
  loop.Post([&loop, path = endpoint.unix_path, done = std::move(done)] {
    Result<UniqueFd> fd = ConnectUnix(path);
    if (!fd.ok()) return done(std::move(fd).error());
    done(MakeSocketStream(loop, std::move(*fd)));
  });
}

}  // namespace muster
