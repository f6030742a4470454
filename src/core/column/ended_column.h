// The ended attempts of a job, packed: about 40 bytes each plus 4 for each task of a touched chunk. Rows
// are only added; a later row of the same attempt (a late result) stands beside the earlier one. Each row
// names the one before it of the same task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/end_reason.h"
#include "model/exit_facts.h"

namespace muster::core {

struct EndedAttempt {
  uint32_t n = 0;
  uint32_t send = 0;
  ExecutorId executor;
  bool accepted = false;
  bool may_overlap = false;
  WallTime planned;
  WallTime ended;
  EndReason reason;
  ExitFacts facts;
  friend bool operator==(const EndedAttempt&, const EndedAttempt&) = default;
};

class EndedColumn {
 public:
  // Times are packed as differences from `base`.
  EndedColumn(uint32_t size, WallTime base);
  // Positions count from 0.
  void Append(uint32_t at, const EndedAttempt& row);
  // Oldest first.
  std::vector<EndedAttempt> Read(uint32_t at) const;
  std::optional<EndedAttempt> Newest(uint32_t at) const;
  bool Has(uint32_t at) const { return NewestEnd(at) != 0; }
  // Calls `visit(position)` for each task that has rows, in order.
  template <typename Visit>
  void ForEachTask(Visit&& visit) const {
    for (size_t c = 0; c < chunks_.size(); ++c) {
      if (!chunks_[c]) continue;
      const std::vector<uint32_t>& newest = chunks_[c]->newest;
      for (size_t i = 0; i < newest.size(); ++i) {
        if (newest[i] != 0) visit(static_cast<uint32_t>(c * kChunk + i));
      }
    }
  }
  uint64_t rows() const { return rows_; }
  size_t MemoryBytes() const;

 private:
  static constexpr uint32_t kChunk = 4096;
  struct Chunk {
    std::vector<uint32_t> newest;  // for each task: where its newest row begins, plus 1; 0: none
    std::string bytes;
  };
  uint32_t NewestEnd(uint32_t at) const {
    const Chunk* chunk = chunks_[at / kChunk].get();
    return chunk == nullptr ? 0 : chunk->newest[at % kChunk];
  }
  // Reads the row at `begin`; gives the place of the earlier row, plus 1, in `earlier`.
  EndedAttempt ReadRow(const Chunk& chunk, uint32_t begin, uint32_t& earlier) const;

  uint32_t size_;
  WallTime base_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint64_t rows_ = 0;
};

}  // namespace muster::core
