// The machine's own files. Stateless; every call blocks as long as the disk does.
#pragma once

#include "store/disk.h"

namespace muster::store {

Disk& SystemDisk();

}  // namespace muster::store
