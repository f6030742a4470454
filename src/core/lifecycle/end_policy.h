// From the evidence of an end to its reason. Pure.
#pragma once

#include "model/end_reason.h"
#include "model/exit_facts.h"

namespace muster::core {

// Our own act comes first when it was the cause (time limit, cancel, drain), then how the process ended.
// A result that came before our signal carries no stop cause and stands.
EndReason DecideEnd(const ExitFacts& facts);

}  // namespace muster::core
