#include "process/segment_format.h"

#include <charconv>

#include "base/hash.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "muster-segment-1";
constexpr uint8_t kLastFlag = 1;

template <typename T>
void Put(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof value; ++i) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
}

template <typename T>
T Take(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof(T));
  return static_cast<T>(value);
}

std::string Path(const std::string& folder, uint64_t number, const char* ending) {
  return fmt::format("{}/{:06}.{}", folder, number, ending);
}

}  // namespace

std::string SegmentHeader() {
  std::string header(kMagic);
  header.resize(kSegmentHeaderSize, '\0');
  return header;
}

bool IsSegmentHeader(std::string_view bytes) { return bytes == SegmentHeader(); }

void AppendTo(std::string& bytes, const SegmentEntry& entry) {
  const size_t start = bytes.size();
  Put(bytes, entry.attempt.task.job.number);
  Put(bytes, entry.attempt.task.number);
  Put(bytes, entry.attempt.n);
  Put(bytes, entry.position);
  Put(bytes, entry.file_offset);
  Put(bytes, entry.dropped);
  Put(bytes, entry.time.us);
  Put(bytes, entry.length);
  Put(bytes, static_cast<uint8_t>(entry.stream));
  Put(bytes, entry.is_last ? kLastFlag : uint8_t{0});
  Put(bytes, uint16_t{0});
  Put(bytes, entry.data_crc);
  Put(bytes, Crc32c(std::string_view(bytes).substr(start)));
}

std::optional<SegmentEntry> ParseSegmentEntry(std::string_view bytes) {
  if (bytes.size() != kSegmentEntrySize) return std::nullopt;
  uint32_t own_crc = Crc32c(bytes.substr(0, kSegmentEntrySize - sizeof(uint32_t)));
  SegmentEntry entry;
  entry.attempt.task.job.number = Take<uint64_t>(bytes);
  entry.attempt.task.number = Take<uint32_t>(bytes);
  entry.attempt.n = Take<uint32_t>(bytes);
  entry.position = Take<uint64_t>(bytes);
  entry.file_offset = Take<uint64_t>(bytes);
  entry.dropped = Take<uint64_t>(bytes);
  entry.time.us = Take<int64_t>(bytes);
  entry.length = Take<uint32_t>(bytes);
  auto stream = Take<uint8_t>(bytes);
  entry.stream = static_cast<OutputStream>(stream);
  entry.is_last = (Take<uint8_t>(bytes) & kLastFlag) != 0;
  Take<uint16_t>(bytes);
  entry.data_crc = Take<uint32_t>(bytes);
  bool known_stream = stream >= 1 && stream <= 3;
  if (Take<uint32_t>(bytes) != own_crc || !known_stream || entry.length > kMostEntryBytes) {
    return std::nullopt;
  }
  return entry;
}

std::string SegmentDataPath(const std::string& folder, uint64_t number) {
  return Path(folder, number, "out");
}

std::string SegmentIndexPath(const std::string& folder, uint64_t number) {
  return Path(folder, number, "idx");
}

std::optional<uint64_t> ParseSegmentIndexName(std::string_view name) {
  if (!name.ends_with(".idx")) return std::nullopt;
  name.remove_suffix(4);
  uint64_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace muster
