#include "net/http_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <utility>

namespace muster {

namespace http = boost::beast::http;
using boost::beast::error_code;

class HttpParser::Grammar {
 public:
  virtual ~Grammar() = default;
  virtual size_t Put(std::string_view bytes, error_code& error) = 0;
  virtual void PutEof(error_code& error) = 0;
  virtual void SkipBody() = 0;
  virtual bool head_done() const = 0;
  virtual bool done() const = 0;

  HttpHead head;
  const BodySink* on_body = nullptr;
};

namespace {

template <bool isRequest>
class BeastGrammar final : public HttpParser::Grammar, private http::basic_parser<isRequest> {
  using Base = http::basic_parser<isRequest>;
  using string_view = boost::beast::string_view;

 public:
  explicit BeastGrammar(Bytes max_head) : max_head_(max_head) {
    constexpr uint64_t kLargest = std::numeric_limits<uint32_t>::max();
    this->header_limit(static_cast<uint32_t>(std::min(max_head.value, kLargest)));
    this->body_limit(boost::none);
  }

  size_t Put(std::string_view bytes, error_code& error) override {
    return Base::put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  }
  void PutEof(error_code& error) override {
    if (!Base::got_some()) {
      error = http::error::end_of_stream;
      return;
    }
    Base::put_eof(error);
  }
  void SkipBody() override { Base::skip(true); }
  bool head_done() const override { return Base::is_header_done(); }
  bool done() const override { return Base::is_done(); }

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    head.method.assign(method.data(), method.size());
    head.target.assign(target.data(), target.size());
    head.version = version;
    head_bytes_ += method.size() + target.size();
  }
  void on_response_impl(int status, string_view, int version, error_code&) override {
    head.status = status;
    head.version = version;
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code& error) override {
    // Beast limits each field, not their sum.
    head_bytes_ += name.size() + value.size() + 4;
    if (head_bytes_ > max_head_.value) {
      error = http::error::header_limit;
      return;
    }
    head.headers.Add({name.data(), name.size()}, {value.data(), value.size()});
  }
  void on_header_impl(error_code&) override {
    head.keep_alive = Base::keep_alive();
    head.upgrade = Base::upgrade();
    head.chunked = Base::chunked();
    if (auto length = Base::content_length()) head.content_length = *length;
  }
  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(string_view body, error_code&) override {
    if (on_body != nullptr && *on_body) (*on_body)({body.data(), body.size()});
    return body.size();
  }
  void on_chunk_header_impl(uint64_t, string_view, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, string_view body, error_code&) override {
    if (on_body != nullptr && *on_body) (*on_body)({body.data(), body.size()});
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  const Bytes max_head_;
  uint64_t head_bytes_ = 0;
};

Error ToError(error_code error) {
  if (error == http::error::header_limit) {
    return UserError(ErrorCode::kResourceExhausted, "head of the HTTP message is too long");
  }
  if (error == http::error::partial_message || error == http::error::end_of_stream) {
    return UserError(ErrorCode::kUnavailable, "HTTP message ended early");
  }
  return UserError(ErrorCode::kInvalidArgument,
                   fmt::format("not a valid HTTP message: {}", error.message()));
}

}  // namespace

HttpParser::HttpParser(Side side, Bytes max_head) {
  if (side == Side::kRequest) {
    grammar_ = std::make_unique<BeastGrammar<true>>(max_head);
  } else {
    grammar_ = std::make_unique<BeastGrammar<false>>(max_head);
  }
}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;

Result<size_t> HttpParser::Feed(std::string_view bytes, const BodySink& on_body) {
  grammar_->on_body = &on_body;
  if (done() || bytes.empty()) return size_t{0};
  error_code error;
  size_t eaten = grammar_->Put(bytes, error);
  if (error && error != http::error::need_more) return ToError(error);
  return eaten;
}

Status HttpParser::FeedEof() {
  error_code error;
  grammar_->PutEof(error);
  if (error) return ToError(error);
  return Status::Ok();
}

void HttpParser::ExpectNoBody() { grammar_->SkipBody(); }
bool HttpParser::head_done() const { return grammar_->head_done(); }
bool HttpParser::done() const { return grammar_->done(); }
const HttpHead& HttpParser::head() const { return grammar_->head; }

}  // namespace muster
