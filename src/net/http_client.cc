#include "net/http_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include "net/http_parser.h"

namespace muster {
namespace {

constexpr Bytes kMaxHead = KiB(256);
constexpr size_t kReadSize = 64 << 10;
constexpr BootTime kNever{std::numeric_limits<int64_t>::max()};

bool IsSafe(std::string_view method) { return method == "GET" || method == "HEAD"; }

// Collects an answer as the parser finds it.
class AnswerSink {
 public:
  AnswerSink(const HttpStreamOptions* stream, Bytes max_body) : stream_(stream), max_(max_body) {}

  void OnHead(const HttpHead& head) {
    response.status = head.status;
    response.headers = head.headers;
    streams_ = stream_ != nullptr && stream_->on_part && head.status / 100 == 2;
    if (stream_ != nullptr && stream_->on_head) stream_->on_head(response);
  }
  void OnBody(std::string_view part) {
    if (stopped || too_long) return;
    if (streams_) {
      stopped = !stream_->on_part(part);
    } else if (response.body.size() + part.size() > max_.value) {
      too_long = true;
    } else {
      response.body.append(part);
    }
  }

  HttpResponse response;
  bool stopped = false;
  bool too_long = false;

 private:
  const HttpStreamOptions* stream_;
  const Bytes max_;
  bool streams_ = false;
};

}  // namespace

std::string RenderRequestHead(const HttpClientRequest& request, const Endpoint& endpoint) {
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\n";
  AppendHeader(head, "Host", endpoint.unix_path.empty() ? Render(endpoint) : "localhost");
  bool has_body = request.next_body_part || !request.body.empty();
  if (has_body && !request.headers.Find("Content-Type")) {
    AppendHeader(head, "Content-Type", request.content_type);
  }
  if (request.next_body_part) {
    AppendHeader(head, "Transfer-Encoding", "chunked");
  } else if (has_body || !IsSafe(request.method)) {
    AppendHeader(head, "Content-Length", std::to_string(request.body.size()));
  }
  for (const auto& [name, value] : request.headers) AppendHeader(head, name, value);
  head += "\r\n";
  return head;
}

// One exchange of messages: what is asked, how far it got.
struct HttpClient::Attempt {
  const HttpClientRequest& request;
  const HttpStreamOptions* stream = nullptr;  // null: a Call
  BootTime deadline = kNever;
  bool sent = false;            // some byte of the request
  bool body_consumed = false;   // some part of a produced body was taken
  bool answered_early = false;  // or cut: nothing more is sent
  bool received = false;

  Error Fail(ErrorCode code, const Endpoint& endpoint, std::string_view what) const {
    if (sent && !IsSafe(request.method) &&
        (code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded)) {
      code = ErrorCode::kOutcomeUnknown;
    }
    return ClusterError(code, fmt::format("{} {} on {}: {}", request.method, request.target,
                                          Render(endpoint), what));
  }
};

HttpClient::HttpClient(Endpoint endpoint, const Clock& clock)
    : endpoint_(std::move(endpoint)), clock_(clock) {}

Result<HttpResponse> HttpClient::Call(const HttpClientRequest& request, Duration limit) {
  Attempt attempt{request, nullptr, clock_.Read().boot + limit};
  return Exchange(attempt);
}

Result<HttpResponse> HttpClient::Stream(const HttpClientRequest& request,
                                        const HttpStreamOptions& options) {
  Attempt attempt{request, &options, clock_.Read().boot + options.head_limit};
  return Exchange(attempt);
}

Result<HttpResponse> HttpClient::Exchange(Attempt& attempt) {
  bool kept = fd_.valid() && KeptConnectionIsGood();
  if (!kept) fd_.Reset();
  auto answer = TryOnce(attempt);
  if (answer.ok()) return answer;
  fd_.Reset();
  // A kept connection may be closed by the server just when it is used again.
  bool cut = answer.error().code == ErrorCode::kUnavailable;
  if (kept && cut && !attempt.received && !attempt.body_consumed) {
    attempt.sent = false;
    attempt.answered_early = false;
    answer = TryOnce(attempt);
    if (!answer.ok()) fd_.Reset();
  }
  return answer;
}

Result<HttpResponse> HttpClient::TryOnce(Attempt& attempt) {
  if (!fd_.valid()) {
    inbox_.clear();
    RETURN_IF_ERROR(Connect(attempt));
  }
  RETURN_IF_ERROR(SendRequest(attempt));
  return ReceiveAnswer(attempt);
}

bool HttpClient::KeptConnectionIsGood() const {
  if (!inbox_.empty()) return false;
  char byte = 0;
  ssize_t size = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size < 0 && errno == EAGAIN;
}

Status HttpClient::Connect(const Attempt& attempt) {
  if (!endpoint_.unix_path.empty()) {
    ASSIGN_OR_RETURN(UnixAddress address, UnixAddress::Make(endpoint_.unix_path));
    return ConnectTo(address.address(), address.length(), AF_UNIX, attempt);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string port = std::to_string(endpoint_.port);
  int failed = ::getaddrinfo(endpoint_.host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) {
    return ClusterError(ErrorCode::kUnavailable, fmt::format("connect to {}: {}", Render(endpoint_),
                                                             ::gai_strerror(failed)));
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Status last = ClusterError(ErrorCode::kUnavailable, "connect: no address");
  for (addrinfo* at = found; at != nullptr; at = at->ai_next) {
    last = ConnectTo(at->ai_addr, at->ai_addrlen, at->ai_family, attempt);
    if (last.ok()) break;
  }
  return last;
}

Status HttpClient::ConnectTo(const void* address, unsigned length, int family,
                             const Attempt& attempt) {
  std::string what = "connect to " + Render(endpoint_);
  fd_.Reset(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_.valid()) return ErrnoError(what, errno);
  int one = 1;
  if (family != AF_UNIX) ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  int failed = 0;
  if (::connect(fd_.get(), static_cast<const sockaddr*>(address), length) != 0) failed = errno;
  if (failed == EINPROGRESS) {
    auto ready = WaitFor(POLLOUT, attempt);
    if (!ready.ok()) return std::move(ready).error();
    socklen_t size = sizeof failed;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
  }
  if (failed == 0) return Status::Ok();
  fd_.Reset();
  Error error = ErrnoError(what, failed);
  if (failed == ENOENT || failed == EAGAIN || failed == ETIMEDOUT) {
    error.code = ErrorCode::kUnavailable;
  }
  return error;
}

Result<short> HttpClient::WaitFor(short events, const Attempt& attempt) const {
  while (true) {
    std::array<pollfd, 2> look{pollfd{fd_.get(), events, 0}, pollfd{cancel_fd_, POLLIN, 0}};
    int timeout = -1;
    if (attempt.deadline != kNever) {
      int64_t left = (attempt.deadline - clock_.Read().boot).count();
      timeout = static_cast<int>(std::clamp<int64_t>((left + 999) / 1000, 0, 3600 * 1000));
    }
    int ready = ::poll(look.data(), look.size(), timeout);
    if (ready < 0 && errno != EINTR) return ErrnoError("wait for " + Render(endpoint_), errno);
    if (ready > 0 && look[1].revents != 0) {
      return attempt.Fail(ErrorCode::kCancelled, endpoint_, "cancelled");
    }
    if (ready > 0) return look[0].revents;
    if (attempt.deadline <= clock_.Read().boot) {
      return attempt.Fail(ErrorCode::kDeadlineExceeded, endpoint_,
                          attempt.sent ? "no answer in time" : "no connection in time");
    }
  }
}

Status HttpClient::SendRequest(Attempt& attempt) {
  std::string head = RenderRequestHead(attempt.request, endpoint_);
  if (attempt.request.next_body_part) {
    RETURN_IF_ERROR(SendAll(head, attempt));
    return SendBodyParts(attempt);
  }
  // One system call for small requests.
  if (attempt.request.body.size() < kReadSize) {
    head += attempt.request.body;
    return SendAll(head, attempt);
  }
  RETURN_IF_ERROR(SendAll(head, attempt));
  return SendAll(attempt.request.body, attempt);
}

Status HttpClient::SendBodyParts(Attempt& attempt) {
  std::string chunk;
  while (!attempt.answered_early) {
    attempt.body_consumed = true;
    ASSIGN_OR_RETURN(std::string part, attempt.request.next_body_part());
    if (part.empty()) return SendAll("0\r\n\r\n", attempt);
    chunk.clear();
    AppendChunk(chunk, part);
    RETURN_IF_ERROR(SendAll(chunk, attempt));
  }
  return Status::Ok();
}

Status HttpClient::SendAll(std::string_view bytes, Attempt& attempt) {
  while (!bytes.empty() && !attempt.answered_early) {
    ssize_t size = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) {
      attempt.sent = true;
      bytes.remove_prefix(static_cast<size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      ASSIGN_OR_RETURN(short ready, WaitFor(POLLOUT | POLLIN, attempt));
      // A server that answers before it has all does not want the rest.
      if ((ready & (POLLIN | POLLHUP)) != 0) attempt.answered_early = true;
      continue;
    }
    // Cut; what the server said before may still be there to read.
    attempt.answered_early = true;
  }
  return Status::Ok();
}

Result<size_t> HttpClient::ReceiveSome(Attempt& attempt) {
  while (true) {
    size_t old = inbox_.size();
    inbox_.resize(old + kReadSize);
    ssize_t size = ::recv(fd_.get(), inbox_.data() + old, kReadSize, MSG_DONTWAIT);
    int failed = errno;
    inbox_.resize(old + static_cast<size_t>(std::max<ssize_t>(size, 0)));
    if (size > 0) attempt.received = true;
    if (size >= 0) return static_cast<size_t>(size);
    if (failed == EINTR) continue;
    if (failed != EAGAIN) {
      return attempt.Fail(ErrorCode::kUnavailable, endpoint_,
                          ErrnoError("connection cut before the whole answer", failed).message);
    }
    auto ready = WaitFor(POLLIN, attempt);
    if (!ready.ok()) return std::move(ready).error();
  }
}

Result<HttpResponse> HttpClient::ReceiveAnswer(Attempt& attempt) {
  std::optional<HttpParser> parser;
  AnswerSink sink(attempt.stream, max_answer_);
  size_t parsed = 0;
  bool head_taken = false;
  while (true) {
    if (!parser) {
      parser.emplace(HttpParser::Side::kResponse, kMaxHead);
      if (attempt.request.method == "HEAD") parser->ExpectNoBody();
    }
    auto eaten = parser->Feed(std::string_view(inbox_).substr(parsed),
                              [&](std::string_view part) { sink.OnBody(part); });
    if (!eaten.ok()) {
      return attempt.Fail(ErrorCode::kInvalidArgument, endpoint_, eaten.error().message);
    }
    parsed += *eaten;
    if (parser->head_done() && !head_taken) {
      if (parser->head().status / 100 == 1) {
        parser.reset();
        continue;
      }
      head_taken = true;
      sink.OnHead(parser->head());
    }
    if (sink.too_long) {
      return attempt.Fail(ErrorCode::kResourceExhausted, endpoint_,
                          fmt::format("the answer is longer than {}", Render(max_answer_)));
    }
    if (parser->done() || sink.stopped) break;
    if (*eaten > 0) continue;
    inbox_.erase(0, std::exchange(parsed, 0));
    if (head_taken && attempt.stream != nullptr) {
      Duration silence = attempt.stream->silence_limit;
      attempt.deadline = silence.count() > 0 ? clock_.Read().boot + silence : kNever;
    }
    ASSIGN_OR_RETURN(size_t size, ReceiveSome(attempt));
    if (size > 0) continue;
    if (parser->FeedEof().ok()) break;
    return attempt.Fail(ErrorCode::kUnavailable, endpoint_,
                        "the server cut the connection before the whole answer");
  }
  inbox_.erase(0, parsed);
  bool reusable = parser->done() && !sink.stopped && parser->head().keep_alive;
  if (!reusable || attempt.answered_early) fd_.Reset();
  return std::move(sink.response);
}

}  // namespace muster
