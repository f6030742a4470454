#include "server/output_source.h"

#include <fmt/format.h>

#include <utility>

namespace muster::server {

OutputSource::OutputSource(Loop& loop) : loop_(loop), pool_("output", 1, 100'000) {}

OutputSource::~OutputSource() { pool_.Drain(); }

void OutputSource::Read(const control::OutputPlace& place, std::optional<OutputStream> stream,
                        uint64_t offset, size_t max_bytes,
                        std::function<void(Result<OutputChunk>)> done) {
  auto shared = std::make_shared<std::function<void(Result<OutputChunk>)>>(std::move(done));
  auto posted = pool_.Post([this, place, stream, offset, max_bytes, shared,
                            alive = std::weak_ptr<bool>(alive_)] {
    auto chunk = std::make_shared<Result<OutputChunk>>(ReadNow(place, stream, offset, max_bytes));
    loop_.Post([shared, chunk, alive] {
      if (alive.lock()) (*shared)(std::move(*chunk));
    });
  });
  if (!posted.ok()) (*shared)(std::move(posted).error());
}

Result<OutputChunk> OutputSource::ReadNow(const control::OutputPlace& place,
                                          std::optional<OutputStream> stream, uint64_t offset,
                                          size_t max_bytes) {
  if (place.dir.empty()) {
    return Error{ErrorCode::kNotFound, ErrorOwner::kUs,
                 fmt::format("the folder with the output of {} is not known", Render(place.attempt)),
                 ""};
  }
  auto it = readers_.find(place.dir);
  if (it == readers_.end()) {
    ASSIGN_OR_RETURN(SegmentReader reader, SegmentReader::Open(place.dir));
    it = readers_.emplace(place.dir, std::move(reader)).first;
  }
  SegmentReader& reader = it->second;
  // What is known whole needs no look at the disk.
  auto known = reader.Find(place.attempt);
  if (!known || !known->complete) RETURN_IF_ERROR(reader.Refresh());
  ASSIGN_OR_RETURN(auto read, reader.Read(place.attempt, stream, offset, max_bytes));
  OutputChunk chunk;
  chunk.bytes = std::move(read.bytes);
  chunk.next_offset = read.next_offset;
  chunk.gone = read.next == SegmentReader::Next::kGone;
  chunk.at_end = read.next == SegmentReader::Next::kEnd || chunk.gone ||
                 (read.next == SegmentReader::Next::kNotYet && place.attempt_ended);
  return chunk;
}

}  // namespace muster::server
