#include "executor/output_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace muster::executor {
namespace {

std::string Join(std::string_view folder, std::string_view name) {
  if (folder.empty() || (!name.empty() && name.front() == '/')) return std::string(name);
  return fmt::format("{}{}{}", folder, folder.back() == '/' ? "" : "/", name);
}

constexpr std::string_view kSuffix = ".part";

std::string PartPrefix(AttemptId attempt, std::string_view store_id) {
  return fmt::format(".{}-{}-{}.", Render(attempt.task), attempt.n, store_id.substr(0, 8));
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

OutputPlace PlaceOutput(const RunTemplate& what, std::string_view out_name, AttemptId attempt,
                        std::string_view store_id) {
  OutputPlace place;
  place.cwd = what.cwd;
  std::string whole = Join(what.cwd, what.out_dir);
  if (out_name.empty()) {
    size_t slash = whole.rfind('/');
    place.folder = slash == std::string::npos ? "." : whole.substr(0, slash == 0 ? 1 : slash);
    place.final = std::move(whole);
  } else {
    place.final = Join(whole, out_name);
    place.folder = std::move(whole);
  }
  place.part = Join(place.folder, PartPrefix(attempt, store_id) + std::string(out_name) +
                                      (out_name.empty() ? "part" : ".part"));
  return place;
}

std::optional<OutputPlace> FindOutput(const RunTemplate& what, AttemptId attempt,
                                      std::string_view store_id) {
  OutputPlace single = PlaceOutput(what, "", attempt, store_id);
  if (::access(single.part.c_str(), F_OK) == 0) return single;
  std::string prefix = PartPrefix(attempt, store_id);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(single.final, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    name = name.substr(prefix.size(), name.size() - prefix.size() - kSuffix.size());
    if (!name.empty()) return PlaceOutput(what, name, attempt, store_id);
  }
  return std::nullopt;
}

FileFailure MakeOutputFolder(const OutputPlace& place) {
  if (::mkdir(place.folder.c_str(), 0777) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT && (place.cwd.empty() || IsFolder(place.cwd))) {
    std::error_code error;
    std::filesystem::create_directories(place.folder, error);
    if (!error) return {};
    errno = error.value();
  }
  if (errno == ENOENT) return {};
  return {errno, "make folder " + place.folder};
}

FileFailure Publish(const OutputPlace& place, std::string& left_over) {
  if (::rename(place.part.c_str(), place.final.c_str()) == 0) return {};
  int error_number = errno;
  if ((error_number == ENOTEMPTY || error_number == EEXIST) && IsFolder(place.part)) {
    if (::renameat2(AT_FDCWD, place.part.c_str(), AT_FDCWD, place.final.c_str(), RENAME_EXCHANGE) ==
        0) {
      left_over = place.part;
      return {};
    }
    error_number = errno;
  }
  if (error_number == ENOENT && ::access(place.part.c_str(), F_OK) != 0) {
    return {ENOENT, fmt::format("publish {}: the command left nothing at {{out}} ({})", place.final,
                                place.part)};
  }
  return {error_number, fmt::format("rename {} to {}", place.part, place.final)};
}

void Discard(const OutputPlace& place, std::string& left_over) {
  if (::unlink(place.part.c_str()) != 0 && errno == EISDIR) left_over = place.part;
}

}  // namespace muster::executor
