// The segment log: records appended to preallocated files, so that a full disk cannot stop what was
// accepted. Writes only; what makes it durable and when is the journal's (store/journal.h), reading
// back is recovery's (store/journal_recovery.h).
//
// Space: the segment being written, and spares that are reserved whole. One spare always stays for
// facts of running work (ReserveForSubmit leaves it alone); two are wanted once the segment is half
// full. A record larger than a segment gets a segment of its own size.
//
// Loop's thread only, apart from the files handed out by TakeUnsynced and the spares made by
// MakeSpare.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "store/disk.h"
#include "store/journal_recovery.h"
#include "store/record.h"

namespace muster::store {

// Reserved space for one segment.
struct SpareSegment {
  std::string name;
  std::shared_ptr<DiskFile> file;
  uint64_t size = 0;
};
// Blocking; any thread. kResourceExhausted on a full disk, and then nothing is left of it.
Result<SpareSegment> MakeSpare(Disk& disk, const std::string& folder, const std::string& name,
                               Bytes size);

class SegmentLog {
 public:
  // `epoch` is above all that the folder has seen.
  SegmentLog(Disk& disk, std::string folder, std::string store_id, uint64_t epoch,
             Bytes segment_size, Random& random);

  // Begins this epoch's first segment, with the recovered records that may not be on the disk yet
  // written again (they might only be in memory, after a failed sync even for ever), and removes
  // what recovery no longer needs. Everything recovered is durable when it returns. Blocking.
  Status Begin(const RecoveredJournal& recovered);

  // Written when it returns: survives the death of the process. `durable`: the highest position on
  // the disk so far. After kResourceExhausted nothing has changed and the call may be repeated.
  Result<uint64_t> Append(std::string_view payload, uint64_t durable);
  // Position of the last record.
  uint64_t written() const { return next_ - 1; }

  // What must be synced for everything up to `written` to be durable.
  struct Unsynced {
    std::vector<std::shared_ptr<DiskFile>> files;
    bool folder_changed = false;
    uint64_t written = 0;
  };
  // The caller syncs it all or gives up the log.
  Unsynced TakeUnsynced();
  bool has_unsynced() const { return !unsynced_.empty() || folder_changed_; }

  // -- space
  // Space for a submit of so many bytes beside the reserve for running work; holds until the next
  // Append, several add up. kResourceExhausted when the disk is full. May block to reserve more.
  Status ReserveForSubmit(uint64_t payload);
  // What was reserved will not be appended.
  void ForgetPromises() { promised_ = 0; }
  // Gives up spares that only a submit needed and names them: the caller removes the files.
  std::vector<std::string> DropExcessSpares();
  // What can still be written though the disk is full.
  Bytes room() const;
  Bytes segment_size() const { return segment_size_; }
  bool wants_spare() const;
  // A name for the next MakeSpare.
  std::string NextSpareName();
  void AddSpare(SpareSegment spare) { spares_.push_back(std::move(spare)); }

  // -- after a snapshot
  // Forgets segments with nothing behind `position` and names them: the caller removes the files.
  std::vector<std::string> ForgetUpTo(uint64_t position);
  // The same for all of it, spares included: the log is at its end.
  std::vector<std::string> ForgetAll();

 private:
  struct Segment {
    uint64_t first = 0;
    uint64_t salt = 0;
    std::shared_ptr<DiskFile> file;
    uint64_t size = 0;
    uint64_t end = 0;  // bytes used
  };

  Status WriteHeader(Segment& segment) const;
  Status WriteRecord(Segment& segment, const Record& record) const;
  // Makes a segment with room for `record_size` the active one.
  Status Rotate(uint64_t record_size);
  Result<SpareSegment> TakeSpare(uint64_t record_size);
  std::string PathOf(const std::string& name) const;

  Disk& disk_;
  const std::string folder_;
  const std::string store_id_;
  const uint64_t epoch_;
  const Bytes segment_size_;
  Random& random_;
  Segment active_;
  std::deque<uint64_t> firsts_;  // of all segments that hold something needed, the active one last
  std::vector<SpareSegment> spares_;
  std::vector<std::shared_ptr<DiskFile>> unsynced_;  // the active one's last
  bool folder_changed_ = false;
  uint64_t next_ = 1;
  uint64_t spare_number_ = 0;
  uint64_t promised_ = 0;  // bytes of records for ReserveForSubmit since the last Append
};

}  // namespace muster::store
