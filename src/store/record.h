// The bytes of journal and snapshot files: one header, then records. Pure; little endian.
//
//     header  magic 8 · version 4 · zero 4 · salt 8 · first position 8 · epoch 8 · store id 36 ·
//     CRC-32C 4 record  CRC-32C of the next 28 · CRC-32C of the payload 4 · length 4 · epoch 4 ·
//     position 8 · durable 8
//             · payload · zeros up to a multiple of 8
//
// The first CRC starts from the file's salt, so that neither bytes of another file nor a journal
// quoted in a payload can pass for a record. `durable` is the highest position known to be on the
// disk when the record was written: it is what tells a torn tail from damage.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::store {

// The version of every file of a store that this program writes.
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kFileHeaderSize = 80;
inline constexpr size_t kRecordHeaderSize = 32;
inline constexpr size_t kRecordAlignment = 8;
inline constexpr uint64_t kLargestPayload = uint64_t{1} << 31;

enum class FileKind : uint8_t { kJournal, kSnapshot };

struct FileHeader {
  FileKind kind = FileKind::kJournal;
  uint32_t version = kFormatVersion;
  uint64_t salt = 0;
  uint64_t first = 0;  // journal: position of its first record; snapshot: position it stands for
  uint64_t epoch = 0;
  std::string store_id;  // 36 characters
  friend bool operator==(const FileHeader&, const FileHeader&) = default;
};
std::array<char, kFileHeaderSize> RenderHeader(const FileHeader& header);
// kUnimplemented: a newer version, named in the message. kDataLoss: not a header.
Result<FileHeader> ParseHeader(std::string_view file);

struct Record {
  uint64_t position = 0;
  uint64_t durable = 0;
  uint64_t epoch = 0;  // below 2^32
  std::string_view payload;
};
std::array<char, kRecordHeaderSize> RenderRecordHeader(const Record& record, uint64_t salt);
// What a record with such a payload takes in a file.
constexpr uint64_t RecordSize(uint64_t payload) {
  return (kRecordHeaderSize + payload + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}
// The zeros behind the payload.
std::string_view RecordPadding(uint64_t payload);

// Walks the records of a file in memory.
class RecordReader {
 public:
  RecordReader(std::string_view file, uint64_t salt) : file_(file), salt_(salt) {}
  // The valid record at offset(), and moves behind it; nothing, and stays, if there is none.
  std::optional<Record> Next();
  // The next valid record behind offset(), wherever it begins.
  std::optional<Record> Search();
  uint64_t offset() const { return offset_; }
  // Nothing was ever written from offset() on.
  bool AtUnwritten() const;

 private:
  std::optional<Record> At(uint64_t offset) const;

  std::string_view file_;
  uint64_t salt_;
  uint64_t offset_ = kFileHeaderSize;
};

}  // namespace muster::store
