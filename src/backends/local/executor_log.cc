#include "backends/local/executor_log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace muster::local {

Result<LogChunk> ExecutorLogReader::Read(size_t max_bytes, const CallContext&) {
  LogChunk chunk;
  chunk.next_offset = offset_;
  // Before reading: what ends after this look may have written more.
  ASSIGN_OR_RETURN(LaunchEvidence seen, folder_.Look());
  const LaunchStage stage = DecideStage(seen);
  const bool may_write = stage == LaunchStage::kStarting || stage == LaunchStage::kRunning ||
                         stage == LaunchStage::kKeeperLost;
  if (!file_.valid()) {
    file_.Reset(::open(folder_.log_path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_.valid() && errno != ENOENT) return ErrnoError("open " + folder_.log_path(), errno);
  }
  if (!file_.valid()) {
    chunk.kind = may_write ? LogChunk::Kind::kNotYet : LogChunk::Kind::kGone;
    return chunk;
  }
  chunk.bytes.resize(max_bytes);
  ssize_t size = ::pread(file_.get(), chunk.bytes.data(), max_bytes, static_cast<off_t>(offset_));
  if (size < 0) return ErrnoError("read " + folder_.log_path(), errno);
  chunk.bytes.resize(static_cast<size_t>(size));
  offset_ += static_cast<uint64_t>(size);
  chunk.next_offset = offset_;
  chunk.kind = size > 0    ? LogChunk::Kind::kBytes
               : may_write ? LogChunk::Kind::kNotYet
                           : LogChunk::Kind::kEnd;
  return chunk;
}

}  // namespace muster::local
