// A small open-addressing map from task number (never 0) to a trivially copyable value: what few of a
// job's tasks have at a time (a live attempt, a retry record). Empty it owns no memory. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster::core {

template <typename V>
class TaskMap {
  static_assert(std::is_trivially_copyable_v<V>);

 public:
  // Valid until the next Insert or Erase; nullptr if absent.
  V* Find(uint32_t key) { return const_cast<V*>(std::as_const(*this).Find(key)); }
  const V* Find(uint32_t key) const {
    if (size_ == 0) return nullptr;
    for (size_t i = Home(key);; i = Next(i)) {
      if (cells_[i].key == key) return &cells_[i].value;
      if (cells_[i].key == 0) return nullptr;
    }
  }
  // The value at `key`, made if it was absent.
  V& At(uint32_t key) {
    if (V* found = Find(key)) return *found;
    if ((size_ + 1) * 4 > cells_.size() * 3) Resize(cells_.empty() ? 16 : cells_.size() * 2);
    size_t i = Home(key);
    while (cells_[i].key != 0) i = Next(i);
    cells_[i] = Cell{key, V{}};
    ++size_;
    return cells_[i].value;
  }
  void Erase(uint32_t key) {
    if (size_ == 0) return;
    size_t i = Home(key);
    while (cells_[i].key != key) {
      if (cells_[i].key == 0) return;
      i = Next(i);
    }
    CloseGap(i);
    --size_;
    if (size_ == 0 && cells_.size() > 1024) {
      std::vector<Cell>().swap(cells_);
    } else if (cells_.size() > 1024 && size_ * 16 < cells_.size()) {
      Resize(cells_.size() / 4);
    }
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // In no particular order; `visit(task, value)` must not change the map.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Cell& cell : cells_) {
      if (cell.key != 0) visit(cell.key, cell.value);
    }
  }
  size_t MemoryBytes() const { return cells_.capacity() * sizeof(Cell); }

 private:
  struct Cell {
    uint32_t key = 0;
    V value{};
  };
  // Capacity is a power of two: the upper bits of a product spread neighbouring numbers well.
  size_t Home(uint32_t key) const { return (key * 0x9e3779b97f4a7c15ULL >> 32) & (cells_.size() - 1); }
  size_t Next(size_t i) const { return (i + 1) & (cells_.size() - 1); }
  void CloseGap(size_t hole) {
    for (size_t i = Next(hole); cells_[i].key != 0; i = Next(i)) {
      size_t distance = (i - Home(cells_[i].key)) & (cells_.size() - 1);
      size_t to_hole = (i - hole) & (cells_.size() - 1);
      if (distance >= to_hole) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole] = Cell{};
  }
  void Resize(size_t capacity) {
    std::vector<Cell> old(capacity);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.key == 0) continue;
      size_t i = Home(cell.key);
      while (cells_[i].key != 0) i = Next(i);
      cells_[i] = cell;
    }
  }

  std::vector<Cell> cells_;
  size_t size_ = 0;
};

}  // namespace muster::core
