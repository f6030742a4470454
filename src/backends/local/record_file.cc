#include "backends/local/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/unique_fd.h"

namespace muster::local {
namespace {

// Keys are escaped in '=' too, which would end them.
std::string Escape(std::string_view value, char also) {
  std::string text;
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '%' || c == also) {
      text += fmt::format("%{:02X}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

std::string Unescape(std::string_view text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      value += static_cast<char>(byte);
      i += 2;
    } else {
      value += text[i];
    }
  }
  return value;
}

Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError("write " + path, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

}  // namespace

std::optional<std::string_view> Record::Find(std::string_view key) const {
  for (const auto& [name, value] : lines_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

Result<uint64_t> Record::GetNumber(std::string_view key) const {
  auto text = Find(key);
  uint64_t value = 0;
  if (text) {
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error == std::errc() && end == text->data() + text->size()) return value;
  }
  return OperatorError(ErrorCode::kDataLoss, fmt::format("\"{}\" should be a number, but is \"{}\"",
                                                         key, text.value_or("")));
}

std::string RenderRecord(const Record& record) {
  std::string text;
  for (const auto& [key, value] : record.lines()) {
    text += Escape(key, '=') + "=" + Escape(value, '%') + "\n";
  }
  return text;
}

Result<Record> ParseRecord(std::string_view text) {
  Record record;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return OperatorError(ErrorCode::kDataLoss, fmt::format("line \"{}\" has no '='", line));
    }
    record.Add(Unescape(line.substr(0, equals)), Unescape(line.substr(equals + 1)));
  }
  return record;
}

Result<std::string> ReadWholeFile(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoError("open " + path, errno);
  std::string text;
  char part[4096];
  for (;;) {
    ssize_t size = ::read(file.get(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return ErrnoError("read " + path, errno);
    if (size == 0) return text;
    text.append(part, static_cast<size_t>(size));
  }
}

Status WriteWholeFile(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError("create " + fresh, errno);
  RETURN_IF_ERROR(WriteAll(file.get(), text, fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return ErrnoError(fmt::format("rename {} to {}", fresh, path), errno);
  }
  return Status::Ok();
}

}  // namespace muster::local
