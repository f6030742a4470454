// Reads the output of attempts from segments, off the core thread.
//
// Questions are asked and answered on the loop's thread; files are read on one thread of its own. Owned by
// ApiServer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/worker_pool.h"
#include "control/service.h"
#include "process/segment_reader.h"

namespace muster::server {

struct OutputChunk {
  std::string bytes;
  uint64_t next_offset = 0;
  // Nothing more will come: the attempt ended and all was read, or what was kept is gone.
  bool at_end = false;
  bool gone = false;
};

class OutputSource {
 public:
  explicit OutputSource(Loop& loop);
  ~OutputSource();

  // Up to `max_bytes` of one stream of the attempt from `offset`, or, without a stream, of all in the order
  // in which they came. An empty chunk that is not at_end means "not yet".
  void Read(const control::OutputPlace& place, std::optional<OutputStream> stream, uint64_t offset,
            size_t max_bytes, std::function<void(Result<OutputChunk>)> done);

 private:
  Result<OutputChunk> ReadNow(const control::OutputPlace& place,
                              std::optional<OutputStream> stream, uint64_t offset, size_t max_bytes);

  Loop& loop_;
  // Only touched on the pool's one thread.
  std::map<std::string, SegmentReader> readers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  WorkerPool pool_;
};

}  // namespace muster::server
