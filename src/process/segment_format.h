// How output lies on disk: a folder of segments, each two files with the same number.
//   000001.out  the bytes of many attempts, one after another, nothing between them
//   000001.idx  a header, then one entry of 64 bytes for each run of bytes
// Little-endian. An entry is written after its bytes, so one that is whole and whose sums match
// speaks of bytes that are there; anything else is a torn tail and is skipped. A segment that was
// given up for space keeps its .idx: readers can tell "gone" from "not there yet".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "process/output_stream.h"

namespace muster {

constexpr size_t kSegmentEntrySize = 64;
// The header has the size of an entry: "muster-segment-1" and zeros.
constexpr size_t kSegmentHeaderSize = kSegmentEntrySize;
// The bytes of one entry: what a reader must read to check a sum.
constexpr uint32_t kMostEntryBytes = 256 << 10;

struct SegmentEntry {
  AttemptId attempt;
  OutputStream stream = OutputStream::kStdout;
  bool is_last = false;      // nothing of this attempt follows
  uint64_t position = 0;     // of the first byte, in what was kept of the attempt's stream
  uint64_t file_offset = 0;  // in the .out file
  uint32_t length = 0;
  uint64_t dropped = 0;   // bytes of this stream that were not kept just before this entry
  WallTime time;          // when the first byte came
  uint32_t data_crc = 0;  // CRC-32C of the bytes
  friend bool operator==(const SegmentEntry&, const SegmentEntry&) = default;
};

std::string SegmentHeader();
bool IsSegmentHeader(std::string_view bytes);
// Appends kSegmentEntrySize bytes.
void AppendTo(std::string& bytes, const SegmentEntry& entry);
// Nothing if the entry's own sum does not match.
std::optional<SegmentEntry> ParseSegmentEntry(std::string_view bytes);

// "<folder>/000007.out", "<folder>/000007.idx".
std::string SegmentDataPath(const std::string& folder, uint64_t number);
std::string SegmentIndexPath(const std::string& folder, uint64_t number);
// 7 for "000007.idx".
std::optional<uint64_t> ParseSegmentIndexName(std::string_view name);

}  // namespace muster
