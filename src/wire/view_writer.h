// Writes the fields of a view (wire/view_fields.h) as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/id_text.h"
#include "wire/json_writer.h"
#include "wire/view_fields.h"
#include "wire/view_words.h"

namespace muster {

class ViewWriter {
 public:
  explicit ViewWriter(JsonWriter& json) : json_(json) {}

  template <typename T>
  void operator()(std::string_view key, T& field) {
    json_.Key(key);
    Put(field);
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& field) {
    if (!field) return;
    json_.Key(key);
    Put(*field);
  }
  template <typename F>
  void Derived(std::string_view key, F&& value) {
    json_.Key(key);
    auto computed = value();
    Put(computed);
  }

  template <typename T>
  void Object(T& view) {
    json_.BeginObject();
    fields::Visit(*this, view);
    json_.EndObject();
  }

 private:
  void Put(std::string& text) { json_.Text(text); }
  void Put(bool& value) { json_.Bool(value); }
  void Put(WallTime& time) { json_.Text(RenderRfc3339(time)); }
  void Put(Duration& duration) { json_.Whole(int64_t{duration.count()}); }
  void Put(Bytes& size) { json_.Whole(size.value); }
  void Put(MilliCpu& cpus) { json_.Whole(cpus.value); }
  void Put(fields::Pairs& pairs);
  void Put(fields::ByEndKind& counts);
  template <typename T>
  void Put(std::vector<T>& list) {
    json_.BeginList();
    for (T& item : list) Put(item);
    json_.EndList();
  }
  template <typename T>
  void Put(T& value) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      json_.Whole(Wide{value});
    } else if constexpr (std::is_enum_v<T>) {
      json_.Text(WordOf(value));
    } else if constexpr (IsId<T>) {
      json_.Text(Render(value));
    } else {
      Object(value);
    }
  }

  JsonWriter& json_;
};

}  // namespace muster
