// Server-sent events, both ways (WHATWG HTML, "Server-sent events"). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace muster {

struct SseEvent {
  std::string name;  // "message" if the sender gave none
  std::string id;    // the last one sent, with this event or before it
  std::string data;
  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

// One event as bytes. Empty name and id are left out; `data` may have many lines. A line break in
// name or id ends it there.
std::string RenderSseEvent(std::string_view name, std::string_view id, std::string_view data);

// Takes a stream in pieces of any size.
class SseParser {
 public:
  using Sink = std::function<void(const SseEvent&)>;
  void Feed(std::string_view bytes, const Sink& on_event);
  // For the Last-Event-ID header of the next connection.
  const std::string& last_event_id() const { return last_id_; }
  // How long the server asks to wait before that.
  std::optional<Duration> retry() const { return retry_; }
  // A new connection begins: what was incomplete is dropped, the last id stays.
  void Restart();

 private:
  void TakeLine(std::string_view line, const Sink& on_event);
  void TakeField(std::string_view field, std::string_view value);

  std::string line_;
  bool after_cr_ = false;
  bool at_start_ = true;
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  std::string last_id_;
  std::optional<Duration> retry_;
};

}  // namespace muster
