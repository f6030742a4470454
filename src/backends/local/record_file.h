// Small files of `key=value` lines, written whole or not at all. Values may hold any bytes: '%',
// line ends and other control characters stand as %0A.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::local {

class Record {
 public:
  void Add(std::string_view key, std::string_view value) { lines_.emplace_back(key, value); }
  void AddNumber(std::string_view key, uint64_t value) { Add(key, std::to_string(value)); }
  // The first of that key.
  std::optional<std::string_view> Find(std::string_view key) const;
  // kDataLoss if it is missing or no number.
  Result<uint64_t> GetNumber(std::string_view key) const;
  const std::vector<std::pair<std::string, std::string>>& lines() const { return lines_; }

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

std::string RenderRecord(const Record& record);
// Lines without '=' are kDataLoss; empty lines are skipped.
Result<Record> ParseRecord(std::string_view text);

// kNotFound if there is no such file.
Result<std::string> ReadWholeFile(const std::string& path);
// Mode 0600. By a temporary file beside it and a rename: readers see the old text or the new one.
Status WriteWholeFile(const std::string& path, std::string_view text);

}  // namespace muster::local
