#include "net/http_call.h"

#include <utility>

#include "base/check.h"
#include "net/byte_stream.h"
#include "net/http_parser.h"

namespace muster {
namespace {

constexpr Bytes kMaxHead = KiB(256);

using Done = std::function<void(Result<HttpResponse>)>;

// The timer owns it until it is finished.
class HttpCall final : public StreamListener, public std::enable_shared_from_this<HttpCall> {
 public:
  HttpCall(EventLoop& loop, const Endpoint& endpoint, HttpClientRequest request, Bytes max_answer,
           Done done)
      : loop_(loop),
        endpoint_(endpoint),
        request_(std::move(request)),
        max_answer_(max_answer),
        done_(std::move(done)) {
    request_.headers.Add("Connection", "close");
    BeginAnswer();
  }

  void Start(Duration limit) {
    timer_ = loop_.RunAfter(limit, [self = shared_from_this()] {
      self->Fail(ErrorCode::kDeadlineExceeded,
                 self->stream_ ? "no answer in time" : "no connection in time");
    });
    ConnectStream(loop_, endpoint_, limit,
                  [self = shared_from_this()](Result<std::shared_ptr<ByteStream>> stream) {
                    self->OnConnected(std::move(stream));
                  });
  }

  void OnBytes(std::span<char> bytes) override {
    inbox_.append(bytes.data(), bytes.size());
    while (!parser_->done()) {
      auto eaten = parser_->Feed(inbox_, [this](std::string_view part) { TakeBody(part); });
      if (!eaten.ok()) return Fail(ErrorCode::kInvalidArgument, eaten.error().message);
      inbox_.erase(0, *eaten);
      if (too_long_) {
        return Fail(ErrorCode::kResourceExhausted,
                    fmt::format("the answer is longer than {}", Render(max_answer_)));
      }
      if (parser_->head_done() && parser_->head().status / 100 == 1) {
        BeginAnswer();
      } else if (*eaten == 0) {
        return;
      }
    }
    Succeed();
  }
  void OnEof() override {
    if (parser_->FeedEof().ok()) return Succeed();
    Fail(ErrorCode::kUnavailable, "the server cut the connection before the whole answer");
  }
  void OnStreamError(const Error& error) override { Fail(ErrorCode::kUnavailable, error.message); }
  void OnDrained() override {}

 private:
  void BeginAnswer() {
    parser_.emplace(HttpParser::Side::kResponse, kMaxHead);
    if (request_.method == "HEAD") parser_->ExpectNoBody();
  }

  void TakeBody(std::string_view part) {
    too_long_ = too_long_ || answer_.body.size() + part.size() > max_answer_.value;
    if (!too_long_) answer_.body.append(part);
  }

  void OnConnected(Result<std::shared_ptr<ByteStream>> stream) {
    if (!done_) {
      if (stream.ok()) (*stream)->Close();
      return;
    }
    if (!stream.ok()) return Finish(std::move(stream).error());
    stream_ = std::move(*stream);
    stream_->SetListener(weak_from_this());
    stream_->Write(RenderRequestHead(request_, endpoint_));
    stream_->Write(request_.body);
    stream_->ResumeReading();
  }

  void Succeed() {
    answer_.status = parser_->head().status;
    answer_.headers = parser_->head().headers;
    Finish(std::move(answer_));
  }

  void Fail(ErrorCode code, std::string_view what) {
    bool safe = request_.method == "GET" || request_.method == "HEAD";
    if (stream_ && !safe &&
        (code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded)) {
      code = ErrorCode::kOutcomeUnknown;
    }
    Finish(ClusterError(code, fmt::format("{} {} on {}: {}", request_.method, request_.target,
                                          Render(endpoint_), what)));
  }

  void Finish(Result<HttpResponse> result) {
    if (!done_) return;
    auto self = shared_from_this();
    loop_.CancelTimer(timer_);
    if (stream_) stream_->Close();
    std::exchange(done_, nullptr)(std::move(result));
  }

  EventLoop& loop_;
  const Endpoint endpoint_;
  HttpClientRequest request_;
  const Bytes max_answer_;
  Done done_;
  std::optional<HttpParser> parser_;
  std::string inbox_;
  HttpResponse answer_;
  bool too_long_ = false;
  std::shared_ptr<ByteStream> stream_;
  Loop::TimerId timer_ = 0;
};

}  // namespace

void CallHttp(EventLoop& loop, const Endpoint& endpoint, HttpClientRequest request, Duration limit,
              std::function<void(Result<HttpResponse>)> done, Bytes max_answer) {
  CHECK(!request.next_body_part);
  std::make_shared<HttpCall>(loop, endpoint, std::move(request), max_answer, std::move(done))
      ->Start(limit);
}

}  // namespace muster
