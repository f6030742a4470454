#include "core/column/state_column.h"

#include <algorithm>
#include <cstring>

namespace muster::core {

StateColumn::StateColumn(uint32_t size) : size_(size), chunks_((size + kChunk - 1) / kChunk) {}

void StateColumn::SetRange(uint32_t first, uint32_t count, uint8_t code, CodeCounts& replaced) {
  uint32_t end = first + count;
  while (first < end) {
    uint32_t chunk = first / kChunk;
    uint32_t from = first % kChunk;
    uint32_t to = std::min(kChunk, from + (end - first));
    SetInChunk(chunk, from, to, code, replaced);
    first += to - from;
  }
}

void StateColumn::SetInChunk(uint32_t chunk, uint32_t from, uint32_t to, uint8_t code,
                             CodeCounts& replaced) {
  Chunk& c = chunks_[chunk];
  uint32_t size = ChunkSize(chunk);
  if (!c.body) {
    if (c.uniform == code || (from == 0 && to == size)) {
      replaced[c.uniform] += to - from;
      c.uniform = code;
      return;
    }
    c.body = std::make_unique<Body>();
    ++bodies_;
    c.body->codes.fill(c.uniform);
    c.body->counts[c.uniform] = static_cast<uint16_t>(size);
  }
  Body& body = *c.body;
  for (uint32_t i = from; i < to; ++i) {
    uint8_t old = body.codes[i];
    ++replaced[old];
    --body.counts[old];
    body.codes[i] = code;
  }
  body.counts[code] = static_cast<uint16_t>(body.counts[code] + (to - from));
  if (body.counts[code] == size) {
    c.body.reset();
    --bodies_;
    c.uniform = code;
  }
}

bool StateColumn::ChunkHas(uint32_t chunk, CodeMask mask) const {
  const Chunk& c = chunks_[chunk];
  if (!c.body) return (mask & MaskOf(c.uniform)) != 0;
  for (CodeMask rest = mask; rest != 0; rest &= rest - 1) {
    if (c.body->counts[static_cast<size_t>(__builtin_ctz(rest))] != 0) return true;
  }
  return false;
}

StateColumn::Run StateColumn::NextRun(uint32_t from, uint32_t end, CodeMask mask,
                                      uint32_t limit) const {
  Run run;
  end = std::min(end, size_);
  while (from < end) {
    uint32_t chunk = from / kChunk;
    uint32_t chunk_end = std::min(end, (chunk + 1) * kChunk);
    const Chunk& c = chunks_[chunk];
    if (!c.body) {
      bool in = (mask & MaskOf(c.uniform)) != 0;
      if (!in && run.count > 0) return run;
      if (in) {
        if (run.count == 0) run.first = from;
        run.count += std::min(chunk_end - from, limit - run.count);
        if (run.count == limit) return run;
      }
      from = chunk_end;
      continue;
    }
    if (run.count == 0 && !ChunkHas(chunk, mask)) {
      from = chunk_end;
      continue;
    }
    const uint8_t* codes = c.body->codes.data() - static_cast<size_t>(chunk) * kChunk;
    for (; from < chunk_end; ++from) {
      bool in = (mask & MaskOf(codes[from])) != 0;
      if (!in && run.count > 0) return run;
      if (!in) continue;
      if (run.count == 0) run.first = from;
      if (++run.count == limit) return run;
    }
  }
  return run;
}

void StateColumn::AddCounts(uint32_t from, uint32_t end, CodeCounts& counts) const {
  end = std::min(end, size_);
  while (from < end) {
    uint32_t chunk = from / kChunk;
    uint32_t chunk_end = std::min(end, chunk * kChunk + ChunkSize(chunk));
    const Chunk& c = chunks_[chunk];
    if (!c.body) {
      counts[c.uniform] += chunk_end - from;
    } else if (chunk_end - from == ChunkSize(chunk)) {
      for (int code = 0; code < kTaskCodes; ++code) counts[code] += c.body->counts[code];
    } else {
      for (uint32_t i = from; i < chunk_end; ++i) ++counts[c.body->codes[i % kChunk]];
    }
    from = chunk_end;
  }
}

size_t StateColumn::MemoryBytes() const {
  return chunks_.capacity() * sizeof(Chunk) + bodies_ * (sizeof(Body) + 16);
}

}  // namespace muster::core
