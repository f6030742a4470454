// Reads what keeper and executor printed, while it is written and after.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backends/local/launch_folder.h"
#include "base/unique_fd.h"

namespace muster::local {

class ExecutorLogReader final : public LogReader {
 public:
  ExecutorLogReader(LaunchFolder folder, uint64_t offset)
      : folder_(std::move(folder)), offset_(offset) {}
  // Once opened, the log can be read to its end even after Forget.
  Result<LogChunk> Read(size_t max_bytes, const CallContext& call) override;

 private:
  LaunchFolder folder_;
  uint64_t offset_;
  UniqueFd file_;
};

}  // namespace muster::local
