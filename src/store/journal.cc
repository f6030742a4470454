#include "store/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/folder.h"
#include "store/snapshot_file.h"

namespace muster::store {
namespace {

// Between the question for room and the append of what it was asked for.
constexpr Duration kPromiseTime = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(JournalTools tools, std::string folder,
                                               std::string store_id, JournalOptions options,
                                               const RecoveredJournal& recovered) {
  std::unique_ptr<Journal> journal(new Journal(tools, std::move(folder), std::move(store_id),
                                               options, recovered, recovered.epoch + 1));
  RETURN_IF_ERROR(journal->log_.Begin(recovered));
  journal->MakeSpareIfWanted();
  return journal;
}

Journal::Journal(JournalTools tools, std::string folder, std::string store_id,
                 JournalOptions options, const RecoveredJournal& recovered, uint64_t epoch)
    : tools_(tools),
      folder_(std::move(folder)),
      store_id_(std::move(store_id)),
      options_(options),
      epoch_(epoch),
      log_(tools.disk, folder_, store_id_, epoch, options.segment_size, tools.random),
      durable_(recovered.last),
      last_sync_(tools.loop.ReadClock().boot - options.sync_delay),
      snapshot_position_(recovered.snapshot),
      // Starts that end in a crash leave segments that are nearly empty: they count whole.
      bytes_since_snapshot_(
          std::max(recovered.bytes, recovered.segments.size() * options.segment_size.value / 2)) {}

Journal::~Journal() {
  *alive_ = false;
  if (sync_timer_) tools_.loop.CancelTimer(*sync_timer_);
  if (spare_timer_) tools_.loop.CancelTimer(*spare_timer_);
  if (promise_timer_) tools_.loop.CancelTimer(*promise_timer_);
}

Result<Position> Journal::Append(std::string_view payload) {
  if (failure_) return *failure_;
  if (finished_) return InternalError("append to the journal in " + folder_ + ": it is finished");
  Result<Position> position = log_.Append(payload, durable_);
  if (!position.ok()) {
    Error error = std::move(position).WithContext("append to the journal").error();
    if (error.code == ErrorCode::kResourceExhausted) {
      MakeSpareIfWanted();
      return ExplainDiskError(std::move(error), folder_);
    }
    if (error.code == ErrorCode::kOutOfRange) return error;
    return Fail(std::move(error));
  }
  bytes_since_snapshot_ += RecordSize(payload.size());
  ScheduleSync();
  MakeSpareIfWanted();
  return position;
}

Error Journal::Fail(Error error) {
  if (failure_) return *failure_;
  error.message =
      fmt::format("{}; the journal in {} stops at position {}: check the disk, then start again",
                  error.message, folder_, durable_);
  failure_ = error;
  LogError("journal: {}", error.ToString());
  if (on_failure_) on_failure_(error);
  if (snapshot_ && !snapshot_->writing) EndSnapshot(error);
  return error;
}

// -- group commit

void Journal::Hurry() {
  if (durable_ == written()) return;
  hurry_ = true;
  ScheduleSync();
}

void Journal::ScheduleSync() {
  if (syncing_ || failure_ || !log_.has_unsynced()) return;
  Duration since = tools_.loop.ReadClock().boot - last_sync_;
  if (hurry_ || since >= options_.sync_delay) {
    StartSync();
  } else if (!sync_timer_) {
    sync_timer_ = tools_.loop.RunAfter(options_.sync_delay - since, [this] {
      sync_timer_.reset();
      ScheduleSync();
    });
  }
}

void Journal::StartSync() {
  if (sync_timer_) tools_.loop.CancelTimer(*std::exchange(sync_timer_, std::nullopt));
  syncing_ = true;
  hurry_ = false;
  last_sync_ = tools_.loop.ReadClock().boot;
  SegmentLog::Unsynced unsynced = log_.TakeUnsynced();
  Position up_to = unsynced.written;
  auto work = [&disk = tools_.disk, folder = folder_, unsynced = std::move(unsynced)]() -> Status {
    for (const auto& file : unsynced.files) RETURN_IF_ERROR(file->Sync());
    if (unsynced.folder_changed) RETURN_IF_ERROR(disk.SyncFolder(folder));
    return Status::Ok();
  };
  tools_.syncing.Start(std::move(work), [this, alive = alive_, up_to](Status status) {
    if (*alive) OnSynced(up_to, std::move(status));
  });
}

void Journal::OnSynced(Position up_to, Status status) {
  syncing_ = false;
  if (failure_) return;
  if (!status.ok()) {
    Fail(std::move(status).error());
    return;
  }
  durable_ = up_to;
  if (snapshot_ && durable_ < snapshot_->position) hurry_ = true;
  ScheduleSync();
  WriteSnapshotIfReady();
  if (on_durable_) on_durable_(up_to);
}

// -- space

Status Journal::ReserveForSubmit(uint64_t payload) {
  if (failure_) return *failure_;
  Status reserved = log_.ReserveForSubmit(payload);
  if (!promise_timer_) {
    promise_timer_ = tools_.loop.RunAfter(kPromiseTime, [this] {
      promise_timer_.reset();
      log_.ForgetPromises();
      std::vector<std::string> excess = log_.DropExcessSpares();
      if (!excess.empty()) RemoveOldFiles(std::move(excess), [](const Status&) {});
    });
  }
  if (reserved.ok()) return reserved;
  return ExplainDiskError(
      std::move(reserved).WithContext("no new jobs: the journal has no room for them").error(),
      folder_);
}

Room Journal::room() const {
  if (!disk_full_) return Room::kPlenty;
  bool reserve = log_.room().value >= log_.segment_size().value / 4;
  return reserve ? Room::kReserveOnly : Room::kNearlyNone;
}

void Journal::MakeSpareIfWanted() {
  if (making_spare_ || spare_timer_ || failure_ || finished_ || !log_.wants_spare()) return;
  making_spare_ = true;
  auto spare = std::make_shared<std::optional<SpareSegment>>();
  auto work = [&disk = tools_.disk, folder = folder_, name = log_.NextSpareName(),
               size = log_.segment_size(), spare]() -> Status {
    ASSIGN_OR_RETURN(*spare, MakeSpare(disk, folder, name, size));
    return Status::Ok();
  };
  tools_.syncing.Start(std::move(work), [this, alive = alive_, spare](Status status) {
    if (!*alive) return;
    making_spare_ = false;
    if (status.ok()) {
      disk_full_ = false;
      if (finished_) return RemoveOldFiles({(*spare)->name}, [](const Status&) {});
      log_.AddSpare(*std::move(*spare));
      return MakeSpareIfWanted();
    }
    if (!std::exchange(disk_full_, true)) {
      LogWarning("journal: {}", ExplainDiskError(std::move(status).error(), folder_).ToString());
    }
    spare_timer_ = tools_.loop.RunAfter(options_.space_retry, [this] {
      spare_timer_.reset();
      MakeSpareIfWanted();
    });
  });
}

// -- snapshots

bool Journal::SnapshotDue() const {
  return !snapshot_ && !failure_ && !finished_ &&
         bytes_since_snapshot_ >= options_.snapshot_after.value;
}

void Journal::TakeSnapshot(std::vector<std::string> chunks, std::function<void(Status)> done) {
  if (failure_) return done(*failure_);
  if (snapshot_ || finished_) {
    return done(Error{ErrorCode::kAborted, ErrorOwner::kUs,
                      "take a snapshot: another one is being taken", ""});
  }
  StartSnapshot(Snapshot{written(), {}, std::move(done)}, std::move(chunks));
}

void Journal::Finish(std::vector<std::string> chunks, std::function<void(Status)> done) {
  if (failure_) return done(*failure_);
  if (finished_)
    return done(InternalError("finish the journal in " + folder_ + ": it is finished"));
  finished_ = true;
  Snapshot last{written(), {}, std::move(done)};
  last.is_last = true;
  if (!snapshot_) return StartSnapshot(std::move(last), std::move(chunks));
  snapshot_->done = [this, last, chunks = std::move(chunks),
                     before = std::move(snapshot_->done)](Status status) mutable {
    before(std::move(status));
    if (failure_) return last.done(*failure_);
    StartSnapshot(std::move(last), std::move(chunks));
  };
}

void Journal::StartSnapshot(Snapshot snapshot, std::vector<std::string> chunks) {
  snapshot.chunks = std::make_shared<std::vector<std::string>>(std::move(chunks));
  snapshot_ = std::move(snapshot);
  bytes_since_snapshot_ = 0;  // also after a failure: the next try is as far away
  Hurry();
  WriteSnapshotIfReady();
}

void Journal::WriteSnapshotIfReady() {
  if (!snapshot_ || snapshot_->writing || durable_ < snapshot_->position) return;
  snapshot_->writing = true;
  FileHeader header{FileKind::kSnapshot, kFormatVersion, tools_.random.Next(),
                    snapshot_->position, epoch_,         store_id_};
  auto work = [&disk = tools_.disk, folder = folder_, header, chunks = snapshot_->chunks] {
    return WriteSnapshot(disk, folder, header, *chunks);
  };
  tools_.writing.Start(std::move(work), [this, alive = alive_](Status status) {
    if (*alive) OnSnapshotWritten(std::move(status));
  });
}

void Journal::OnSnapshotWritten(Status written) {
  if (!written.ok()) {
    return EndSnapshot(ExplainDiskError(
        std::move(written).WithContext("take a snapshot of the journal").error(), folder_));
  }
  Position position = snapshot_->position;
  std::vector<std::string> old = snapshot_->is_last ? log_.ForgetAll() : log_.ForgetUpTo(position);
  if (snapshot_position_ != 0 && snapshot_position_ != position) {
    old.push_back(SnapshotName(snapshot_position_));
  }
  snapshot_position_ = position;
  RemoveOldFiles(std::move(old), [this](Status status) { EndSnapshot(std::move(status)); });
}

void Journal::RemoveOldFiles(std::vector<std::string> names, std::function<void(Status)> done) {
  auto work = [&disk = tools_.disk, folder = folder_, names = std::move(names)]() -> Status {
    for (const std::string& name : names) {
      // Harmless if it stays: the next start removes it.
      Status removed = disk.Remove(fmt::format("{}/{}", folder, name));
      if (!removed.ok()) LogWarning("journal: {}", removed.error().ToString());
    }
    return Status::Ok();
  };
  tools_.writing.Start(std::move(work), [done = std::move(done), alive = alive_](Status status) {
    if (*alive) done(std::move(status));
  });
}

void Journal::EndSnapshot(Status status) {
  auto done = std::move(snapshot_->done);
  snapshot_.reset();
  done(std::move(status));
}

}  // namespace muster::store
