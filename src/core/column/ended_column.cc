#include "core/column/ended_column.h"

#include <algorithm>
#include <array>

namespace muster::core {
namespace {

enum RowFlag : uint8_t {
  kAccepted = 1,
  kMayOverlap = 2,
  kUnconfirmed = 4,
  kHasNumber = 8,
  kHasDetail = 16,
  kHasFacts = 32,
  kFirstSend = 64,  // n and send are both 1
};
enum FactsFlag : uint8_t { kHasWhatFailed = 1, kHasLeftBehind = 2, kHasDropped = 4, kHasStarted = 8 };

class RowWriter {
 public:
  void Byte(uint8_t value) { buffer_[size_++] = static_cast<char>(value); }
  void Number(uint64_t value) {
    while (value >= 0x80) {
      Byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    Byte(static_cast<uint8_t>(value));
  }
  void Signed(int64_t value) {
    Number((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  std::string_view bytes() const { return {buffer_.data(), size_}; }

 private:
  // Enough for every number of a row at its longest.
  std::array<char, 256> buffer_;
  size_t size_ = 0;
};

class RowReader {
 public:
  explicit RowReader(const char* at) : at_(at) {}
  uint8_t Byte() { return static_cast<uint8_t>(*at_++); }
  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      uint8_t byte = Byte();
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  int64_t Signed() {
    uint64_t value = Number();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  uint32_t Small() { return static_cast<uint32_t>(Number()); }
  std::string Text() {
    size_t length = Number();
    std::string text(at_, length);
    at_ += length;
    return text;
  }

 private:
  const char* at_;
};

uint8_t FlagsOf(const EndedAttempt& row) {
  int flags = 0;
  if (row.accepted) flags |= kAccepted;
  if (row.may_overlap) flags |= kMayOverlap;
  if (row.reason.unconfirmed) flags |= kUnconfirmed;
  if (row.reason.number != 0) flags |= kHasNumber;
  if (!row.reason.detail.empty()) flags |= kHasDetail;
  if (row.facts != ExitFacts{}) flags |= kHasFacts;
  if (row.n == 1 && row.send == 1) flags |= kFirstSend;
  return static_cast<uint8_t>(flags);
}

void WriteFacts(const EndedAttempt& row, RowWriter& out) {
  const ExitFacts& facts = row.facts;
  int flags = 0;
  if (!facts.what_failed.empty()) flags |= kHasWhatFailed;
  if (facts.left_behind != 0) flags |= kHasLeftBehind;
  if (facts.output_dropped != 0) flags |= kHasDropped;
  if (facts.started != WallTime{}) flags |= kHasStarted;
  out.Byte(static_cast<uint8_t>(flags));
  out.Byte(static_cast<uint8_t>(static_cast<int>(facts.how) | static_cast<int>(facts.stop_cause) << 4));
  out.Signed(facts.code);
  if ((flags & kHasStarted) != 0) out.Signed(facts.started.us - row.planned.us);
  out.Signed(facts.wall.count());
  out.Signed(facts.user_cpu.count());
  out.Signed(facts.system_cpu.count());
  // The kernel gives whole KiB: the low bits are kept only when there are any.
  uint64_t rss = facts.max_rss.value;
  out.Number(rss % 1024 == 0 ? rss / 1024 * 2 : rss * 2 + 1);
  out.Number(facts.output_bytes);
  if ((flags & kHasLeftBehind) != 0) out.Number(facts.left_behind);
  if ((flags & kHasDropped) != 0) out.Number(facts.output_dropped);
}

ExitFacts ReadFacts(const EndedAttempt& row, RowReader& in, bool& has_what_failed) {
  ExitFacts facts;
  int flags = in.Byte();
  has_what_failed = (flags & kHasWhatFailed) != 0;
  int how_and_cause = in.Byte();
  facts.how = static_cast<ExitFacts::How>(how_and_cause & 0xf);
  facts.stop_cause = static_cast<StopCause>(how_and_cause >> 4);
  facts.code = static_cast<int32_t>(in.Signed());
  if ((flags & kHasStarted) != 0) facts.started = WallTime{row.planned.us + in.Signed()};
  facts.wall = Duration{in.Signed()};
  facts.user_cpu = Duration{in.Signed()};
  facts.system_cpu = Duration{in.Signed()};
  uint64_t rss = in.Number();
  facts.max_rss = Bytes{rss % 2 == 0 ? rss / 2 * 1024 : rss / 2};
  facts.output_bytes = in.Number();
  if ((flags & kHasLeftBehind) != 0) facts.left_behind = in.Small();
  if ((flags & kHasDropped) != 0) facts.output_dropped = in.Number();
  return facts;
}

void AppendText(std::string& bytes, std::string_view text) {
  RowWriter length;
  length.Number(text.size());
  bytes.append(length.bytes());
  bytes.append(text);
}

}  // namespace

EndedColumn::EndedColumn(uint32_t size, WallTime base)
    : size_(size), base_(base), chunks_((size + kChunk - 1) / kChunk) {}

void EndedColumn::Append(uint32_t at, const EndedAttempt& row) {
  std::unique_ptr<Chunk>& slot = chunks_[at / kChunk];
  if (!slot) {
    slot = std::make_unique<Chunk>();
    uint32_t begin = at / kChunk * kChunk;
    slot->newest.resize(std::min(kChunk, size_ - begin));
  }
  Chunk& chunk = *slot;
  uint32_t& newest = chunk.newest[at % kChunk];
  RowWriter out;
  uint8_t flags = FlagsOf(row);
  out.Byte(flags);
  out.Byte(static_cast<uint8_t>(row.reason.kind));
  out.Number(newest);
  if ((flags & kFirstSend) == 0) {
    out.Number(row.n);
    out.Number(row.send);
  }
  out.Number(row.executor.number);
  out.Signed(row.planned.us - base_.us);
  out.Signed(row.ended.us - row.planned.us);
  if ((flags & kHasNumber) != 0) out.Signed(row.reason.number);
  if ((flags & kHasFacts) != 0) WriteFacts(row, out);
  std::string& bytes = chunk.bytes;
  size_t begin = bytes.size();
  size_t needed = begin + out.bytes().size();
  // A quarter at a time: doubling would leave up to half of a big column unused.
  if (needed > bytes.capacity()) bytes.reserve(needed + needed / 4 + 256);
  bytes.append(out.bytes());
  if ((flags & kHasDetail) != 0) AppendText(bytes, row.reason.detail);
  if ((flags & kHasFacts) != 0 && !row.facts.what_failed.empty()) {
    AppendText(bytes, row.facts.what_failed);
  }
  newest = static_cast<uint32_t>(begin + 1);
  ++rows_;
}

EndedAttempt EndedColumn::ReadRow(const Chunk& chunk, uint32_t begin, uint32_t& earlier) const {
  RowReader in(chunk.bytes.data() + begin);
  EndedAttempt row;
  int flags = in.Byte();
  row.accepted = (flags & kAccepted) != 0;
  row.may_overlap = (flags & kMayOverlap) != 0;
  row.reason.unconfirmed = (flags & kUnconfirmed) != 0;
  row.reason.kind = static_cast<EndKind>(in.Byte());
  earlier = in.Small();
  row.n = 1;
  row.send = 1;
  if ((flags & kFirstSend) == 0) {
    row.n = in.Small();
    row.send = in.Small();
  }
  row.executor = ExecutorId{in.Number()};
  row.planned = WallTime{base_.us + in.Signed()};
  row.ended = WallTime{row.planned.us + in.Signed()};
  if ((flags & kHasNumber) != 0) row.reason.number = static_cast<int32_t>(in.Signed());
  bool has_what_failed = false;
  if ((flags & kHasFacts) != 0) row.facts = ReadFacts(row, in, has_what_failed);
  if ((flags & kHasDetail) != 0) row.reason.detail = in.Text();
  if (has_what_failed) row.facts.what_failed = in.Text();
  return row;
}

std::vector<EndedAttempt> EndedColumn::Read(uint32_t at) const {
  std::vector<EndedAttempt> rows;
  for (uint32_t next = NewestEnd(at); next != 0;) {
    rows.push_back(ReadRow(*chunks_[at / kChunk], next - 1, next));
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

std::optional<EndedAttempt> EndedColumn::Newest(uint32_t at) const {
  uint32_t newest = NewestEnd(at);
  if (newest == 0) return std::nullopt;
  uint32_t earlier = 0;
  return ReadRow(*chunks_[at / kChunk], newest - 1, earlier);
}

size_t EndedColumn::MemoryBytes() const {
  size_t total = chunks_.capacity() * sizeof(chunks_[0]);
  for (const auto& chunk : chunks_) {
    if (!chunk) continue;
    total += sizeof(Chunk) + chunk->newest.capacity() * sizeof(uint32_t) + chunk->bytes.capacity() + 48;
  }
  return total;
}

}  // namespace muster::core
