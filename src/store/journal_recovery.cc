#include "store/journal_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "store/folder.h"
#include "store/snapshot_file.h"

namespace muster::store {
namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

class Recovery {
 public:
  Recovery(Disk& disk, const std::string& folder, const std::string& store_id,
           const JournalVisitor& visitor)
      : disk_(disk), folder_(folder), store_id_(store_id), visitor_(visitor) {}

  Result<RecoveredJournal> Run() {
    ASSIGN_OR_RETURN(FolderContent content, ListFolder(disk_, folder_));
    found_.obsolete = std::move(content.leftovers);
    RETURN_IF_ERROR(LoadSnapshot(content.snapshots));
    RETURN_IF_ERROR(ChooseSegments(content.segments));
    RETURN_IF_ERROR(ReadSegments());
    found_.last = expected_ - 1;
    DropProven();
    return std::move(found_);
  }

 private:
  struct Segment {
    uint64_t first = 0;
    std::optional<FileHeader> header;  // nothing if it is not whole
  };

  std::string PathOf(uint64_t first) const {
    return fmt::format("{}/{}", folder_, SegmentName(first));
  }

  Status LoadSnapshot(const std::vector<uint64_t>& snapshots) {
    if (snapshots.empty()) return Status::Ok();
    ASSIGN_OR_RETURN(FileHeader header,
                     ReadSnapshot(disk_, folder_, snapshots.back(), store_id_, visitor_.on_chunk));
    found_.snapshot = found_.durable = snapshots.back();
    found_.epoch = header.epoch;
    expected_ = snapshots.back() + 1;
    for (size_t i = 0; i + 1 < snapshots.size(); ++i) {
      found_.obsolete.push_back(SnapshotName(snapshots[i]));
    }
    return Status::Ok();
  }

  // Each start of a controller begins a segment, complete with everything it recovered behind what
  // was proven durable. So a segment of an older epoch behind one of a newer epoch is superseded.
  Status ChooseSegments(const std::vector<uint64_t>& firsts) {
    uint64_t epoch = 0;
    for (uint64_t first : firsts) {
      ASSIGN_OR_RETURN(std::string head, disk_.Read(PathOf(first), Bytes{kFileHeaderSize}));
      Result<FileHeader> header = ParseHeader(head);
      if (!header.ok() && header.error().code != ErrorCode::kDataLoss) {
        return std::move(header).WithContext("read " + PathOf(first)).error();
      }
      if (header.ok() && (header->store_id != store_id_ || header->first != first)) {
        return Damaged(first, 0,
                       header->store_id != store_id_ ? "it belongs to store " + header->store_id
                                                     : "it is another file under this name");
      }
      if (header.ok()) found_.epoch = std::max(found_.epoch, header->epoch);
      uint64_t its_epoch = header.ok() ? header->epoch : 0;
      if (its_epoch < epoch) {
        found_.obsolete.push_back(SegmentName(first));
        continue;
      }
      epoch = its_epoch;
      segments_.push_back({first, header.ok() ? std::optional(*std::move(header)) : std::nullopt});
    }
    size_t covered = 0;
    while (covered + 1 < segments_.size() && segments_[covered + 1].first <= expected_) {
      found_.obsolete.push_back(SegmentName(segments_[covered++].first));
    }
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(covered));
    for (const Segment& segment : segments_) found_.segments.push_back(segment.first);
    return Status::Ok();
  }

  Status ReadSegments() {
    for (size_t i = 0; i < segments_.size(); ++i) {
      uint64_t limit = i + 1 < segments_.size() ? segments_[i + 1].first : kNoLimit;
      if (segments_[i].first > expected_) return EndAt(i, kFileHeaderSize);
      ASSIGN_OR_RETURN(std::string bytes, disk_.Read(PathOf(segments_[i].first)));
      auto file = std::make_shared<const std::string>(std::move(bytes));
      if (!segments_[i].header) return EndAt(i, 0);
      RecordReader reader(*file, segments_[i].header->salt);
      RETURN_IF_ERROR(ReadRecords(segments_[i], limit, file, reader));
      if (expected_ == limit) continue;
      bool clean = limit == kNoLimit && reader.AtUnwritten();
      if (!clean) return EndAt(i, reader.offset());
    }
    return Status::Ok();
  }

  // Up to `limit`, the end, or the first that is not in its place.
  Status ReadRecords(const Segment& segment, uint64_t limit,
                     const std::shared_ptr<const std::string>& file, RecordReader& reader) {
    for (uint64_t position = segment.first; position < limit; ++position) {
      RecordReader before = reader;
      std::optional<Record> record = reader.Next();
      if (!record || record->position != position) {
        reader = before;
        return Status::Ok();
      }
      if (record->epoch < record_epoch_) {
        return Damaged(segment.first, before.offset(),
                       fmt::format("epoch {} follows epoch {}", record->epoch, record_epoch_));
      }
      record_epoch_ = record->epoch;
      found_.durable = std::max(found_.durable, record->durable);
      if (position < expected_) continue;
      Status visited = visitor_.on_record(*record);
      if (!visited.ok()) {
        return std::move(visited).WithContext(
            fmt::format("{} at byte {}", PathOf(segment.first), before.offset()));
      }
      ++expected_;
      ++found_.records;
      found_.bytes += RecordSize(record->payload.size());
      found_.tail.push_back({*record, file});
      DropProven();
    }
    return Status::Ok();
  }

  // The record expected_ is not where it should be, in segment `at` from byte `offset` on: torn or
  // damaged?
  Status EndAt(size_t at, uint64_t offset) {
    for (size_t i = at; i < segments_.size(); ++i) {
      if (!segments_[i].header) continue;
      ASSIGN_OR_RETURN(std::string file, disk_.Read(PathOf(segments_[i].first)));
      RecordReader reader(file, segments_[i].header->salt);
      while (true) {
        std::optional<Record> record = reader.Next();
        if (!record) record = reader.Search();
        if (!record) break;
        found_.durable = std::max(found_.durable, record->durable);
        if (found_.durable >= expected_) {
          return Damaged(
              segments_[at].first, offset,
              fmt::format("position {} was on the disk, for position {} says so, and is gone",
                          expected_, record->position));
        }
      }
    }
    found_.torn =
        fmt::format("{} ends at byte {}, behind position {}: what followed was not on the disk",
                    PathOf(segments_[at].first), offset, expected_ - 1);
    return Status::Ok();
  }

  void DropProven() {
    while (!found_.tail.empty() && found_.tail.front().record.position <= found_.durable) {
      found_.tail.pop_front();
    }
  }

  Error Damaged(uint64_t first, uint64_t offset, const std::string& what) const {
    return OperatorError(
        ErrorCode::kDataLoss,
        fmt::format("{} is damaged at byte {} ({}): restore the folder from a backup",
                    PathOf(first), offset, what));
  }

  Disk& disk_;
  const std::string& folder_;
  const std::string& store_id_;
  const JournalVisitor& visitor_;
  RecoveredJournal found_;
  std::vector<Segment> segments_;
  uint64_t expected_ = 1;
  uint64_t record_epoch_ = 0;
};

}  // namespace

Result<RecoveredJournal> RecoverJournal(Disk& disk, const std::string& folder,
                                        const std::string& store_id,
                                        const JournalVisitor& visitor) {
  return Recovery(disk, folder, store_id, visitor).Run();
}

}  // namespace muster::store
