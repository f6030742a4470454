// Keeps the output of all attempts of one executor in few files (segment_format.h).
//
//     ASSIGN_OR_RETURN(SegmentWriter writer, SegmentWriter::Open(folder, {}, SystemClock()));
//     writer.Append(attempt, OutputStream::kStdout, bytes);   // buffered
//     ...
//     facts.output_dropped = writer.Finish(attempt);
//     writer.Flush();                                        // end of a loop pass, or every 100 ms
//
// Thread: any one. One writer owns a folder; a new one after a crash starts new files in it. What
// Flush has written survives the death of any process, not a power cut.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "process/segment_format.h"

namespace muster {

class SegmentWriter {
 public:
  struct Limits {
    // A new segment is begun beyond this size.
    Bytes segment = MiB(256);
    // What is kept of one attempt; the rest is counted and dropped.
    Bytes attempt = GiB(1);
    // What is kept in all; beyond it the oldest whole segments go. 0: no bound.
    Bytes total{0};
  };

  // Makes the folder if it is not there; no file until something is flushed.
  static Result<SegmentWriter> Open(std::string folder, Limits limits, const Clock& clock);

  // Never fails: what cannot be kept is counted. Writes when more than 256 KiB wait.
  void Append(AttemptId attempt, OutputStream stream, std::string_view bytes);
  // Says that nothing of this attempt follows. Returns how many of its bytes were dropped by now;
  // if the flush of its last bytes fails, readers still find the true number.
  uint64_t Finish(AttemptId attempt);
  // Writes what waits, bytes before entries. An error (disk full) says that what waited was dropped
  // and counted; the writer goes on and recovers when there is space again.
  Status Flush();

  bool has_unwritten() const { return !waiting_.empty(); }
  uint64_t dropped_bytes() const { return dropped_; }

 private:
  struct AttemptState {
    std::array<uint64_t, 3> position{};        // by stream: kept bytes
    std::array<uint64_t, 3> dropped_unsaid{};  // by stream: dropped, and no entry tells it yet
    uint64_t kept = 0;
    uint64_t dropped = 0;
    bool finished = false;
    // waiting_[last_waiting] is its newest entry, if flush == flushes_.
    uint64_t flush = std::numeric_limits<uint64_t>::max();
    size_t last_waiting = 0;
  };
  struct Segment {
    uint64_t number = 0;
    uint64_t size = 0;
  };

  SegmentWriter(std::string folder, Limits limits, const Clock& clock)
      : folder_(std::move(folder)), limits_(limits), clock_(&clock) {}

  void AppendKept(AttemptId attempt, AttemptState& state, OutputStream stream,
                  std::string_view bytes);
  SegmentEntry& AddEntry(AttemptId attempt, AttemptState& state, OutputStream stream);
  void AddLastEntry(AttemptId attempt, AttemptState& state);
  Status OpenSegmentIfNeeded();
  Status BeginSegment();
  void GiveUpOldSegments();
  // Of the entries that wait, the first `written` are on disk.
  void AfterWrite(size_t written);

  std::string folder_;
  Limits limits_;
  const Clock* clock_;
  std::unordered_map<AttemptId, AttemptState> attempts_;
  std::string data_;                   // the bytes of waiting_, in its order
  std::vector<SegmentEntry> waiting_;  // file_offset is set when they are written
  std::string encoded_;                // reused
  uint64_t flushes_ = 0;
  uint64_t dropped_ = 0;
  std::deque<Segment> segments_;  // those whose bytes are still there; the last one may be open
  uint64_t last_number_ = 0;
  UniqueFd data_file_;
  UniqueFd index_file_;
  uint64_t data_size_ = 0;
  uint64_t index_size_ = 0;
};

}  // namespace muster
