// HTTP/1.1 client that blocks: for command lines and tests. No thread, nothing to set up; one
// connection, kept between calls. Not thread-safe.
//
//     HttpClient client(Endpoint::Unix("/run/muster.sock"));
//     ASSIGN_OR_RETURN(HttpResponse answer, client.Call({.target = "/v1/jobs"}, 10s));
//     if (answer.status != 200) ...
//
// Any status is an answer, not an error. Errors:
//   kUnavailable       nobody listens there; or, for GET and HEAD, the connection was cut
//   kDeadlineExceeded  time over before anything was sent; for GET and HEAD also afterwards
//   kOutcomeUnknown    other methods: time over or connection cut after something was sent, before
//                      the whole answer was there
//   kCancelled         the cancel descriptor became readable
//   kResourceExhausted the answer is longer than the limit
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "net/endpoint.h"
#include "net/http_message.h"

namespace muster {

struct HttpClientRequest {
  std::string method = "GET";
  std::string target = "/";
  HttpHeaders headers;
  std::string content_type = "application/json";
  std::string body;
  // If set, the body: called until it returns an empty part; sent in chunks, never whole in memory.
  // An error breaks the request off and is returned.
  std::function<Result<std::string>()> next_body_part;
};

// Everything before the body, the empty line included.
std::string RenderRequestHead(const HttpClientRequest& request, const Endpoint& endpoint);

struct HttpStreamOptions {
  // Until the answer's head is there.
  Duration head_limit{std::chrono::seconds(30)};
  // Without a byte afterwards; 0: none. Event streams send a comment every 15 s.
  Duration silence_limit{0};
  // Called with the head, before the first part.
  std::function<void(const HttpResponse&)> on_head;
  // Pieces of a 2xx answer's body, of any size; false stops and closes the connection.
  std::function<bool(std::string_view)> on_part;
};

class HttpClient {
 public:
  explicit HttpClient(Endpoint endpoint, const Clock& clock = SystemClock());

  // Calls under way end with kCancelled when `fd` becomes readable (a signalfd, a pipe). -1: none.
  void CancelBy(int fd) { cancel_fd_ = fd; }
  void LimitAnswer(Bytes max_answer) { max_answer_ = max_answer; }

  // `limit` is for all of it. Looking up a host name blocks and is not counted.
  Result<HttpResponse> Call(const HttpClientRequest& request, Duration limit);
  // Takes a long answer in pieces. Returns at its end, or when on_part returned false; `body` is
  // then empty, and filled for a status that is not 2xx. A connection cut in the middle is an error
  // (kUnavailable for GET), never a short answer.
  Result<HttpResponse> Stream(const HttpClientRequest& request, const HttpStreamOptions& options);

  const Endpoint& endpoint() const { return endpoint_; }

 private:
  struct Attempt;
  Result<HttpResponse> Exchange(Attempt& attempt);
  Result<HttpResponse> TryOnce(Attempt& attempt);
  Status Connect(const Attempt& attempt);
  Status ConnectTo(const void* address, unsigned length, int family, const Attempt& attempt);
  bool KeptConnectionIsGood() const;
  Status SendRequest(Attempt& attempt);
  Status SendBodyParts(Attempt& attempt);
  Status SendAll(std::string_view bytes, Attempt& attempt);
  Result<HttpResponse> ReceiveAnswer(Attempt& attempt);
  // 0: the other side sends no more.
  Result<size_t> ReceiveSome(Attempt& attempt);
  // What poll saw on the connection; kDeadlineExceeded, kCancelled.
  Result<short> WaitFor(short events, const Attempt& attempt) const;

  const Endpoint endpoint_;
  const Clock& clock_;
  UniqueFd fd_;
  int cancel_fd_ = -1;
  Bytes max_answer_ = MiB(256);
  std::string inbox_;
};

}  // namespace muster
