// One code for each task of a job, in chunks of 4,096. A chunk whose tasks all have the same code owns
// nothing, so that an untouched array costs 16 bytes for each 4,096 tasks; a touched chunk holds one byte
// for each task and a histogram, which serves as the rank and select index: counts and lists skip whole
// chunks and look at single codes only at the edges.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/end_reason.h"
#include "model/view.h"

namespace muster::core {

// What the column knows of a task. From kEnded on: kEnded + EndKind.
enum TaskCode : uint8_t {
  kFresh,    // never touched: waiting, or ready when its TaskSpec is released
  kBackOff,  // will be tried again, not before its time
  kAgain,    // ready for a further send or attempt
  kSetAside, // held
  kActive,   // handed to an executor, not known to run
  kRunning,  // its process runs
  kEnded,
};
inline constexpr int kTaskCodes = kEnded + kEndKinds;

using CodeMask = uint32_t;
using CodeCounts = std::array<uint64_t, kTaskCodes>;

constexpr CodeMask MaskOf(uint8_t code) { return CodeMask{1} << code; }
constexpr uint8_t CodeOf(EndKind kind) { return static_cast<uint8_t>(kEnded + static_cast<int>(kind)); }
constexpr CodeMask kAllCodes = (CodeMask{1} << kTaskCodes) - 1;
constexpr CodeMask kEndedCodes = kAllCodes & ~(MaskOf(kEnded) - 1);
constexpr CodeMask kActiveCodes = MaskOf(kActive) | MaskOf(kRunning);

class StateColumn {
 public:
  static constexpr uint32_t kChunk = 4096;

  explicit StateColumn(uint32_t size);
  uint32_t size() const { return size_; }
  // Positions count from 0.
  uint8_t Get(uint32_t at) const {
    const Chunk& chunk = chunks_[at / kChunk];
    return chunk.body ? chunk.body->codes[at % kChunk] : chunk.uniform;
  }
  // Sets a range; what was there before is added to `replaced`.
  void SetRange(uint32_t first, uint32_t count, uint8_t code, CodeCounts& replaced);

  struct Run {
    uint32_t first = 0;
    uint32_t count = 0;  // 0: none
  };
  // The first run, at or after `from` and before `end`, of tasks whose codes are in `mask`, cut off at
  // `limit` tasks.
  Run NextRun(uint32_t from, uint32_t end, CodeMask mask, uint32_t limit) const;
  // Adds the histogram of [from, end).
  void AddCounts(uint32_t from, uint32_t end, CodeCounts& counts) const;
  size_t MemoryBytes() const;

 private:
  struct Body {
    std::array<uint16_t, kTaskCodes> counts{};
    std::array<uint8_t, kChunk> codes;
  };
  struct Chunk {
    std::unique_ptr<Body> body;
    uint8_t uniform = kFresh;
  };
  uint32_t ChunkSize(uint32_t chunk) const {
    uint32_t begin = chunk * kChunk;
    return size_ - begin < kChunk ? size_ - begin : kChunk;
  }
  void SetInChunk(uint32_t chunk, uint32_t from, uint32_t to, uint8_t code, CodeCounts& replaced);
  bool ChunkHas(uint32_t chunk, CodeMask mask) const;

  uint32_t size_;
  std::vector<Chunk> chunks_;
  size_t bodies_ = 0;
};

}  // namespace muster::core
