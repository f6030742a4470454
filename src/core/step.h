// Decide: inputs and time become facts and effects. The only place where anything is chosen.
//
//     core::State state;
//     core::Facts facts;
//     core::Effects effects;
//     core::Step(state, {&input, 1}, now, facts, effects);
//     // journal facts; then carry out effects
//
// Decides and applies input by input, so that later inputs see earlier facts; after the last input it
// places Ready tasks on executors with room and asks for launches. Pure: no I/O, no clock, no randomness
// (jitter is a hash of store id, task and attempt), never throws. Called on the core thread only.
#pragma once

#include <optional>
#include <span>

#include "base/clock.h"
#include "core/effect.h"
#include "core/fact.h"
#include "core/input.h"
#include "core/state.h"

namespace muster::core {

// Appends to `facts` and `effects`; every appended fact has been applied to `state`.
void Step(State& state, std::span<const Input> inputs, Now now, Facts& facts, Effects& effects);

// When the next Tick has something to do, if ever: the earliest retry, lease or idle end.
std::optional<WallTime> NextDue(const State& state, Now now);

}  // namespace muster::core
