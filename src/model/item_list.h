// The items of a list task, packed: one block of bytes and an end offset for each item, so that a
// million short items cost their bytes and 4 more each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class ItemList {
 public:
  // False, and nothing added, when the bytes of all items would pass 4 GiB.
  [[nodiscard]] bool Add(std::string_view item) {
    if (bytes_.size() + item.size() > UINT32_MAX) return false;
    bytes_.append(item);
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    return true;
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  // i < size().
  std::string_view operator[](size_t i) const {
    uint32_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  void ShrinkToFit() {
    bytes_.shrink_to_fit();
    ends_.shrink_to_fit();
  }
  size_t MemoryBytes() const { return bytes_.capacity() + ends_.capacity() * sizeof(uint32_t); }
  friend bool operator==(const ItemList&, const ItemList&) = default;

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_;
};

}  // namespace muster
