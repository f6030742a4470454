// From what a cluster says of an ended launch to the word we use for it. Pure; each kind brings its
// own table of the cluster's words, this file the rules.
#pragma once

#include <span>
#include <string_view>

#include "model/end_reason.h"
#include "model/launch.h"

namespace muster {

// A launch whose raw reason contains `words` (as whole words, whatever their case) ended for
// `kind`.
struct EndRule {
  std::string_view words;
  EndKind kind;
};

// Words that mean the same in every cluster.
std::span<const EndRule> CommonEndRules();

// The end of a launch that was observed as kEnded, or as kAbsent by a confirmed look:
//  - not confirmed: kUnknown, whatever the rest says;
//  - the first of `rules`, then of CommonEndRules(), whose words are in the raw reason;
//  - the exit: code 0 kOk, other codes kFailed, signals kSignal. 137 and 143 alone mean nothing
//  more
//    than the code they are;
//  - else kUnknown. Unknown is never success.
// The cluster's own words are kept in `detail`.
EndReason DecideLaunchEnd(const LaunchObservation& observation,
                          std::span<const EndRule> rules = {});

}  // namespace muster
