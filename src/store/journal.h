// The journal: records of bytes, written at once and durable a moment later, and snapshots that
// replace what is older. Knows nothing of facts (store/store.h puts them in).
//
//     written   in the hands of the operating system: survives the death of any process
//     durable   on the disk: survives a power cut
//
// Group commit: an append to a quiet journal is synced at once, further ones together at most
// `sync_delay` later, and as soon as the disk is free when somebody waits (Hurry). After a failed
// sync nothing is ever called durable again and every call fails.
//
// Loop's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "store/background.h"
#include "store/segment_log.h"

namespace muster::store {

using Position = uint64_t;

struct JournalOptions {
  Bytes segment_size = MiB(8);
  Duration sync_delay = std::chrono::milliseconds(5);
  // A snapshot is due when so much was written since the last one.
  Bytes snapshot_after = MiB(64);
  // Space is looked for again this often while the disk is full.
  Duration space_retry = std::chrono::seconds(1);
};

// What a journal works with. Disk, loop and randomness outlive it; the Backgrounds may end before
// it.
struct JournalTools {
  Disk& disk;
  Loop& loop;
  Background& syncing;
  Background& writing;  // snapshots
  Random& random;
};

// How much can still be written.
enum class Room : uint8_t {
  kPlenty,
  kReserveOnly,  // the disk is full: new submits are refused, running work goes on in reserved
                 // space
  kNearlyNone,   // start nothing: what is left is for the ends of what runs
};

class Journal {
 public:
  // Makes the log of a new epoch behind what was recovered. Blocking, before the loop is busy.
  static Result<std::unique_ptr<Journal>> Open(JournalTools tools, std::string folder,
                                               std::string store_id, JournalOptions options,
                                               const RecoveredJournal& recovered);
  ~Journal();
  Journal(const Journal&) = delete;

  // Written when it returns. On kResourceExhausted nothing has changed: call again when there is
  // room.
  Result<Position> Append(std::string_view payload);
  Position written() const { return log_.written(); }
  Position durable() const { return durable_; }
  uint64_t epoch() const { return epoch_; }
  // Somebody waits for written() to be durable.
  void Hurry();
  // Called with each new durable position.
  void OnDurable(std::function<void(Position)> call) { on_durable_ = std::move(call); }
  // Called once, when the journal cannot go on (a sync or a write failed): the owner must stop.
  void OnFailure(std::function<void(const Error&)> call) { on_failure_ = std::move(call); }

  // Space for a submit of so many bytes beside the reserve for running work; holds until the next
  // Append, at most a second, several add up. The error says what to do. May block to reserve more.
  Status ReserveForSubmit(uint64_t payload);
  Room room() const;

  bool SnapshotDue() const;
  // `chunks` stand for everything up to written(). `done` after the snapshot is durable and older
  // files are gone, or with the error (kAborted: another one is being taken). A failed snapshot
  // harms nothing.
  void TakeSnapshot(std::vector<std::string> chunks, std::function<void(Status)> done);
  // The same as the last act, after one that is being taken: nothing is appended from now on, and
  // no reserved space stays behind.
  void Finish(std::vector<std::string> chunks, std::function<void(Status)> done);

 private:
  struct Snapshot {
    Position position = 0;
    std::shared_ptr<const std::vector<std::string>> chunks;
    std::function<void(Status)> done;
    bool is_last = false;
    bool writing = false;
  };

  Journal(JournalTools tools, std::string folder, std::string store_id, JournalOptions options,
          const RecoveredJournal& recovered, uint64_t epoch);
  void ScheduleSync();
  void StartSync();
  void OnSynced(Position up_to, Status status);
  void MakeSpareIfWanted();
  void StartSnapshot(Snapshot snapshot, std::vector<std::string> chunks);
  void WriteSnapshotIfReady();
  void OnSnapshotWritten(Status written);
  void RemoveOldFiles(std::vector<std::string> names, std::function<void(Status)> done);
  void EndSnapshot(Status status);
  Error Fail(Error error);

  const JournalTools tools_;
  const std::string folder_;
  const std::string store_id_;
  const JournalOptions options_;
  const uint64_t epoch_;
  SegmentLog log_;
  Position durable_ = 0;
  std::function<void(Position)> on_durable_;
  std::function<void(const Error&)> on_failure_;
  std::optional<Error> failure_;

  bool syncing_ = false;
  bool hurry_ = false;
  BootTime last_sync_;
  std::optional<Loop::TimerId> sync_timer_;

  bool making_spare_ = false;
  bool disk_full_ = false;
  std::optional<Loop::TimerId> spare_timer_;
  std::optional<Loop::TimerId> promise_timer_;

  Position snapshot_position_ = 0;
  uint64_t bytes_since_snapshot_ = 0;
  std::optional<Snapshot> snapshot_;
  bool finished_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::store
