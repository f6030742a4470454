// Parses one HTTP/1 message as it arrives; Beast's grammar is behind it. Pure: no sockets.
//
//     HttpParser parser(HttpParser::Side::kRequest, KiB(64));
//     while (!parser.done()) {
//       ASSIGN_OR_RETURN(size_t eaten, parser.Feed(inbox, on_body));
//       if (eaten == 0) break;  // more bytes are needed
//       inbox.remove_prefix(eaten);
//     }
//
// One parser for one message. Errors: kResourceExhausted for a head over the limit,
// kInvalidArgument for what is not HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "net/http_message.h"

namespace muster {

struct HttpHead {
  std::string method;  // requests
  std::string target;
  int status = 0;  // responses
  int version = 11;
  HttpHeaders headers;
  bool keep_alive = true;
  bool upgrade = false;
  bool chunked = false;
  // Absent for chunked bodies and those that end with the connection.
  std::optional<uint64_t> content_length;
};

class HttpParser {
 public:
  enum class Side { kRequest, kResponse };
  using BodySink = std::function<void(std::string_view)>;

  HttpParser(Side side, Bytes max_head);
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;

  // Returns how many of `bytes` it has eaten; what is left must come again, with more behind it.
  // Stops after the head, each piece of the body, and the message; 0 when more bytes are needed.
  Result<size_t> Feed(std::string_view bytes, const BodySink& on_body);
  // The other side sends no more: ends a body without length, is an error for others.
  Status FeedEof();
  // The answer to a HEAD request has none, whatever its head says. Before the first Feed.
  void ExpectNoBody();
  bool head_done() const;
  bool done() const;
  const HttpHead& head() const;

  class Grammar;

 private:
  std::unique_ptr<Grammar> grammar_;
};

}  // namespace muster
