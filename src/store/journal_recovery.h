// Reads a journal back: newest snapshot, then the records behind it in order, up to the first that
// is missing. Changes nothing, so that stores of other processes and on read-only disks can be read
// too.
//
// A missing record is a torn tail when nothing shows that it was ever on the disk: power went
// before it was synced. If any record that was written later says that it had been
// (Record::durable), it is damage: an error that names the file, the byte and what to do.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/disk.h"
#include "store/record.h"

namespace muster::store {

struct JournalVisitor {
  std::function<Status(std::string_view chunk)> on_chunk;  // of the snapshot
  std::function<Status(const Record& record)> on_record;
};

struct RecoveredJournal {
  uint64_t snapshot = 0;  // position of the snapshot, 0 without one
  uint64_t last = 0;      // position of the last record
  uint64_t durable =
      0;               // known to have been on the disk; those behind it may only be in memory yet
  uint64_t epoch = 0;  // highest seen
  uint64_t records = 0;
  uint64_t bytes = 0;  // of the records behind the snapshot
  // In words for the log, "" if the journal ends cleanly.
  std::string torn;
  // Records behind `durable`, in order.
  struct TailRecord {
    Record record;
    std::shared_ptr<const std::string> file;  // holds the payload
  };
  std::deque<TailRecord> tail;
  // Segments that hold something needed, in order; and files that hold nothing any more.
  std::vector<uint64_t> segments;
  std::vector<std::string> obsolete;
};

Result<RecoveredJournal> RecoverJournal(Disk& disk, const std::string& folder,
                                        const std::string& store_id, const JournalVisitor& visitor);

}  // namespace muster::store
