// Reads the fields of a view (wire/view_fields.h) out of a document tree. The first problem is
// kept; fields that are not there stay as they are, unknown ones are skipped.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/doc_tree.h"
#include "wire/problem_list.h"
#include "wire/view_fields.h"
#include "wire/view_words.h"

namespace muster {

class ViewReader {
 public:
  ViewReader(DocRef object, const DocPath& path, std::string& problem)
      : path_(path), problem_(problem) {
    if (!object.is_map()) FailAt(path_, "an object is expected");
    object.ForEachEntry([&](DocRef key, DocRef value) { entries_.push_back({key, value}); });
  }

  template <typename T>
  void operator()(std::string_view key, T& field) {
    if (std::optional<DocRef> value = Next(key)) Get(*value, path_.Key(key), field);
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& field) {
    std::optional<DocRef> value = Next(key);
    if (!value || value->is_null()) return;
    Get(*value, path_.Key(key), field.emplace());
  }
  template <typename F>
  void Derived(std::string_view, F&&) {}

 private:
  struct Entry {
    DocRef key;
    DocRef value;
  };
  // Fields mostly come in the order in which they are asked for.
  std::optional<DocRef> Next(std::string_view key);
  void FailAt(const DocPath& path, std::string_view what);

  void Get(DocRef value, const DocPath& path, std::string& text);
  void Get(DocRef value, const DocPath& path, bool& truth);
  void Get(DocRef value, const DocPath& path, WallTime& time);
  void Get(DocRef value, const DocPath& path, fields::Pairs& pairs);
  void Get(DocRef value, const DocPath& path, fields::ByEndKind& counts);
  void Get(DocRef value, const DocPath& path, Duration& duration) {
    int64_t us = 0;
    Get(value, path, us);
    duration = Duration(us);
  }
  void Get(DocRef value, const DocPath& path, Bytes& size) { Get(value, path, size.value); }
  void Get(DocRef value, const DocPath& path, MilliCpu& cpus) { Get(value, path, cpus.value); }
  template <typename T>
  void Get(DocRef value, const DocPath& path, std::vector<T>& list) {
    if (!value.is_list()) FailAt(path, "a list is expected");
    list.clear();
    value.ForEachItem([&](DocRef item) {
      DocPath at = path.Index(list.size());
      Get(item, at, list.emplace_back());
    });
  }
  template <typename T>
  void Get(DocRef value, const DocPath& path, T& out) {
    if constexpr (std::is_integral_v<T>) {
      std::string_view text = value.text();
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
      if (error != std::errc() || end != text.data() + text.size()) {
        FailAt(path, "a whole number in range is expected");
      }
    } else if constexpr (std::is_enum_v<T> || IsId<T>) {
      if (!FromWord(value.text(), out))
        FailAt(path, fmt::format("'{}' is not known", value.text()));
    } else {
      ViewReader inner(value, path, problem_);
      fields::Visit(inner, out);
    }
  }

  const DocPath& path_;
  std::string& problem_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
};

}  // namespace muster
