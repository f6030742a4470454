// zstd, for snapshots and the archive.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace muster::store {

std::string Compress(std::string_view bytes);
// kDataLoss on anything that Compress did not make, or that would be longer than `limit`.
Result<std::string> Decompress(std::string_view compressed, Bytes limit);

}  // namespace muster::store
