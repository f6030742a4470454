#include "server/output_source.h"

#include <utility>

namespace muster::server {

OutputSource::OutputSource(Loop& loop) : loop_(loop), pool_("output", 1, 10'000) {}

OutputSource::~OutputSource() { pool_.Drain(); }

SegmentReader* OutputSource::ReaderOf(const std::string& dir) {
  auto it = readers_.find(dir);
  if (it == readers_.end()) it = readers_.emplace(dir, std::make_unique<SegmentReader>(dir)).first;
  return it->second.get();
}

}  // namespace muster::server
