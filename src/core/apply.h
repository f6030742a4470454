// Apply: a fact changes the state. Total (a fact that does not fit is a bug: it quarantines the one task
// in a release and aborts in tests), knows no policy, reads no clock; the same live and in replay.
#pragma once

#include <cstdint>
#include <functional>

#include "core/fact.h"
#include "core/state.h"

namespace muster::core {

void Apply(State& state, const Fact& fact);

// The facts that rebuild `state` from nothing: what a snapshot holds. Applying them gives an equal state
// (Fingerprint). With `job` only that job's: what the archive holds. Pieces of bounded size are handed to
// `sink` in order.
void DumpFacts(const State& state, const std::function<void(Facts&&)>& sink);
void DumpJob(const State& state, JobId job, const std::function<void(Facts&&)>& sink);

// A hash over everything that a restart must bring back; contact and configuration are left out.
uint64_t Fingerprint(const State& state);

}  // namespace muster::core
