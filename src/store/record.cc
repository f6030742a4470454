#include "store/record.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace muster::store {
namespace {

constexpr size_t kMagicSize = 8;
constexpr size_t kStoreIdSize = 36;
constexpr std::string_view kJournalMagic = "MUSTERJ\n";
constexpr std::string_view kSnapshotMagic = "MUSTERS\n";
constexpr size_t kVersionAt = 8;
constexpr size_t kSaltAt = 16;
constexpr size_t kFirstAt = 24;
constexpr size_t kEpochAt = 32;
constexpr size_t kStoreIdAt = 40;
constexpr size_t kHeaderCrcAt = 76;

constexpr size_t kPayloadCrcAt = 4;
constexpr size_t kLengthAt = 8;
constexpr size_t kRecordEpochAt = 12;
constexpr size_t kPositionAt = 16;
constexpr size_t kDurableAt = 24;

template <typename T>
void Put(char* to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<char>(value >> (8 * i));
}
template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

uint32_t Seed(uint64_t salt) { return static_cast<uint32_t>(Mix64(salt)); }

}  // namespace

std::array<char, kFileHeaderSize> RenderHeader(const FileHeader& header) {
  CHECK(header.store_id.size() == kStoreIdSize);
  std::array<char, kFileHeaderSize> bytes{};
  std::string_view magic = header.kind == FileKind::kJournal ? kJournalMagic : kSnapshotMagic;
  std::memcpy(bytes.data(), magic.data(), kMagicSize);
  Put(bytes.data() + kVersionAt, header.version);
  Put(bytes.data() + kSaltAt, header.salt);
  Put(bytes.data() + kFirstAt, header.first);
  Put(bytes.data() + kEpochAt, header.epoch);
  std::memcpy(bytes.data() + kStoreIdAt, header.store_id.data(), kStoreIdSize);
  Put(bytes.data() + kHeaderCrcAt, Crc32c({bytes.data(), kHeaderCrcAt}));
  return bytes;
}

Result<FileHeader> ParseHeader(std::string_view file) {
  if (file.size() < kFileHeaderSize) {
    return OperatorError(ErrorCode::kDataLoss, "the file header is cut off");
  }
  FileHeader header;
  std::string_view magic = file.substr(0, kMagicSize);
  if (magic == kSnapshotMagic) {
    header.kind = FileKind::kSnapshot;
  } else if (magic != kJournalMagic) {
    return OperatorError(ErrorCode::kDataLoss, "the file does not begin like one of muster's");
  }
  header.version = Get<uint32_t>(file, kVersionAt);
  bool intact = Get<uint32_t>(file, kHeaderCrcAt) == Crc32c(file.substr(0, kHeaderCrcAt));
  if (!intact) return OperatorError(ErrorCode::kDataLoss, "the file header is damaged");
  if (header.version > kFormatVersion) {
    return OperatorError(
        ErrorCode::kUnimplemented,
        fmt::format("format version {}, this muster reads up to {}: use a newer one",
                    header.version, kFormatVersion));
  }
  header.salt = Get<uint64_t>(file, kSaltAt);
  header.first = Get<uint64_t>(file, kFirstAt);
  header.epoch = Get<uint64_t>(file, kEpochAt);
  header.store_id = file.substr(kStoreIdAt, kStoreIdSize);
  return header;
}

std::array<char, kRecordHeaderSize> RenderRecordHeader(const Record& record, uint64_t salt) {
  CHECK(record.payload.size() <= kLargestPayload && record.epoch <= UINT32_MAX);
  std::array<char, kRecordHeaderSize> bytes{};
  Put(bytes.data() + kPayloadCrcAt, Crc32c(record.payload));
  Put(bytes.data() + kLengthAt, static_cast<uint32_t>(record.payload.size()));
  Put(bytes.data() + kRecordEpochAt, static_cast<uint32_t>(record.epoch));
  Put(bytes.data() + kPositionAt, record.position);
  Put(bytes.data() + kDurableAt, record.durable);
  Put(bytes.data(),
      Crc32c({bytes.data() + kPayloadCrcAt, kRecordHeaderSize - kPayloadCrcAt}, Seed(salt)));
  return bytes;
}

std::string_view RecordPadding(uint64_t payload) {
  static constexpr std::string_view kZeros("\0\0\0\0\0\0\0", kRecordAlignment - 1);
  return kZeros.substr(0, RecordSize(payload) - kRecordHeaderSize - payload);
}

std::optional<Record> RecordReader::At(uint64_t offset) const {
  if (offset + kRecordHeaderSize > file_.size()) return std::nullopt;
  std::string_view header = file_.substr(offset, kRecordHeaderSize);
  if (Get<uint32_t>(header, 0) != Crc32c(header.substr(kPayloadCrcAt), Seed(salt_))) {
    return std::nullopt;
  }
  Record record{Get<uint64_t>(header, kPositionAt),
                Get<uint64_t>(header, kDurableAt),
                Get<uint32_t>(header, kRecordEpochAt),
                {}};
  auto length = Get<uint32_t>(header, kLengthAt);
  if (length > file_.size() - offset - kRecordHeaderSize) return std::nullopt;
  record.payload = file_.substr(offset + kRecordHeaderSize, length);
  if (Get<uint32_t>(header, kPayloadCrcAt) != Crc32c(record.payload)) return std::nullopt;
  return record;
}

std::optional<Record> RecordReader::Next() {
  std::optional<Record> record = At(offset_);
  if (record) offset_ += RecordSize(record->payload.size());
  return record;
}

std::optional<Record> RecordReader::Search() {
  for (uint64_t at = offset_ + kRecordAlignment; at + kRecordHeaderSize <= file_.size();
       at += kRecordAlignment) {
    std::optional<Record> record = At(at);
    if (!record) continue;
    offset_ = at + RecordSize(record->payload.size());
    return record;
  }
  return std::nullopt;
}

bool RecordReader::AtUnwritten() const {
  if (offset_ >= file_.size()) return true;
  return file_.find_first_not_of('\0', offset_) == std::string_view::npos;
}

}  // namespace muster::store
