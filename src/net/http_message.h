// The parts of HTTP messages that server and client share: headers, query, percent codes, heads.
// Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/endpoint.h"

namespace muster {

// In the order they came; names are found in any case.
class HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<std::pair<std::string, std::string>> fields)
      : fields_(fields) {}

  void Add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // The first of that name.
  std::optional<std::string_view> Find(std::string_view name) const;
  // True if the list of tokens in the fields of that name ("keep-alive, Upgrade") has `token`.
  bool HasToken(std::string_view name, std::string_view token) const;
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// A request as a handler gets it.
struct HttpRequest {
  std::string method;
  // As it was sent, query included.
  std::string target;
  // Decoded, without query.
  std::string path;
  // Decoded; of a name that occurs twice the last.
  std::map<std::string, std::string> query;
  // What stands for {id} in the route, decoded.
  std::map<std::string, std::string> parameters;
  HttpHeaders headers;
  std::string body;
  // Only on unix sockets.
  std::optional<PeerCredentials> peer;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;
};

bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// "Not Found"; "" if unknown.
std::string_view ReasonPhrase(int status);

// "a%20b" -> "a b". A broken code is an error. In a query + is a space too.
Result<std::string> DecodePercent(std::string_view text);
Result<std::string> DecodeQueryWord(std::string_view text);
// Everything but letters, digits and -._~ becomes %XX.
std::string EncodePercent(std::string_view text);
Result<std::map<std::string, std::string>> ParseQuery(std::string_view text);

// Appends "Name: value\r\n". Control characters in the value become spaces, so that no value can
// add a header of its own.
void AppendHeader(std::string& head, std::string_view name, std::string_view value);
// "Wed, 31 Jan 2026 12:34:56 GMT", as the Date header has it.
std::string RenderHttpDate(int64_t unix_seconds);
// Appends one chunk of a chunked body; nothing for empty bytes.
void AppendChunk(std::string& out, std::string_view bytes);

}  // namespace muster
