#include "net/sse.h"

#include <charconv>

namespace muster {
namespace {

std::string_view FirstLine(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::string RenderSseEvent(std::string_view name, std::string_view id, std::string_view data) {
  std::string out;
  out.reserve(data.size() + name.size() + id.size() + 32);
  if (!name.empty()) out.append("event: ").append(FirstLine(name)).append("\n");
  if (!id.empty()) out.append("id: ").append(FirstLine(id)).append("\n");
  while (true) {
    size_t end = data.find_first_of("\r\n");
    out.append("data: ").append(data.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    bool pair = data[end] == '\r' && end + 1 < data.size() && data[end + 1] == '\n';
    data.remove_prefix(end + (pair ? 2 : 1));
  }
  out.append("\n");
  return out;
}

void SseParser::Feed(std::string_view bytes, const Sink& on_event) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') {
      after_cr_ = false;
      bytes.remove_prefix(1);
      continue;
    }
    after_cr_ = false;
    size_t end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) {
      line_.append(bytes);
      return;
    }
    after_cr_ = bytes[end] == '\r';
    if (line_.empty()) {
      TakeLine(bytes.substr(0, end), on_event);
    } else {
      line_.append(bytes.substr(0, end));
      TakeLine(line_, on_event);
      line_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void SseParser::TakeLine(std::string_view line, const Sink& on_event) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (at_start_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  at_start_ = false;
  if (line.empty()) {
    if (has_data_) {
      SseEvent event{name_.empty() ? "message" : std::move(name_), last_id_, std::move(data_)};
      name_.clear();
      data_.clear();
      has_data_ = false;
      on_event(event);
    }
    name_.clear();
    return;
  }
  size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  TakeField(line.substr(0, colon), value);
}

void SseParser::TakeField(std::string_view field, std::string_view value) {
  if (field == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  } else if (field == "id") {
    if (value.find('\0') == std::string_view::npos) last_id_ = value;
  } else if (field == "retry") {
    int64_t millis = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), millis);
    if (error == std::errc() && end == value.data() + value.size() && millis >= 0) {
      retry_ = std::chrono::milliseconds(millis);
    }
  }
}

void SseParser::Restart() {
  line_.clear();
  after_cr_ = false;
  at_start_ = true;
  name_.clear();
  data_.clear();
  has_data_ = false;
}

}  // namespace muster
