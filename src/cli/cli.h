// The command line: reads words, loads configuration, calls a verb.
#pragma once

#include "cli/hooks.h"

namespace muster::cli {

inline constexpr const char* kVersion = "0.1.0";

// Returns the exit code. Never throws.
int RunCli(int argc, char** argv, const Hooks& hooks);

}  // namespace muster::cli
