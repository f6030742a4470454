#include "cli/job_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "wire/api_messages.h"

namespace muster::cli {
namespace {

std::optional<uint32_t> ToNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Error NotAnId(std::string_view text, std::string_view why) {
  return UserError(ErrorCode::kInvalidArgument,
                   fmt::format("'{}' is not an id: {}; ids look like j12, j12.500, j12.count.7, "
                               "j12.500#2, j12.1-20,30 or last",
                               text, why));
}

}  // namespace

Result<JobAddress> ParseJobAddress(std::string_view text) {
  JobAddress address;
  std::string_view rest = text;
  if (size_t hash = rest.rfind('#'); hash != std::string_view::npos) {
    address.attempt = ToNumber(rest.substr(hash + 1));
    if (!address.attempt || *address.attempt == 0) {
      return NotAnId(text, "behind '#' stands the attempt's number, from 1");
    }
    rest = rest.substr(0, hash);
  }
  size_t dot = rest.find('.');
  std::string_view job = rest.substr(0, dot);
  if (dot != std::string_view::npos) {
    address.task = std::string(rest.substr(dot + 1));
    if (address.task.empty()) return NotAnId(text, "behind the dot stands a task");
  }
  if (job == "last") {
    address.job = "last";
  } else {
    address.job = AllDigits(job) ? fmt::format("j{}", job) : std::string(job);
    if (auto id = ParseJobId(address.job); !id.ok()) {
      return NotAnId(text, fmt::format("'{}' names no job", job));
    }
  }
  if (address.attempt && !address.IsOneTask()) return NotAnId(text, "an attempt belongs to one task");
  return address;
}

std::optional<std::vector<std::pair<uint32_t, uint32_t>>> JobAddress::Ranges() const {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::string_view rest = task;
  while (true) {
    size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    size_t dash = part.find('-');
    auto first = ToNumber(part.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : ToNumber(part.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first) return std::nullopt;
    ranges.emplace_back(*first, *last);
    if (comma == std::string_view::npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

bool JobAddress::IsOneTask() const {
  if (task.empty()) return false;
  auto ranges = Ranges();
  return !ranges || (ranges->size() == 1 && ranges->front().first == ranges->front().second);
}

Result<JobId> ParseJobNumber(const std::string& job) { return ParseJobId(job); }

}  // namespace muster::cli
