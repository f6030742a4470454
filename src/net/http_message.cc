#include "net/http_message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

std::optional<std::string_view> HttpHeaders::Find(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (EqualsIgnoringCase(field, name)) return value;
  }
  return std::nullopt;
}

bool HttpHeaders::HasToken(std::string_view name, std::string_view token) const {
  for (const auto& [field, value] : fields_) {
    if (!EqualsIgnoringCase(field, name)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      size_t comma = rest.find(',');
      if (EqualsIgnoringCase(Trim(rest.substr(0, comma)), token)) return true;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

Result<std::string> DecodePercent(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return UserError(
          ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" has a % that two hexadecimal digits do not follow", text));
    }
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return decoded;
}

Result<std::string> DecodeQueryWord(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return DecodePercent(spaced);
}

std::string EncodePercent(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (unsigned char c : text) {
    if (c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~')) {
      encoded.push_back(static_cast<char>(c));
    } else {
      encoded.push_back('%');
      encoded.push_back(kDigits[c >> 4]);
      encoded.push_back(kDigits[c & 15]);
    }
  }
  return encoded;
}

Result<std::map<std::string, std::string>> ParseQuery(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    size_t end = std::min(text.find('&'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    ASSIGN_OR_RETURN(std::string name, DecodeQueryWord(pair.substr(0, equals)));
    ASSIGN_OR_RETURN(std::string value,
                     DecodeQueryWord(pair.substr(std::min(equals + 1, pair.size()))));
    query.insert_or_assign(std::move(name), std::move(value));
  }
  return query;
}

void AppendHeader(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  for (char c : value) {
    bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    head.push_back(control ? ' ' : c);
  }
  head.append("\r\n");
}

std::string RenderHttpDate(int64_t unix_seconds) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                     fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

void AppendChunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes).append("\r\n");
}

}  // namespace muster
