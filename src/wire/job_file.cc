#include "wire/job_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "wire/spec_keys.h"
#include "wire/spec_reader.h"

namespace muster {

Status CheckJobFileSize(uint64_t bytes, const std::string& source) {
  if (bytes <= kMaxJobFileBytes) return Status::Ok();
  return UserError(
      ErrorCode::kResourceExhausted,
      fmt::format("{}: {} bytes or more, a job file may have {} (16 MiB); put long lists into a "
                  "file of their own and name it with lines:",
                  source, bytes, kMaxJobFileBytes));
}

Result<std::string> ReadJobFile(const std::string& path) {
  auto failed = [&](std::string_view what) {
    Error error = ErrnoError(fmt::format("{} job file {}", what, path), errno);
    error.owner = ErrorOwner::kUser;
    return error;
  };
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return failed("open");
  struct stat file{};
  if (::fstat(fd.get(), &file) != 0) return failed("look at");
  if (S_ISREG(file.st_mode)) {
    RETURN_IF_ERROR(CheckJobFileSize(static_cast<uint64_t>(file.st_size), path));
  }
  std::string text;
  std::string buffer(1 << 16, '\0');
  while (true) {
    ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read");
    if (n == 0) return text;
    text.append(buffer, 0, static_cast<size_t>(n));
    RETURN_IF_ERROR(CheckJobFileSize(text.size(), path));
  }
}

ParsedJob ParseJobFile(std::string_view text, const std::string& file_name,
                       const ParseContext& context) {
  ParsedJob job;
  if (Status size = CheckJobFileSize(text.size(), file_name); !size.ok()) {
    SpecProblem problem;
    problem.message = size.error().message;
    job.problems.push_back(std::move(problem));
    return job;
  }
  DocParse document = ParseYamlTree(text);
  if (document.error) {
    job.problems.push_back(*document.error);
    return job;
  }
  ParseContext with_name = context;
  if (with_name.default_name.empty()) with_name.default_name = ItemName(file_name);
  if (with_name.default_name.empty() || file_name == "-") with_name.default_name = "job";
  return ReadJobSpec(document.tree.root(), SpecSource::kJobFile, with_name);
}

std::vector<JobFileKey> JobFileKeys() {
  std::vector<JobFileKey> keys;
  for (const KeyRule& rule : AllKeyRules()) {
    keys.push_back({rule.name, rule.place != KeyPlace::kTask, rule.place != KeyPlace::kJob,
                    rule.key == SpecKey::kRefused});
  }
  return keys;
}

}  // namespace muster
