// How big this machine is for us: what an executor on it may hand out.
#pragma once

#include "base/units.h"

namespace muster {

struct MachineSize {
  MilliCpu cpus{1000};
  Bytes memory;  // 0: not known
};

// Processors this process may use (affinity), and memory of the machine or, if it is less, the
// limit of the cgroup this process is in.
MachineSize ReadMachineSize();

}  // namespace muster
