#include "cli/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "wire/doc_tree.h"

namespace muster::cli {
namespace {

size_t CodePoints(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string RenderTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CodePoints(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - CodePoints(row[i]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string Printable(std::string_view text) {
  bool utf8 = IsUtf8(text);
  std::string safe;
  safe.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (!utf8 && byte >= 0x80)) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string ShortDuration(Duration duration) {
  int64_t ms = duration.count() / 1000;
  if (ms < 1000) return fmt::format("{}ms", ms);
  int64_t s = ms / 1000;
  if (s < 60) return fmt::format("{}.{}s", s, ms % 1000 / 100);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d{:02}h", s / 86400, s % 86400 / 3600);
}

std::string ShortTime(WallTime time, WallTime now) {
  std::tm at = fmt::localtime(static_cast<std::time_t>(time.us / 1000000));
  std::tm today = fmt::localtime(static_cast<std::time_t>(now.us / 1000000));
  if (at.tm_year == today.tm_year && at.tm_yday == today.tm_yday) return fmt::format("{:%H:%M:%S}", at);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", at);
}

std::string ShortBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{}B", bytes);
  double value = static_cast<double>(bytes);
  for (char unit : {'K', 'M', 'G', 'T'}) {
    value /= 1024;
    if (value < 1024 || unit == 'T') return fmt::format("{:.1f}{}", value, unit);
  }
  return "";
}

std::string RenderCounts(const TaskCounts& counts) {
  std::string text;
  auto add = [&](std::string_view word, uint64_t n) {
    if (n == 0) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", word, n);
  };
  add("running", counts.running);
  add("starting", counts.active - std::min(counts.active, counts.running));
  add("ready", counts.ready);
  add("waiting", counts.waiting);
  add("held", counts.held);
  for (int i = 0; i < kEndKinds; ++i) {
    add(ToString(static_cast<EndKind>(i)), counts.ended[static_cast<size_t>(i)]);
  }
  return text;
}

std::string JobWord(const JobView& job) {
  if (!job.ended) {
    if (job.cancel_requested) return "cancelling";
    if (job.counts.active > 0) return "running";
    return job.counts.ready > 0 ? "ready" : "waiting";
  }
  if (job.counts.failed() > 0) return "failed";
  if (job.counts.cancelled() > 0) return "cancelled";
  return "ok";
}

}  // namespace muster::cli
