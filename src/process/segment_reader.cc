#include "process/segment_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"

namespace muster {
namespace {

constexpr size_t kIndexReadAtOnce = 1 << 20;
static_assert(kIndexReadAtOnce % kSegmentEntrySize == 0);

size_t IndexOf(OutputStream stream) { return static_cast<size_t>(stream) - 1; }

Result<size_t> ReadAt(int fd, char* bytes, size_t size, uint64_t offset, const std::string& path) {
  size_t done = 0;
  while (done < size) {
    ssize_t got = ::pread(fd, bytes + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(fmt::format("read {}", path), errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

Result<SegmentReader> SegmentReader::Open(std::string folder) {
  return SegmentReader(std::move(folder));
}

Status SegmentReader::Refresh() {
  RETURN_IF_ERROR(FindSegments());
  for (auto& [number, segment] : segments_) {
    if (!segment.gone && ::access(SegmentDataPath(folder_, number).c_str(), F_OK) != 0) {
      segment.gone = errno == ENOENT;
      if (segment.gone) segment.data.Reset();
    }
    RETURN_IF_ERROR(ReadIndex(number, segment));
  }
  return Status::Ok();
}

Status SegmentReader::FindSegments() {
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder_.c_str()), &::closedir);
  if (dir == nullptr) {
    if (errno == ENOENT) return Status::Ok();
    return ErrnoError(fmt::format("list the output folder {}", folder_), errno);
  }
  while (const dirent* entry = ::readdir(dir.get())) {
    auto number = ParseSegmentIndexName(entry->d_name);
    if (number) segments_.try_emplace(*number);
  }
  return Status::Ok();
}

Status SegmentReader::ReadIndex(uint64_t number, Segment& segment) {
  const std::string path = SegmentIndexPath(folder_, number);
  if (!segment.index.valid()) {
    segment.index.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!segment.index.valid() && errno == ENOENT) return Status::Ok();
    if (!segment.index.valid()) return ErrnoError(fmt::format("open {}", path), errno);
  }
  std::string bytes;
  for (;;) {
    bytes.resize(kIndexReadAtOnce);
    ASSIGN_OR_RETURN(size_t size, ReadAt(segment.index.get(), bytes.data(), bytes.size(),
                                         segment.index_read, path));
    size -= size % kSegmentEntrySize;  // half an entry: being written, or torn for good
    for (size_t at = 0; at < size; at += kSegmentEntrySize) {
      std::string_view one = std::string_view(bytes).substr(at, kSegmentEntrySize);
      bool is_header = segment.index_read == 0 && at == 0;
      if (is_header && IsSegmentHeader(one)) continue;
      auto entry = is_header ? std::nullopt : ParseSegmentEntry(one);
      if (entry) {
        TakeEntry(number, *entry);
      } else {
        ++damaged_entries_;
      }
    }
    segment.index_read += size;
    if (size < kIndexReadAtOnce) return Status::Ok();
  }
}

void SegmentReader::TakeEntry(uint64_t number, const SegmentEntry& entry) {
  auto [found, is_new] = attempts_.try_emplace(entry.attempt);
  Attempt& attempt = found->second;
  AttemptOutput& output = attempt.output;
  if (is_new) output.first_time = entry.time;
  output.last_time = entry.time;
  output.dropped += entry.dropped;
  output.complete |= entry.is_last;
  uint64_t& kept = output.kept[IndexOf(entry.stream)];
  // A damaged entry before this one: its bytes are lost, and the stream closes up.
  uint64_t& lost = attempt.lost[IndexOf(entry.stream)];
  if (entry.position > kept + lost) {
    output.dropped += entry.position - kept - lost;
    lost = entry.position - kept;
  }
  if (entry.length == 0) return;
  Slice slice;
  slice.segment = number;
  slice.file_offset = entry.file_offset;
  slice.position = kept;
  slice.in_all = output.kept[0] + output.kept[1] + output.kept[2];
  slice.length = entry.length;
  slice.crc = entry.data_crc;
  slice.stream = entry.stream;
  attempt.slices.push_back(slice);
  kept += entry.length;
}

std::optional<SegmentReader::AttemptOutput> SegmentReader::Find(AttemptId attempt) const {
  auto found = attempts_.find(attempt);
  if (found == attempts_.end()) return std::nullopt;
  return found->second.output;
}

size_t SegmentReader::FindSlice(AttemptId attempt, const Attempt& found,
                                std::optional<OutputStream> stream, uint64_t offset) const {
  bool goes_on = cursor_.attempt == attempt && cursor_.stream == stream &&
                 cursor_.offset == offset && cursor_.slice <= found.slices.size();
  size_t at = goes_on ? cursor_.slice : 0;
  if (!goes_on && !stream) {
    auto after =
        std::upper_bound(found.slices.begin(), found.slices.end(), offset,
                         [](uint64_t wanted, const Slice& slice) { return wanted < slice.in_all; });
    at = static_cast<size_t>(after - found.slices.begin());
    if (at > 0) --at;
  }
  return at;
}

Result<SegmentReader::Chunk> SegmentReader::Read(AttemptId id, std::optional<OutputStream> stream,
                                                 uint64_t offset, size_t max_bytes) {
  Chunk chunk;
  chunk.next_offset = offset;
  auto found = attempts_.find(id);
  if (found == attempts_.end()) return chunk;
  const Attempt& attempt = found->second;
  const auto& kept = attempt.output.kept;
  const uint64_t total = stream ? kept[IndexOf(*stream)] : kept[0] + kept[1] + kept[2];
  size_t at = FindSlice(id, attempt, stream, offset);
  while (at < attempt.slices.size() && chunk.bytes.size() < max_bytes) {
    const Slice& slice = attempt.slices[at];
    const uint64_t end = StartOf(slice, stream) + slice.length;
    if ((stream && slice.stream != *stream) || end <= chunk.next_offset) {
      ++at;
      continue;
    }
    ASSIGN_OR_RETURN(std::optional<std::string> bytes, ReadSlice(slice));
    if (!bytes) {
      if (chunk.bytes.empty()) {
        chunk.next_offset = end;
        chunk.next = Next::kGone;
      } else {
        chunk.next = Next::kMore;
      }
      return chunk;
    }
    size_t skip = static_cast<size_t>(chunk.next_offset - StartOf(slice, stream));
    size_t size = std::min(bytes->size() - skip, max_bytes - chunk.bytes.size());
    chunk.bytes.append(*bytes, skip, size);
    chunk.next_offset += size;
    if (chunk.next_offset == end) ++at;
  }
  cursor_ = {id, stream, chunk.next_offset, at};
  if (chunk.next_offset < total) {
    chunk.next = Next::kMore;
  } else {
    chunk.next = attempt.output.complete ? Next::kEnd : Next::kNotYet;
  }
  return chunk;
}

Result<std::optional<std::string>> SegmentReader::ReadSlice(const Slice& slice) {
  using MaybeBytes = std::optional<std::string>;
  Segment& segment = segments_.at(slice.segment);
  const std::string path = SegmentDataPath(folder_, slice.segment);
  if (!segment.data.valid() && !segment.gone) {
    segment.data.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!segment.data.valid() && errno != ENOENT) {
      return ErrnoError(fmt::format("open {}", path), errno);
    }
    segment.gone = !segment.data.valid();
  }
  if (segment.gone) return MaybeBytes();
  std::string bytes(slice.length, '\0');
  ASSIGN_OR_RETURN(size_t size,
                   ReadAt(segment.data.get(), bytes.data(), bytes.size(), slice.file_offset, path));
  if (size != bytes.size() || Crc32c(bytes) != slice.crc) return MaybeBytes();
  return MaybeBytes(std::move(bytes));
}

}  // namespace muster
