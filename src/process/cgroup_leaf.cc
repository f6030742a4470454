#include "process/cgroup_leaf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "process/proc_stat.h"

namespace muster {
namespace {

constexpr int64_t kCgroup2Magic = 0x63677270;

std::string ReadOwnCgroup() {
  UniqueFd file(::open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  std::string_view lines(text, size > 0 ? static_cast<size_t>(size) : 0);
  size_t at = lines.starts_with("0::") ? 0 : lines.find("\n0::");
  if (at == std::string_view::npos) return "";
  lines.remove_prefix(at + (at == 0 ? 3 : 4));
  return std::string(lines.substr(0, lines.find('\n')));
}

// The folder of our own cgroup; empty if there is no v2 tree.
std::string OwnFolder() {
  for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs found{};
    if (::statfs(mount, &found) == 0 && found.f_type == kCgroup2Magic) {
      std::string own = ReadOwnCgroup();
      if (own.empty() || own.find("..") != std::string::npos) return "";
      return own == "/" ? std::string(mount) : mount + own;
    }
  }
  return "";
}

// Holds the pid namespace: a pid of another one says nothing here about who lives.
std::string Prefix() {
  struct stat found{};
  if (::stat("/proc/self/ns/pid", &found) != 0) found.st_ino = 0;
  return fmt::format("muster-{}-", found.st_ino);
}

std::string FolderOf(const std::string& own, pid_t owner) {
  return fmt::format("{}/{}{}", own, Prefix(), owner);
}

std::string LeafName(uint32_t slot) { return fmt::format("slot-{}", slot); }

std::vector<std::string> ListFolders(const std::string& path, std::string_view prefix) {
  std::vector<std::string> names;
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  }
  ::closedir(dir);
  return names;
}

void WriteAt(int folder, const char* file, const char* text) {
  UniqueFd opened(::openat(folder, file, O_WRONLY | O_CLOEXEC));
  if (opened.valid() && ::write(opened.get(), text, 1) != 1) return;
}

void KillAt(int folder) { WriteAt(folder, "cgroup.kill", "1"); }
void MoveSelfTo(int folder) { WriteAt(folder, "cgroup.procs", "0"); }

// A cgroup is busy for a moment after its last process has been reaped.
void RemoveBusy(const std::string& path) {
  for (int tries = 0; tries < 50 && ::rmdir(path.c_str()) != 0 && errno == EBUSY; ++tries) {
    ::poll(nullptr, 0, 1);
  }
}

bool IsGone(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  auto stat = ReadProcStat(pid);
  return stat && (stat->state == 'Z' || stat->state == 'X');
}

void EndFolder(const std::string& path) {
  for (const std::string& name : ListFolders(path, "slot-")) {
    std::string leaf = path + "/" + name;
    UniqueFd opened(::open(leaf.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.valid()) KillAt(opened.get());
    RemoveBusy(leaf);
  }
  RemoveBusy(path);
}

}  // namespace

void CgroupLeaf::Join() const {
  if (folder_.valid()) MoveSelfTo(folder_.get());
}

void CgroupLeaf::KillOthers() const {
  if (!folder_.valid()) return;
  MoveSelfTo(parent_.get());
  KillAt(folder_.get());
  MoveSelfTo(folder_.get());
}

CgroupFolder CgroupFolder::Make(pid_t owner) {
  CgroupFolder folder;
  std::string own = OwnFolder();
  if (own.empty() || ::access(own.c_str(), W_OK) != 0) return folder;
  EndLeftovers();
  std::string path = FolderOf(own, owner);
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return folder;
  folder.folder_.Reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Kernels before 5.14 have no cgroup.kill: then a leaf is of no use.
  bool usable =
      folder.folder_.valid() && ::faccessat(folder.folder_.get(), "cgroup.kill", W_OK, 0) == 0;
  if (!usable) {
    folder.folder_.Reset();
    ::rmdir(path.c_str());
    return folder;
  }
  folder.path_ = path;
  return folder;
}

CgroupLeaf CgroupFolder::MakeLeaf(uint32_t slot) const {
  CgroupLeaf leaf;
  if (!folder_.valid()) return leaf;
  const std::string name = LeafName(slot);
  if (::mkdirat(folder_.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return leaf;
  leaf.parent_.Reset(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 3));
  leaf.folder_.Reset(::openat(folder_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return leaf;
}

void CgroupFolder::KillLeaf(uint32_t slot) const {
  if (!folder_.valid()) return;
  UniqueFd leaf(
      ::openat(folder_.get(), LeafName(slot).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (leaf.valid()) KillAt(leaf.get());
}

void CgroupFolder::RemoveLeaf(uint32_t slot) const {
  if (folder_.valid()) RemoveBusy(path_ + "/" + LeafName(slot));
}

void CgroupFolder::Remove() const {
  if (folder_.valid()) RemoveBusy(path_);
}

void CgroupFolder::EndLeftovers() {
  const std::string own = OwnFolder();
  if (own.empty()) return;
  const std::string prefix = Prefix();
  for (const std::string& name : ListFolders(own, prefix)) {
    auto pid = static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
    if (pid > 0 && IsGone(pid)) EndFolder(own + "/" + name);
  }
}

void CgroupFolder::RemoveAllOf(pid_t owner) {
  std::string own = OwnFolder();
  if (own.empty()) return;
  EndFolder(FolderOf(own, owner));
}

}  // namespace muster
