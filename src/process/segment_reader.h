// Reads the output of attempts out of a folder of segments, also while another process writes
// there.
//
//     ASSIGN_OR_RETURN(SegmentReader reader, SegmentReader::Open(folder));
//     RETURN_IF_ERROR(reader.Refresh());                       // reads new entries only
//     ASSIGN_OR_RETURN(auto chunk, reader.Read(attempt, std::nullopt, offset, 64 << 10));
//     ... chunk.bytes ...; offset = chunk.next_offset;
//
// Thread: any one. Memory: about 250 bytes for each attempt.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "process/segment_format.h"

namespace muster {

class SegmentReader {
 public:
  // What follows the bytes of a chunk.
  enum class Next : uint8_t {
    kMore,    // there is more now
    kNotYet,  // nothing more yet, the attempt may still write; also: not known (yet)
    kEnd,     // the attempt has ended and this was all
    kGone,    // bytes up to next_offset were kept once, and are not any more (or are damaged)
  };
  struct Chunk {
    std::string bytes;
    uint64_t next_offset = 0;  // where to go on
    Next next = Next::kNotYet;
    bool complete() const { return next == Next::kEnd; }
  };
  struct AttemptOutput {
    std::array<uint64_t, 3> kept{};  // bytes, by stream: stdout, stderr, executor
    uint64_t dropped = 0;            // bytes that were not kept: bound reached, disk full
    bool complete = false;
    WallTime first_time;
    WallTime last_time;
  };

  // The folder need not be there yet.
  static Result<SegmentReader> Open(std::string folder);

  // Takes in what was written since the last call. Everything else sees the state of this moment.
  Status Refresh();
  std::optional<AttemptOutput> Find(AttemptId attempt) const;
  // From `offset` in the stream, or, without one, in all three in the order in which they came.
  // An error means that reading failed, never that there is nothing.
  Result<Chunk> Read(AttemptId attempt, std::optional<OutputStream> stream, uint64_t offset,
                     size_t max_bytes);

  // Entries that were skipped because they were torn or damaged.
  uint64_t damaged_entries() const { return damaged_entries_; }
  size_t attempts() const { return attempts_.size(); }

 private:
  struct Slice {
    uint64_t segment = 0;
    uint64_t file_offset = 0;
    uint64_t position = 0;  // in its stream
    uint64_t in_all = 0;    // in all streams together
    uint32_t length = 0;
    uint32_t crc = 0;
    OutputStream stream = OutputStream::kStdout;
  };
  struct Attempt {
    std::vector<Slice> slices;       // those with bytes
    std::array<uint64_t, 3> lost{};  // by stream: bytes whose entries were damaged
    AttemptOutput output;
  };
  struct Segment {
    UniqueFd index;
    UniqueFd data;
    uint64_t index_read = 0;
    bool gone = false;
  };
  // Where the last read ended: reading on does not search again.
  struct Cursor {
    AttemptId attempt;
    std::optional<OutputStream> stream;
    uint64_t offset = 0;
    size_t slice = 0;
  };

  explicit SegmentReader(std::string folder) : folder_(std::move(folder)) {}

  Status FindSegments();
  Status ReadIndex(uint64_t number, Segment& segment);
  void TakeEntry(uint64_t number, const SegmentEntry& entry);
  static uint64_t StartOf(const Slice& slice, std::optional<OutputStream> stream) {
    return stream ? slice.position : slice.in_all;
  }
  size_t FindSlice(AttemptId attempt, const Attempt& found, std::optional<OutputStream> stream,
                   uint64_t offset) const;
  // The bytes of the slice; nothing if they are gone or damaged.
  Result<std::optional<std::string>> ReadSlice(const Slice& slice);

  std::string folder_;
  std::map<uint64_t, Segment> segments_;
  std::unordered_map<AttemptId, Attempt> attempts_;
  uint64_t damaged_entries_ = 0;
  Cursor cursor_;
};

}  // namespace muster
