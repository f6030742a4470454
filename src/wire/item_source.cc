#include "wire/item_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"

namespace muster {
namespace {

constexpr std::string_view kSpecial = "*?[";

std::string EscapeForGlob(std::string_view path) {
  std::string escaped;
  for (char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

Error TooMany(const std::string& source) {
  return UserError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: more than {} items or 4 GiB of them", source, kMaxArrayTasks));
}

Status AddItem(std::string_view item, const std::string& source, ItemList& items) {
  if (items.size() >= kMaxArrayTasks || !items.Add(item)) return TooMany(source);
  return Status::Ok();
}

// The folder that glob() could not read last; glob() has no other way to hand it out.
struct Unreadable {
  std::string path;
  int error_number = 0;
};
thread_local Unreadable unreadable;
int RememberUnreadable(const char* path, int error_number) {
  if (error_number != ENOENT && error_number != ENOTDIR) unreadable = {path, error_number};
  return 0;
}

Error NothingMatches(const std::string& pattern, const std::string& cwd) {
  std::string message = fmt::format("no file matches {}", pattern);
  if (!pattern.starts_with('/')) message += fmt::format(" in {}", cwd);
  if (unreadable.error_number != 0) {
    message += fmt::format("; {} could not be read: {}", unreadable.path,
                           std::strerror(unreadable.error_number));
  } else if (pattern.find('{') != std::string::npos) {
    message += "; braces are not expanded, write a list of patterns";
  } else if (pattern.starts_with('~')) {
    message += "; ~ is not expanded, write the whole path";
  } else if (pattern.find("**") != std::string::npos) {
    message += "; ** is one folder deep here, write a pattern for each depth";
  }
  return UserError(ErrorCode::kNotFound, std::move(message));
}

template <typename T>
bool TakeWhole(std::string_view& text, T& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool TakeSign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Status LineSplitter::AddLine(std::string_view line) {
  ++line_;
  if (line.find('\0') != std::string_view::npos) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("{}:{}: the line holds a NUL byte", source_, line_));
  }
  if (line.empty()) return Status::Ok();
  return AddItem(line, source_, items_);
}

Status LineSplitter::Feed(std::string_view piece) {
  while (!piece.empty()) {
    size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      if (rest_.size() + piece.size() > UINT32_MAX) return TooMany(source_);
      // Known at once: an endless line of zeros must not fill the memory.
      if (piece.find('\0') != std::string_view::npos) return AddLine(piece);
      rest_.append(piece);
      return Status::Ok();
    }
    if (rest_.empty()) {
      RETURN_IF_ERROR(AddLine(piece.substr(0, end)));
    } else {
      rest_.append(piece.substr(0, end));
      RETURN_IF_ERROR(AddLine(rest_));
      rest_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  return Status::Ok();
}

Status LineSplitter::End() {
  if (rest_.empty()) return Status::Ok();
  std::string last = std::exchange(rest_, "");
  return AddLine(last);
}

Result<ItemList> ReadItemLines(int fd, const std::string& source) {
  LineSplitter lines(source);
  std::string buffer(1 << 18, '\0');
  while (true) {
    ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Error error = ErrnoError(fmt::format("read {}", source), errno);
      error.owner = ErrorOwner::kUser;
      return error;
    }
    if (n == 0) break;
    RETURN_IF_ERROR(lines.Feed(std::string_view(buffer.data(), static_cast<size_t>(n))));
  }
  RETURN_IF_ERROR(lines.End());
  return std::move(lines).Take();
}

Result<ItemList> ReadItemLines(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    Error error = ErrnoError(fmt::format("open {}", path), errno);
    error.owner = ErrorOwner::kUser;
    return error;
  }
  return ReadItemLines(fd.get(), path);
}

Status GlobItems(const std::string& pattern, const std::string& cwd, ItemList& items) {
  if (pattern.empty() || pattern.find('\0') != std::string::npos) {
    return UserError(ErrorCode::kInvalidArgument, "the pattern is empty or holds a NUL byte");
  }
  bool absolute = pattern.starts_with('/');
  std::string folder = absolute ? "" : cwd + (cwd.ends_with('/') ? "" : "/");
  if (pattern.find_first_of(kSpecial) == std::string::npos) {
    struct stat found{};
    if (::lstat((folder + pattern).c_str(), &found) != 0) {
      return UserError(ErrorCode::kNotFound,
                       fmt::format("{}{} is not there: {}", folder, pattern, std::strerror(errno)));
    }
    return AddItem(pattern, pattern, items);
  }
  unreadable = {};
  glob_t matches{};
  int outcome =
      ::glob((EscapeForGlob(folder) + pattern).c_str(), GLOB_NOSORT, RememberUnreadable, &matches);
  std::vector<std::string_view> found;
  for (size_t i = 0; outcome == 0 && i < matches.gl_pathc; ++i) {
    found.push_back(std::string_view(matches.gl_pathv[i]).substr(folder.size()));
  }
  std::sort(found.begin(), found.end());
  Status status = Status::Ok();
  for (std::string_view path : found) {
    if (status.ok()) status = AddItem(path, pattern, items);
  }
  ::globfree(&matches);
  RETURN_IF_ERROR(std::move(status));
  if (outcome == 0) return Status::Ok();
  if (outcome == GLOB_NOMATCH) return NothingMatches(pattern, cwd);
  return UserError(ErrorCode::kResourceExhausted,
                   fmt::format("glob({}) failed with {}", pattern, outcome));
}

Result<ArrayText> ParseArrayText(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("'{}' is not an array: {}; write 1-1000, 1-1000%50 (50 at a time) "
                                 "or 0-100:10 (every tenth)",
                                 text, why));
  };
  ArrayText array;
  std::string_view rest = text;
  if (rest.find(',') != std::string_view::npos) {
    return fail(
        "lists with commas are not supported by this version, give the values as items: [...]");
  }
  if (!TakeWhole(rest, array.range.first)) return fail("it does not start with an index");
  if (!TakeSign(rest, '-')) {
    if (rest.empty()) return fail(fmt::format("for {} tasks the range is 1-{}", text, text));
    return fail("a '-' must follow the first index");
  }
  if (!TakeWhole(rest, array.range.last)) return fail("the last index is missing or too large");
  if (TakeSign(rest, ':') && (!TakeWhole(rest, array.range.step) || array.range.step < 1)) {
    return fail("the step behind ':' must be a whole number from 1");
  }
  if (TakeSign(rest, '%') && (!TakeWhole(rest, array.cap) || array.cap == 0)) {
    return fail("the cap behind '%' must be a whole number from 1");
  }
  if (!rest.empty()) return fail(fmt::format("'{}' has no meaning here", rest));
  for (int64_t index : {array.range.first, array.range.last, array.range.step}) {
    if (index > kMaxArrayIndex || index < -kMaxArrayIndex) {
      return fail(fmt::format("an index is beyond {}", kMaxArrayIndex));
    }
  }
  return array;
}

std::string RenderArrayText(const IndexRange& range, uint32_t cap) {
  std::string text = fmt::format("{}-{}", range.first, range.last);
  if (range.step != 1) text += fmt::format(":{}", range.step);
  if (cap != 0) text += fmt::format("%{}", cap);
  return text;
}

}  // namespace muster
