#include "support/witness.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

namespace muster::test {
namespace {

std::vector<std::string> SplitWords(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::vector<std::string> split;
  for (std::string word; words >> word;) split.push_back(word);
  return split;
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "1700000000.000123"
std::optional<int64_t> ParseTime(std::string_view text) {
  size_t dot = text.find('.');
  if (dot == std::string_view::npos || text.size() != dot + 7) return std::nullopt;
  auto seconds = ParseWhole<int64_t>(text.substr(0, dot));
  auto micros = ParseWhole<int64_t>(text.substr(dot + 1));
  if (!seconds || !micros) return std::nullopt;
  return *seconds * 1'000'000 + *micros;
}

bool HasOverlap(const std::vector<WitnessRun>& runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t j = 0; j < runs.size(); ++j) {
      if (i == j || !runs[i].end_us) continue;
      if (runs[j].start_us >= runs[i].start_us && runs[j].start_us < *runs[i].end_us) return true;
    }
  }
  return false;
}

}  // namespace

bool WitnessVerdict::ok() const {
  return missing.empty() && doubled.empty() && overlapping.empty() && unexpected.empty() &&
         malformed.empty();
}

std::string WitnessVerdict::ToString() const {
  std::string text;
  auto add = [&](std::string_view word, const std::vector<std::string>& tasks) {
    if (tasks.empty()) return;
    text += fmt::format("{}{} {}:", text.empty() ? "" : "; ", tasks.size(), word);
    for (size_t i = 0; i < std::min<size_t>(tasks.size(), 5); ++i) text += " " + tasks[i];
    if (tasks.size() > 5) text += " ...";
  };
  add("missing", missing);
  add("doubled", doubled);
  add("overlapping", overlapping);
  add("unexpected", unexpected);
  add("malformed", malformed);
  return text;
}

Result<WitnessLog> WitnessLog::Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return WitnessLog();
    return ErrnoError("open " + path, errno);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return Parse(text.str());
}

WitnessLog WitnessLog::Parse(std::string_view text) {
  WitnessLog log;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    const bool is_whole = line.size() < text.size();
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::vector<std::string> words = SplitWords(line);
    const bool is_start = words.size() == 6 && words[4] == "start";
    const bool is_end = words.size() == 7 && words[4] == "end";
    auto pid = words.size() > 3 ? ParseWhole<int64_t>(words[3]) : std::nullopt;
    auto time = words.size() > 5 ? ParseTime(words[5]) : std::nullopt;
    auto code = is_end ? ParseWhole<int>(words[6]) : 0;
    if (!is_whole || !(is_start || is_end) || !pid || !time || !code) {
      log.malformed_.emplace_back(line);
      continue;
    }
    std::vector<WitnessRun>& runs = log.runs_[words[0]];
    if (is_start) {
      ++log.starts_;
      runs.push_back({words[1], words[2], *pid, *time, std::nullopt, -1});
      continue;
    }
    auto run = std::find_if(runs.rbegin(), runs.rend(), [&](const WitnessRun& r) {
      return r.attempt == words[1] && r.host == words[2] && r.pid == *pid && !r.end_us;
    });
    if (run == runs.rend()) {
      log.malformed_.emplace_back(line);  // an end without a start
      continue;
    }
    ++log.ends_;
    run->end_us = *time;
    run->exit_code = *code;
  }
  return log;
}

WitnessVerdict WitnessLog::Check(const std::vector<std::string>& expected) const {
  WitnessVerdict verdict;
  verdict.malformed = malformed_;
  const std::set<std::string> wanted(expected.begin(), expected.end());
  for (const std::string& task : wanted) {
    auto found = runs_.find(task);
    const bool succeeded =
        found != runs_.end() && std::any_of(found->second.begin(), found->second.end(),
                                            [](const WitnessRun& run) { return run.succeeded(); });
    if (!succeeded) verdict.missing.push_back(task);
  }
  for (const auto& [task, runs] : runs_) {
    if (!wanted.contains(task)) verdict.unexpected.push_back(task);
    auto successes = std::count_if(runs.begin(), runs.end(),
                                   [](const WitnessRun& run) { return run.succeeded(); });
    if (successes > 1) verdict.doubled.push_back(task);
    if (HasOverlap(runs)) verdict.overlapping.push_back(task);
  }
  return verdict;
}

}  // namespace muster::test
