#include "net/router.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "net/http_message.h"

namespace muster {
namespace {

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

void Router::Add(std::string method, std::string_view pattern, size_t route) {
  CHECK(pattern.starts_with('/'));
  Entry entry{std::move(method), {}, route};
  for (std::string_view segment : SplitPath(pattern)) {
    bool is_parameter = segment.starts_with('{') && segment.ends_with('}');
    if (is_parameter) segment = segment.substr(1, segment.size() - 2);
    entry.segments.push_back({std::string(segment), is_parameter});
  }
  entries_.push_back(std::move(entry));
}

bool Router::Matches(const Entry& entry, const std::vector<std::string>& path) {
  if (entry.segments.size() != path.size()) return false;
  for (size_t i = 0; i < path.size(); ++i) {
    const Segment& segment = entry.segments[i];
    if (segment.is_parameter ? path[i].empty() : segment.text != path[i]) return false;
  }
  return true;
}

bool Router::IsMoreSpecific(const Entry& a, const Entry& b) {
  for (size_t i = 0; i < a.segments.size(); ++i) {
    if (a.segments[i].is_parameter != b.segments[i].is_parameter) return b.segments[i].is_parameter;
  }
  return false;
}

Router::Match Router::Find(std::string_view method, std::string_view raw_path) const {
  Match match;
  std::vector<std::string> path;
  for (std::string_view segment : SplitPath(raw_path)) {
    Result<std::string> decoded = DecodePercent(segment);
    if (!raw_path.starts_with('/') || !decoded.ok()) {
      match.outcome = Outcome::kBadPath;
      return match;
    }
    path.push_back(std::move(*decoded));
  }
  const Entry* best = nullptr;
  bool best_is_exact = false;
  for (const Entry& entry : entries_) {
    if (!Matches(entry, path)) continue;
    match.allowed.push_back(entry.method);
    bool exact = entry.method == method;
    if (!exact && !(method == "HEAD" && entry.method == "GET")) continue;
    if (best == nullptr || IsMoreSpecific(entry, *best) ||
        (exact && !best_is_exact && !IsMoreSpecific(*best, entry))) {
      best = &entry;
      best_is_exact = exact;
    }
  }
  if (best == nullptr) {
    match.outcome = match.allowed.empty() ? Outcome::kNoSuchPath : Outcome::kNoSuchMethod;
    std::sort(match.allowed.begin(), match.allowed.end());
    match.allowed.erase(std::unique(match.allowed.begin(), match.allowed.end()),
                        match.allowed.end());
    return match;
  }
  match.allowed.clear();
  match.outcome = Outcome::kFound;
  match.route = best->route;
  for (size_t i = 0; i < path.size(); ++i) {
    if (best->segments[i].is_parameter) match.parameters[best->segments[i].text] = path[i];
  }
  return match;
}

}  // namespace muster
