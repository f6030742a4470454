#include "apps/run_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/hash.h"
#include "base/unique_fd.h"

namespace muster::apps {
namespace {

constexpr size_t kMaxSocketPath = 107;  // sun_path of unix(7), less the NUL

Error StateError(const std::string& what, int error_number) {
  Error error = ErrnoError(what, error_number);
  error.owner = ErrorOwner::kOperator;
  if (error_number == EROFS || error_number == EACCES) {
    error.message += "; name a folder that can be written with --state-dir or MUSTER_STATE_DIR";
  } else if (error_number == ENOSPC || error_number == EDQUOT) {
    error.message += "; make room there, or name another folder with --state-dir";
  }
  return error;
}

Result<uint64_t> ReadNumber(int fd, const std::string& path) {
  char text[32] = {};
  ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  if (got < 0) return StateError("read " + path, errno);
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text, text + got, number);
  if (got > 0 && error != std::errc()) {
    return OperatorError(ErrorCode::kDataLoss,
                         fmt::format("{} holds no number; write the highest job number of {} into it",
                                     path, std::filesystem::path(path).parent_path().string()));
  }
  return number;
}

}  // namespace

Status MakeFolder(const std::string& path) {
  std::string made;
  for (const auto& part : std::filesystem::path(path)) {
    made = (std::filesystem::path(made) / part).string();
    if (made.empty() || made == "/") continue;
    if (::mkdir(made.c_str(), 0700) == 0) continue;
    int failed = errno;
    struct stat found{};
    if (::stat(made.c_str(), &found) == 0) {
      if (S_ISDIR(found.st_mode)) continue;
      failed = ENOTDIR;
    }
    return StateError("make folder " + made, failed);
  }
  if (::access(path.c_str(), W_OK | X_OK) != 0) return StateError("write to folder " + path, errno);
  return Status::Ok();
}

Result<JobId> RunFolders::MakeRun() const {
  RETURN_IF_ERROR(MakeFolder(state_dir_ + "/runs"));
  std::string path = state_dir_ + "/job-number";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return StateError("open " + path, errno);
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return StateError("lock " + path, errno);
  }
  ASSIGN_OR_RETURN(uint64_t last, ReadNumber(fd.get(), path));
  // The counter may have been lost to a full disk or a restored backup: folders count too.
  if (auto runs = ListRuns(); !runs.empty()) last = std::max(last, runs.back().number);
  JobId job{last + 1};
  std::string text = fmt::format("{}\n", job.number);
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return StateError("write " + path, errno == 0 ? ENOSPC : errno);
  }
  if (::mkdir(RunFolder(job).c_str(), 0700) != 0) {
    return StateError("make folder " + RunFolder(job), errno);
  }
  return job;
}

std::string RunFolders::RunFolder(JobId job) const {
  return fmt::format("{}/runs/{}", state_dir_, Render(job));
}

std::vector<JobId> RunFolders::ListRuns() const {
  std::vector<JobId> runs;
  std::error_code error;
  for (std::filesystem::directory_iterator it(state_dir_ + "/runs", error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    JobId job;
    if (name.size() < 2 || name.front() != 'j') continue;
    auto [at, bad] = std::from_chars(name.data() + 1, name.data() + name.size(), job.number);
    if (bad == std::errc() && at == name.data() + name.size()) runs.push_back(job);
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

Result<std::string> SocketPath(const std::string& folder) {
  std::string path = folder + "/socket";
  if (path.size() <= kMaxSocketPath) return path;
  std::string short_folder = fmt::format("/tmp/muster-{}", ::geteuid());
  if (::mkdir(short_folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return StateError("make folder " + short_folder, errno);
  }
  struct stat found{};
  if (::lstat(short_folder.c_str(), &found) != 0) return StateError("look at " + short_folder, errno);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077) != 0) {
    return OperatorError(ErrorCode::kPermissionDenied,
                         fmt::format("{} is not a folder of yours alone; remove it, or use a state "
                                     "folder with a shorter path",
                                     short_folder));
  }
  return fmt::format("{}/{:016x}", short_folder, Hash64(folder));
}

}  // namespace muster::apps
