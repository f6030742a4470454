#include "store/system_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"

namespace muster::store {
namespace {

// What one pwritev takes here; the rest of a longer list goes into further calls.
constexpr size_t kPiecesPerCall = 16;

class SystemFile final : public DiskFile {
 public:
  SystemFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status WriteAt(uint64_t offset, std::span<const std::string_view> pieces) override {
    size_t skip = 0;  // bytes of pieces.front() that are written
    while (!pieces.empty()) {
      std::array<iovec, kPiecesPerCall> vectors{};
      size_t count = std::min(pieces.size(), vectors.size());
      for (size_t i = 0; i < count; ++i) {
        size_t begin = i == 0 ? skip : 0;
        vectors[i] = {const_cast<char*>(pieces[i].data()) + begin, pieces[i].size() - begin};
      }
      ssize_t n =
          ::pwritev(fd_.get(), vectors.data(), static_cast<int>(count), static_cast<off_t>(offset));
      if (n < 0) {
        if (errno == EINTR) continue;
        return ErrnoError("write " + path_, errno);
      }
      offset += static_cast<uint64_t>(n);
      auto written = static_cast<size_t>(n) + skip;
      while (!pieces.empty() && written >= pieces.front().size()) {
        written -= pieces.front().size();
        pieces = pieces.subspan(1);
      }
      skip = written;
    }
    return Status::Ok();
  }

  Status Reserve(Bytes size) override {
    int error = 0;
    do {
      error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(size.value));
    } while (error == EINTR);
    if (error == 0) return Status::Ok();
    return ErrnoError(fmt::format("reserve {} for {}", Render(size), path_), error);
  }

  Status Sync() override {
    if (::fdatasync(fd_.get()) == 0) return Status::Ok();
    return ErrnoError("fdatasync " + path_, errno);
  }

 private:
  const UniqueFd fd_;
  const std::string path_;
};

class FlockHolder final : public DiskLock {
 public:
  explicit FlockHolder(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  const UniqueFd fd_;
};

Result<std::string> ReadFrom(int fd, const std::string& path, Bytes most) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return ErrnoError("stat " + path, errno);
  std::string bytes(std::min(static_cast<uint64_t>(facts.st_size), most.value), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("read " + path, errno);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  return bytes;
}

class MachineDisk final : public Disk {
 public:
  Status MakeFolder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0700) == 0) return Status::Ok();
    if (errno == ENOENT) {
      std::string parent = std::filesystem::path(path).parent_path().string();
      if (parent.empty() || parent == path) return ErrnoError("make folder " + path, ENOENT);
      RETURN_IF_ERROR(MakeFolder(parent));
      if (::mkdir(path.c_str(), 0700) == 0) return Status::Ok();
    }
    int error = errno;
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return Status::Ok();
    return ErrnoError("make folder " + path, error);
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    DIR* dir = ::opendir(folder.c_str());
    if (dir == nullptr) return ErrnoError("list " + folder, errno);
    std::vector<std::string> names;
    while (dirent* entry = ::readdir(dir)) {  // NOLINT(concurrency-mt-unsafe)
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<DiskFile>> Create(const std::string& path) override {
    return OpenWith(path, O_RDWR | O_CREAT | O_EXCL, "create ");
  }
  Result<std::unique_ptr<DiskFile>> Open(const std::string& path) override {
    return OpenWith(path, O_RDWR, "open ");
  }

  Result<std::string> Read(const std::string& path, Bytes most) override {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoError("open " + path, errno);
    return ReadFrom(fd.get(), path, most);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
    return ErrnoError(fmt::format("rename {} to {}", from, to), errno);
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) == 0) return Status::Ok();
    return ErrnoError("remove " + path, errno);
  }

  Status SyncFolder(const std::string& path) override {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoError("open " + path, errno);
    if (::fsync(fd.get()) == 0) return Status::Ok();
    return ErrnoError("fsync " + path, errno);
  }

  Result<std::unique_ptr<DiskLock>> Lock(const std::string& path) override {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoError("open " + path, errno);
    int locked = 0;
    do {
      locked = ::flock(fd.get(), LOCK_EX | LOCK_NB);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) {
      std::string holder = ReadFrom(fd.get(), path, KiB(1)).value_or("");
      holder.resize(std::min(holder.find('\n'), holder.size()));
      return OperatorError(ErrorCode::kAborted, fmt::format("lock {}: process {} holds it", path,
                                                            holder.empty() ? "(unknown)" : holder));
    }
    if (locked != 0) return ErrnoError("lock " + path, errno);
    // Only for the message above; on a full disk the lock holds without it.
    std::string holder = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd.get(), 0) == 0) {
      [[maybe_unused]] ssize_t n = ::pwrite(fd.get(), holder.data(), holder.size(), 0);
    }
    return std::unique_ptr<DiskLock>(std::make_unique<FlockHolder>(std::move(fd)));
  }

 private:
  static Result<std::unique_ptr<DiskFile>> OpenWith(const std::string& path, int flags,
                                                    std::string_view verb) {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoError(std::string(verb) + path, errno);
    return std::unique_ptr<DiskFile>(std::make_unique<SystemFile>(std::move(fd), path));
  }
};

}  // namespace

Disk& SystemDisk() {
  static MachineDisk disk;
  return disk;
}

}  // namespace muster::store
