#include "store/snapshot_file.h"

#include <fmt/format.h>

#include "store/compress.h"
#include "store/folder.h"

namespace muster::store {
namespace {

constexpr Bytes kLargestChunk{kLargestPayload};

void AppendRecord(std::string& file, uint64_t number, const FileHeader& header,
                  std::string_view payload) {
  auto bytes = RenderRecordHeader({number, 0, header.epoch, payload}, header.salt);
  file.append(bytes.data(), bytes.size());
  file.append(payload);
  file.append(RecordPadding(payload.size()));
}

}  // namespace

Status WriteSnapshot(Disk& disk, const std::string& folder, const FileHeader& header,
                     const std::vector<std::string>& chunks) {
  auto head = RenderHeader(header);
  std::string file(head.data(), head.size());
  uint64_t number = 0;
  for (const std::string& chunk : chunks) {
    if (chunk.empty()) continue;
    AppendRecord(file, ++number, header, Compress(chunk));
  }
  AppendRecord(file, ++number, header, "");  // the end
  return WriteWholeFile(disk, folder, SnapshotName(header.first), file);
}

Result<FileHeader> ReadSnapshot(Disk& disk, const std::string& folder, uint64_t position,
                                const std::string& store_id,
                                const std::function<Status(std::string_view)>& visit) {
  std::string path = fmt::format("{}/{}", folder, SnapshotName(position));
  auto damaged = [&](uint64_t offset, std::string_view what) {
    return OperatorError(
        ErrorCode::kDataLoss,
        fmt::format("{} is damaged at byte {} ({}): restore the folder from a backup", path, offset,
                    what));
  };
  ASSIGN_OR_RETURN(std::string file, disk.Read(path));
  Result<FileHeader> header = ParseHeader(file);
  if (!header.ok()) return std::move(header).WithContext("read " + path);
  if (header->kind != FileKind::kSnapshot || header->first != position) {
    return damaged(0, "it is another file under this name");
  }
  if (header->store_id != store_id) return damaged(0, "it belongs to store " + header->store_id);
  RecordReader reader(file, header->salt);
  for (uint64_t number = 1;; ++number) {
    uint64_t offset = reader.offset();
    std::optional<Record> record = reader.Next();
    if (!record || record->position != number)
      return damaged(offset, "a chunk does not match its sum");
    if (record->payload.empty()) return header;
    Result<std::string> chunk = Decompress(record->payload, kLargestChunk);
    if (!chunk.ok()) return damaged(offset, chunk.error().message);
    Status visited = visit(*chunk);
    if (!visited.ok()) return std::move(visited).WithContext("read " + path).error();
  }
}

}  // namespace muster::store
