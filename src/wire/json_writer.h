// Writes JSON straight into a string, without a tree. Calls must nest as JSON does; that is the
// caller's duty. Text that is not UTF-8 becomes {"base64": "..."}, so that every byte survives.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginList() { Open('['); }
  void EndList() { Close(']'); }
  // Must be UTF-8.
  void Key(std::string_view key);
  void Text(std::string_view text);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  void Whole(int64_t value) { Number(value); }
  void Whole(uint64_t value) { Number(value); }
  // Already JSON.
  void Raw(std::string_view json) {
    Separate();
    out_.append(json);
    separate_ = true;
  }

  size_t size() const { return out_.size(); }
  std::string Take() && { return std::move(out_); }

 private:
  template <typename T>
  void Number(T value) {
    fmt::format_int digits(value);
    Raw(std::string_view(digits.data(), digits.size()));
  }
  void Separate() {
    if (separate_) out_ += ',';
  }
  void Open(char bracket) {
    Separate();
    out_ += bracket;
    separate_ = false;
  }
  void Close(char bracket) {
    out_ += bracket;
    separate_ = true;
  }
  void Quoted(std::string_view text);

  std::string out_;
  bool separate_ = false;
};

}  // namespace muster
