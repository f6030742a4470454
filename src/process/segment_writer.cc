#include "process/segment_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace muster {
namespace {

constexpr size_t kWriteAt = 256 << 10;

size_t IndexOf(OutputStream stream) { return static_cast<size_t>(stream) - 1; }

// How much was written; less than asked only if `error_number` is set.
size_t WriteAll(int fd, std::string_view bytes, uint64_t offset, int& error_number) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t size =
        ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      error_number = size < 0 ? errno : ENOSPC;
      return done;
    }
    done += static_cast<size_t>(size);
  }
  return done;
}

// Frees what a failed write left; if it cannot, the next write goes over it.
void CutTo(int fd, uint64_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return;
}

}  // namespace

Result<SegmentWriter> SegmentWriter::Open(std::string folder, Limits limits, const Clock& clock) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError(fmt::format("make the output folder {}", folder), error.value());
  SegmentWriter writer(std::move(folder), limits, clock);
  std::vector<uint64_t> numbers;
  std::filesystem::directory_iterator entries(writer.folder_, error);
  if (error) {
    return ErrnoError(fmt::format("list the output folder {}", writer.folder_), error.value());
  }
  for (const auto& entry : entries) {
    auto number = ParseSegmentIndexName(entry.path().filename().string());
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  for (uint64_t number : numbers) {
    struct stat found{};
    if (::stat(SegmentDataPath(writer.folder_, number).c_str(), &found) != 0) continue;
    writer.segments_.push_back({number, static_cast<uint64_t>(found.st_size)});
  }
  if (!numbers.empty()) writer.last_number_ = numbers.back();
  return writer;
}

void SegmentWriter::Append(AttemptId attempt, OutputStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  AttemptState& state = attempts_[attempt];
  uint64_t room = limits_.attempt.value - std::min(limits_.attempt.value, state.kept);
  size_t kept = state.finished ? 0 : static_cast<size_t>(std::min<uint64_t>(room, bytes.size()));
  if (kept > 0) AppendKept(attempt, state, stream, bytes.substr(0, kept));
  uint64_t dropped = bytes.size() - kept;
  state.dropped += dropped;
  state.dropped_unsaid[IndexOf(stream)] += dropped;
  dropped_ += dropped;
  if (data_.size() >= kWriteAt) Flush().ok();  // what fails is counted
}

void SegmentWriter::AppendKept(AttemptId attempt, AttemptState& state, OutputStream stream,
                               std::string_view bytes) {
  state.kept += bytes.size();
  while (!bytes.empty()) {
    bool extends = !waiting_.empty() && waiting_.back().attempt == attempt &&
                   waiting_.back().stream == stream && waiting_.back().length < kMostEntryBytes &&
                   state.dropped_unsaid[IndexOf(stream)] == 0;
    SegmentEntry& entry = extends ? waiting_.back() : AddEntry(attempt, state, stream);
    size_t size = std::min<size_t>(bytes.size(), kMostEntryBytes - entry.length);
    data_.append(bytes.substr(0, size));
    entry.length += static_cast<uint32_t>(size);
    state.position[IndexOf(stream)] += size;
    bytes.remove_prefix(size);
  }
}

SegmentEntry& SegmentWriter::AddEntry(AttemptId attempt, AttemptState& state, OutputStream stream) {
  SegmentEntry entry;
  entry.attempt = attempt;
  entry.stream = stream;
  entry.position = state.position[IndexOf(stream)];
  entry.dropped = std::exchange(state.dropped_unsaid[IndexOf(stream)], 0);
  entry.time = clock_->Read().wall;
  state.flush = flushes_;
  state.last_waiting = waiting_.size();
  waiting_.push_back(entry);
  return waiting_.back();
}

void SegmentWriter::AddLastEntry(AttemptId attempt, AttemptState& state) {
  for (OutputStream stream :
       {OutputStream::kStdout, OutputStream::kStderr, OutputStream::kExecutor}) {
    if (state.dropped_unsaid[IndexOf(stream)] != 0) AddEntry(attempt, state, stream);
  }
  if (state.flush != flushes_) AddEntry(attempt, state, OutputStream::kExecutor);
  waiting_[state.last_waiting].is_last = true;
}

uint64_t SegmentWriter::Finish(AttemptId attempt) {
  AttemptState& state = attempts_[attempt];
  if (!state.finished) AddLastEntry(attempt, state);
  state.finished = true;
  return state.dropped;
}

Status SegmentWriter::Flush() {
  if (waiting_.empty()) return Status::Ok();
  if (Status opened = OpenSegmentIfNeeded(); !opened.ok()) {
    AfterWrite(0);
    return opened;
  }
  encoded_.clear();
  size_t at = 0;
  for (SegmentEntry& entry : waiting_) {
    entry.file_offset = data_size_ + at;
    entry.data_crc = Crc32c(std::string_view(data_).substr(at, entry.length));
    at += entry.length;
    AppendTo(encoded_, entry);
  }
  int error_number = 0;
  size_t entries = 0;
  if (WriteAll(data_file_.get(), data_, data_size_, error_number) == data_.size()) {
    size_t size = WriteAll(index_file_.get(), encoded_, index_size_, error_number);
    entries = size / kSegmentEntrySize;
  }
  // Readers may have seen whole entries: those stay, and so do their bytes.
  index_size_ += entries * kSegmentEntrySize;
  if (entries > 0) data_size_ += data_.size();
  segments_.back().size = data_size_;
  if (error_number != 0) {
    CutTo(index_file_.get(), index_size_);
    CutTo(data_file_.get(), data_size_);
  }
  AfterWrite(entries);
  if (error_number == 0) return Status::Ok();
  return ErrnoError(fmt::format("write output to {}", SegmentDataPath(folder_, last_number_)),
                    error_number);
}

void SegmentWriter::AfterWrite(size_t written) {
  std::vector<SegmentEntry> entries = std::move(waiting_);
  waiting_.clear();
  data_.clear();
  ++flushes_;
  std::vector<AttemptId> unsaid_ends;
  for (size_t i = 0; i < entries.size(); ++i) {
    const SegmentEntry& entry = entries[i];
    auto found = attempts_.find(entry.attempt);
    if (i < written) {
      if (entry.is_last) attempts_.erase(found);
      continue;
    }
    AttemptState& state = found->second;
    state.position[IndexOf(entry.stream)] -= entry.length;
    state.kept -= entry.length;
    state.dropped += entry.length;
    state.dropped_unsaid[IndexOf(entry.stream)] += entry.length + entry.dropped;
    dropped_ += entry.length;
    if (entry.is_last) unsaid_ends.push_back(entry.attempt);
  }
  for (AttemptId attempt : unsaid_ends) AddLastEntry(attempt, attempts_[attempt]);
  if (waiting_.empty()) {
    entries.clear();
    waiting_ = std::move(entries);  // keeps its room
  }
}

Status SegmentWriter::OpenSegmentIfNeeded() {
  if (data_file_.valid() && data_size_ < limits_.segment.value) return Status::Ok();
  RETURN_IF_ERROR(BeginSegment());
  GiveUpOldSegments();
  return Status::Ok();
}

Status SegmentWriter::BeginSegment() {
  const uint64_t number = last_number_ + 1;
  auto create = [](const std::string& path, int flags) {
    return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600));
  };
  auto failed = [&](const std::string& path) {
    int error_number = errno;
    ::unlink(SegmentDataPath(folder_, number).c_str());
    ::unlink(SegmentIndexPath(folder_, number).c_str());
    return ErrnoError(fmt::format("create output file {}", path), error_number);
  };
  // The data first: an index without data means "given up". Data without an index is what a crash
  // at this place left.
  UniqueFd data = create(SegmentDataPath(folder_, number), O_TRUNC);
  if (!data.valid()) return failed(SegmentDataPath(folder_, number));
  UniqueFd index = create(SegmentIndexPath(folder_, number), O_EXCL);
  if (!index.valid()) return failed(SegmentIndexPath(folder_, number));
  const std::string header = SegmentHeader();
  int error_number = 0;
  if (WriteAll(index.get(), header, 0, error_number) != header.size()) {
    errno = error_number;
    return failed(SegmentIndexPath(folder_, number));
  }
  last_number_ = number;
  data_file_ = std::move(data);
  index_file_ = std::move(index);
  data_size_ = 0;
  index_size_ = header.size();
  segments_.push_back({number, 0});
  return Status::Ok();
}

void SegmentWriter::GiveUpOldSegments() {
  if (limits_.total.value == 0) return;
  uint64_t total = 0;
  for (const Segment& segment : segments_) total += segment.size;
  while (segments_.size() > 1 && total + limits_.segment.value > limits_.total.value) {
    total -= segments_.front().size;
    ::unlink(SegmentDataPath(folder_, segments_.front().number).c_str());
    segments_.pop_front();
  }
}

}  // namespace muster
