#include "store/segment_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "store/folder.h"

namespace muster::store {
namespace {

// The reserve for running work and the next segment.
constexpr size_t kMostSpares = 2;

// A fresh segment can take records of this size together.
uint64_t Capacity(uint64_t segment_size) { return segment_size - kFileHeaderSize; }

Error TooLarge(uint64_t payload) {
  return UserError(ErrorCode::kOutOfRange,
                   fmt::format("the journal takes at most {} at once, not {}: make it several jobs",
                               Render(Bytes{kLargestPayload}), Render(Bytes{payload})));
}

// Leftovers take space and harm nothing: the next start removes them.
void RemoveLeftover(Disk& disk, const std::string& path) {
  Status removed = disk.Remove(path);
  if (!removed.ok() && removed.error().code != ErrorCode::kNotFound) {
    LogWarning("journal: {}", removed.error().ToString());
  }
}

}  // namespace

Result<SpareSegment> MakeSpare(Disk& disk, const std::string& folder, const std::string& name,
                               Bytes size) {
  std::string path = fmt::format("{}/{}", folder, name);
  ASSIGN_OR_RETURN(std::unique_ptr<DiskFile> file, disk.Create(path));
  Status reserved = file->Reserve(size);
  if (!reserved.ok()) {
    RemoveLeftover(disk, path);
    return std::move(reserved).error();
  }
  return SpareSegment{name, std::move(file), size.value};
}

SegmentLog::SegmentLog(Disk& disk, std::string folder, std::string store_id, uint64_t epoch,
                       Bytes segment_size, Random& random)
    : disk_(disk),
      folder_(std::move(folder)),
      store_id_(std::move(store_id)),
      epoch_(epoch),
      segment_size_(segment_size),
      random_(random) {
  CHECK(segment_size.value >= 2 * kFileHeaderSize);
}

std::string SegmentLog::PathOf(const std::string& name) const {
  return fmt::format("{}/{}", folder_, name);
}

Status SegmentLog::Begin(const RecoveredJournal& recovered) {
  // Spares of an earlier start may hold old records and have our names.
  for (const std::string& name : recovered.obsolete) {
    if (name.starts_with("spare-")) RETURN_IF_ERROR(disk_.Remove(PathOf(name)));
  }
  uint64_t tail_size = 0;
  for (const auto& kept : recovered.tail) tail_size += RecordSize(kept.record.payload.size());
  uint64_t size = std::max(segment_size_.value, kFileHeaderSize + tail_size);
  std::string spare_name = NextSpareName();
  ASSIGN_OR_RETURN(SpareSegment spare, MakeSpare(disk_, folder_, spare_name, {size}));
  uint64_t first = recovered.durable + 1;
  active_ = {first, random_.Next(), std::move(spare.file), size, 0};
  RETURN_IF_ERROR(WriteHeader(active_));
  for (const auto& kept : recovered.tail) {
    Record record = kept.record;
    record.durable = recovered.durable;
    RETURN_IF_ERROR(WriteRecord(active_, record));
  }
  RETURN_IF_ERROR(active_.file->Sync());
  RETURN_IF_ERROR(disk_.Rename(PathOf(spare_name), PathOf(SegmentName(first))));
  RETURN_IF_ERROR(disk_.SyncFolder(folder_));
  next_ = recovered.last + 1;
  for (uint64_t old : recovered.segments) {
    if (old < first) firsts_.push_back(old);
    if (old > first) RemoveLeftover(disk_, PathOf(SegmentName(old)));
  }
  firsts_.push_back(first);
  for (const std::string& name : recovered.obsolete) {
    // An empty journal may begin again at a position that an obsolete file had.
    if (!name.starts_with("spare-") && name != SegmentName(first)) {
      RemoveLeftover(disk_, PathOf(name));
    }
  }
  return Status::Ok();
}

Status SegmentLog::WriteHeader(Segment& segment) const {
  auto header = RenderHeader(
      {FileKind::kJournal, kFormatVersion, segment.salt, segment.first, epoch_, store_id_});
  std::array<std::string_view, 1> pieces{std::string_view(header.data(), header.size())};
  RETURN_IF_ERROR(segment.file->WriteAt(0, pieces));
  segment.end = kFileHeaderSize;
  return Status::Ok();
}

Status SegmentLog::WriteRecord(Segment& segment, const Record& record) const {
  auto header = RenderRecordHeader(record, segment.salt);
  std::array<std::string_view, 3> pieces{std::string_view(header.data(), header.size()),
                                         record.payload, RecordPadding(record.payload.size())};
  RETURN_IF_ERROR(segment.file->WriteAt(segment.end, pieces));
  segment.end += RecordSize(record.payload.size());
  return Status::Ok();
}

Result<uint64_t> SegmentLog::Append(std::string_view payload, uint64_t durable) {
  if (payload.size() > kLargestPayload) return TooLarge(payload.size());
  uint64_t size = RecordSize(payload.size());
  if (active_.end + size > active_.size) RETURN_IF_ERROR(Rotate(size));
  RETURN_IF_ERROR(WriteRecord(active_, {next_, durable, epoch_, payload}));
  if (unsynced_.empty() || unsynced_.back() != active_.file) unsynced_.push_back(active_.file);
  promised_ = 0;
  return next_++;
}

Status SegmentLog::Rotate(uint64_t record_size) {
  ASSIGN_OR_RETURN(SpareSegment spare, TakeSpare(record_size));
  Segment fresh{next_, random_.Next(), spare.file, spare.size, 0};
  Status begun = WriteHeader(fresh);
  // A segment without records has the same name and is replaced; what proves this epoch must stay
  // on the disk.
  bool replaces = active_.first == next_;
  if (begun.ok() && replaces) begun = fresh.file->Sync();
  if (begun.ok()) begun = disk_.Rename(PathOf(spare.name), PathOf(SegmentName(next_)));
  if (!begun.ok()) {
    spares_.push_back(std::move(spare));
    return begun;
  }
  folder_changed_ = true;
  if (replaces) firsts_.pop_back();
  active_ = std::move(fresh);
  firsts_.push_back(next_);
  return Status::Ok();
}

Result<SpareSegment> SegmentLog::TakeSpare(uint64_t record_size) {
  // The smallest that is large enough.
  auto best = spares_.end();
  for (auto spare = spares_.begin(); spare != spares_.end(); ++spare) {
    if (Capacity(spare->size) < record_size) continue;
    if (best == spares_.end() || spare->size < best->size) best = spare;
  }
  if (best == spares_.end()) {
    uint64_t size = std::max(segment_size_.value, kFileHeaderSize + record_size);
    return MakeSpare(disk_, folder_, NextSpareName(), {size});
  }
  SpareSegment spare = std::move(*best);
  spares_.erase(best);
  return spare;
}

SegmentLog::Unsynced SegmentLog::TakeUnsynced() {
  Unsynced taken{std::exchange(unsynced_, {}), std::exchange(folder_changed_, false), written()};
  return taken;
}

Status SegmentLog::ReserveForSubmit(uint64_t payload) {
  if (payload > kLargestPayload) return TooLarge(payload);
  uint64_t promised = promised_ + RecordSize(payload);
  // The reserve: one spare that is left when the promise has been kept.
  if (active_.end + promised > active_.size) {
    auto fits = [&](const SpareSegment& spare) { return Capacity(spare.size) >= promised; };
    if (std::none_of(spares_.begin(), spares_.end(), fits)) {
      uint64_t size = std::max(segment_size_.value, kFileHeaderSize + promised);
      ASSIGN_OR_RETURN(SpareSegment spare, MakeSpare(disk_, folder_, NextSpareName(), {size}));
      spares_.push_back(std::move(spare));
    }
    if (spares_.size() < kMostSpares) {
      ASSIGN_OR_RETURN(SpareSegment spare,
                       MakeSpare(disk_, folder_, NextSpareName(), segment_size_));
      spares_.push_back(std::move(spare));
    }
  } else if (spares_.empty()) {
    ASSIGN_OR_RETURN(SpareSegment spare, MakeSpare(disk_, folder_, NextSpareName(), segment_size_));
    spares_.push_back(std::move(spare));
  }
  promised_ = promised;
  return Status::Ok();
}

Bytes SegmentLog::room() const {
  uint64_t room = active_.size - active_.end;
  for (const SpareSegment& spare : spares_) room += Capacity(spare.size);
  return {room};
}

bool SegmentLog::wants_spare() const {
  size_t wanted = active_.end > active_.size / 2 ? kMostSpares : 1;
  return spares_.size() < wanted;
}

std::string SegmentLog::NextSpareName() { return SpareName(++spare_number_); }

std::vector<std::string> SegmentLog::ForgetUpTo(uint64_t position) {
  std::vector<std::string> names;
  while (firsts_.size() > 1 && firsts_[1] <= position + 1) {
    names.push_back(SegmentName(firsts_.front()));
    firsts_.pop_front();
  }
  return names;
}

std::vector<std::string> SegmentLog::DropExcessSpares() {
  std::vector<std::string> names;
  while (spares_.size() > kMostSpares) {
    auto largest = std::max_element(spares_.begin(), spares_.end(),
                                    [](const auto& a, const auto& b) { return a.size < b.size; });
    names.push_back(largest->name);
    spares_.erase(largest);
  }
  return names;
}

std::vector<std::string> SegmentLog::ForgetAll() {
  std::vector<std::string> names;
  names.reserve(firsts_.size() + spares_.size());
  for (uint64_t first : firsts_) names.push_back(SegmentName(first));
  for (const SpareSegment& spare : spares_) names.push_back(spare.name);
  firsts_.clear();
  spares_.clear();
  return names;
}

}  // namespace muster::store
