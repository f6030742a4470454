#include "store/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "store/record.h"

namespace muster::store {
namespace {

constexpr std::string_view kFormatName = "FORMAT";
constexpr std::string_view kFormatTitle = "muster store";
constexpr size_t kPositionDigits = 20;

// "journal-00000000000000000042.seg" -> 42.
std::optional<uint64_t> PositionIn(std::string_view name, std::string_view prefix,
                                   std::string_view suffix) {
  if (name.size() != prefix.size() + kPositionDigits + suffix.size()) return std::nullopt;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  uint64_t position = 0;
  const char* begin = name.data() + prefix.size();
  auto [end, error] = std::from_chars(begin, begin + kPositionDigits, position);
  if (error != std::errc() || end != begin + kPositionDigits) return std::nullopt;
  return position;
}

// The rest of the line that begins with `key`.
std::string_view LineAfter(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return "";
  std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find('\n'));
}

}  // namespace

std::string SegmentName(uint64_t first) { return fmt::format("journal-{:020}.seg", first); }
std::string SnapshotName(uint64_t position) {
  return fmt::format("snapshot-{:020}.snap", position);
}
std::string SpareName(uint64_t number) { return fmt::format("spare-{}.seg", number); }

Result<FolderContent> ListFolder(Disk& disk, const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, disk.List(folder));
  FolderContent content;
  for (const std::string& name : names) {
    if (auto first = PositionIn(name, "journal-", ".seg")) {
      content.segments.push_back(*first);
    } else if (auto position = PositionIn(name, "snapshot-", ".snap")) {
      content.snapshots.push_back(*position);
    } else if (name.starts_with("spare-") || name.ends_with(kTemporarySuffix)) {
      content.leftovers.push_back(name);
    }
  }
  return content;
}

Result<std::optional<std::string>> ReadFormat(Disk& disk, const std::string& folder) {
  std::string path = fmt::format("{}/{}", folder, kFormatName);
  Result<std::string> text = disk.Read(path);
  if (!text.ok() && text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!text.ok()) return std::move(text).error();
  std::string_view version_text = LineAfter(*text, "\nversion ");
  uint32_t version = 0;
  std::from_chars(version_text.data(), version_text.data() + version_text.size(), version);
  if (!text->starts_with(kFormatTitle) || version == 0) {
    return OperatorError(
        ErrorCode::kDataLoss,
        fmt::format("{} is not that of a muster store: restore it from a backup or "
                    "choose another state folder",
                    path));
  }
  if (version > kFormatVersion) {
    return OperatorError(
        ErrorCode::kUnimplemented,
        fmt::format("the store in {} has format version {}, this muster reads up to "
                    "{}: use a newer muster",
                    folder, version, kFormatVersion));
  }
  std::string id(LineAfter(*text, "\nid "));
  if (id.size() != 36) {
    return OperatorError(ErrorCode::kDataLoss,
                         fmt::format("{} holds no store id: restore it from a backup", path));
  }
  return std::optional<std::string>(std::move(id));
}

Status WriteFormat(Disk& disk, const std::string& folder, const std::string& store_id) {
  return WriteWholeFile(
      disk, folder, std::string(kFormatName),
      fmt::format("{}\nversion {}\nid {}\n", kFormatTitle, kFormatVersion, store_id));
}

Status WriteWholeFile(Disk& disk, const std::string& folder, const std::string& name,
                      std::string_view bytes) {
  std::string path = fmt::format("{}/{}", folder, name);
  std::string temporary = path + std::string(kTemporarySuffix);
  Status removed = disk.Remove(temporary);
  if (!removed.ok() && removed.error().code != ErrorCode::kNotFound) return removed;
  Status written = [&]() -> Status {
    ASSIGN_OR_RETURN(std::unique_ptr<DiskFile> file, disk.Create(temporary));
    RETURN_IF_ERROR(file->Reserve({bytes.size()}));
    std::array<std::string_view, 1> pieces{bytes};
    RETURN_IF_ERROR(file->WriteAt(0, pieces));
    return file->Sync();
  }();
  if (!written.ok()) {
    [[maybe_unused]] Status tidied = disk.Remove(temporary);  // the first error is what matters
    return written;
  }
  RETURN_IF_ERROR(disk.Rename(temporary, path));
  return disk.SyncFolder(folder);
}

Error ExplainDiskError(Error error, const std::string& folder) {
  if (error.code == ErrorCode::kResourceExhausted) {
    error.message +=
        fmt::format("; the disk is full: make room in {} or choose another state folder", folder);
  } else if (error.code == ErrorCode::kPermissionDenied) {
    error.message += fmt::format(
        "; the state folder {} cannot be written: make it writable or choose another", folder);
  }
  return error;
}

}  // namespace muster::store
