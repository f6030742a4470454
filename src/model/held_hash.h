// The hash that a heartbeat carries: the xor of HeldHash over everything an executor holds (sent,
// starting, running or stopping; not what has finished). Executor and core must compute it alike.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/ids.h"

namespace muster {

inline uint64_t HeldHash(AttemptId attempt, uint32_t send) {
  uint64_t job = HashCombine(attempt.task.job.number, attempt.task.number);
  return HashCombine(job, (uint64_t{attempt.n} << 32) | send);
}

}  // namespace muster
