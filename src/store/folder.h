// The names of the files of a store and the file that says what the folder is.
//
//     FORMAT                              "muster store", version, store id
//     lock                                held by the one process that owns the store
//     journal-00000000000000000042.seg    records from position 42 on
//     spare-7.seg                         reserved space for the next segment
//     snapshot-00000000000000000041.snap  everything up to position 41
//     archive.sqlite                      ended jobs
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/disk.h"

namespace muster::store {

std::string SegmentName(uint64_t first);
std::string SnapshotName(uint64_t position);
std::string SpareName(uint64_t number);
inline constexpr std::string_view kTemporarySuffix = ".tmp";

// What lies in the folder, in order of position. Files that are none of ours are left out.
struct FolderContent {
  std::vector<uint64_t> segments;
  std::vector<uint64_t> snapshots;
  std::vector<std::string> leftovers;  // spares and half-written files
};
Result<FolderContent> ListFolder(Disk& disk, const std::string& folder);

// The store id of the folder; nothing if it holds no store yet. A newer format is refused by name.
Result<std::optional<std::string>> ReadFormat(Disk& disk, const std::string& folder);
// Makes the folder a store. Durable when it returns.
Status WriteFormat(Disk& disk, const std::string& folder, const std::string& store_id);

// Writes a new file, syncs it and gives it its name; durable when it returns.
Status WriteWholeFile(Disk& disk, const std::string& folder, const std::string& name,
                      std::string_view bytes);

// `error` met on opening the store in `folder` to write: adds what to do about a full or read-only
// disk.
Error ExplainDiskError(Error error, const std::string& folder);

}  // namespace muster::store
