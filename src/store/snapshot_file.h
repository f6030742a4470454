// A snapshot: everything up to a position in one file, as chunks of bytes, compressed. It gets its
// name only when it is whole and on the disk. Blocking; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/disk.h"
#include "store/record.h"

namespace muster::store {

// Durable when it returns. `header.first` is the position it stands for.
Status WriteSnapshot(Disk& disk, const std::string& folder, const FileHeader& header,
                     const std::vector<std::string>& chunks);

// Hands the chunks over in order. kDataLoss with the file and what to do if it is not whole.
Result<FileHeader> ReadSnapshot(Disk& disk, const std::string& folder, uint64_t position,
                                const std::string& store_id,
                                const std::function<Status(std::string_view)>& visit);

}  // namespace muster::store
