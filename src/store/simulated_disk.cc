#include "store/simulated_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/check.h"

namespace muster::store {
namespace {

constexpr uint64_t kSector = 512;

std::string FolderOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

void WriteInto(std::string& content, uint64_t offset, std::string_view bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
  content.replace(offset, bytes.size(), bytes);
}

}  // namespace

struct SimulatedDisk::Inode {
  struct Write {
    uint64_t offset = 0;
    std::string bytes;
  };
  std::string seen;
  std::string durable;
  std::vector<Write> unsynced;
  uint64_t reserved = 0;

  uint64_t Used() const { return std::max<uint64_t>(seen.size(), reserved); }

  // Makes any part of the unsynced writes durable: for each sector a random number of them, in
  // order.
  void PersistSome(Random& random) {
    uint64_t mood = random.Below(4);  // nothing, everything, or sector by sector
    bool grown = mood == 1 || (mood >= 2 && random.Percent(50));
    if (grown) durable.resize(seen.size(), '\0');
    std::map<uint64_t, uint64_t> cuts;  // sector, writes from here on are lost
    for (uint64_t w = 0; w < unsynced.size(); ++w) {
      const Write& write = unsynced[w];
      for (uint64_t at = 0; at < write.bytes.size();) {
        uint64_t sector = (write.offset + at) / kSector;
        uint64_t end =
            std::min<uint64_t>(write.bytes.size(), (sector + 1) * kSector - write.offset);
        uint64_t whole = unsynced.size();
        auto [cut, added] = cuts.try_emplace(sector, mood == 0   ? 0
                                                     : mood == 1 ? whole
                                                                 : w + random.Below(whole - w + 1));
        if (w < cut->second) {
          WriteInto(durable, write.offset + at, std::string_view(write.bytes).substr(at, end - at));
        }
        at = end;
      }
    }
    unsynced.clear();
  }
};

class SimulatedFile final : public DiskFile {
 public:
  SimulatedFile(SimulatedDisk& disk, std::string path, std::shared_ptr<SimulatedDisk::Inode> inode)
      : disk_(disk),
        path_(std::move(path)),
        inode_(std::move(inode)),
        generation_(disk.generation_) {}

  Status WriteAt(uint64_t offset, std::span<const std::string_view> pieces) override {
    RETURN_IF_ERROR(Begin("write "));
    std::string bytes;
    for (std::string_view piece : pieces) bytes += piece;
    uint64_t end = offset + bytes.size();
    if (std::exchange(disk_.fail_next_write_, false)) return disk_.Refuse("write " + path_, EIO);
    if (end > inode_->Used() && disk_.used().value + end - inode_->Used() > disk_.capacity_.value) {
      return disk_.Refuse("write " + path_, ENOSPC);
    }
    if (disk_.crashed_) bytes.resize(disk_.random_.Below(bytes.size() + 1));
    WriteInto(inode_->seen, offset, bytes);
    inode_->unsynced.push_back({offset, std::move(bytes)});
    return Finish("write ");
  }

  Status Reserve(Bytes size) override {
    RETURN_IF_ERROR(Begin("reserve "));
    uint64_t now = inode_->Used();
    if (size.value > now && disk_.used().value + size.value - now > disk_.capacity_.value) {
      return disk_.Refuse("reserve " + path_, ENOSPC);
    }
    inode_->reserved = std::max(inode_->reserved, size.value);
    if (inode_->seen.size() < size.value) inode_->seen.resize(size.value, '\0');
    return Finish("reserve ");
  }

  Status Sync() override {
    RETURN_IF_ERROR(Begin("fdatasync "));
    ++disk_.syncs_;
    if (std::exchange(disk_.fail_next_sync_, false)) {
      inode_->PersistSome(disk_.random_);
      return disk_.Refuse("fdatasync " + path_, EIO);
    }
    if (disk_.crashed_) {
      inode_->PersistSome(disk_.random_);
      return Finish("fdatasync ");
    }
    inode_->durable.resize(inode_->seen.size(), '\0');
    for (const auto& write : inode_->unsynced)
      WriteInto(inode_->durable, write.offset, write.bytes);
    inode_->unsynced.clear();
    return Status::Ok();
  }

 private:
  Status Begin(std::string_view verb) {
    if (generation_ != disk_.generation_) return disk_.Refuse(std::string(verb) + path_, EBADF);
    return disk_.BeginChange(std::string(verb) + path_);
  }
  // The change that the crash hit is not answered.
  Status Finish(std::string_view verb) {
    if (!disk_.crashed_) return Status::Ok();
    return disk_.Refuse(std::string(verb) + path_, ENODEV);
  }

  SimulatedDisk& disk_;
  const std::string path_;
  const std::shared_ptr<SimulatedDisk::Inode> inode_;
  const uint64_t generation_;
};

class SimulatedLock final : public DiskLock {
 public:
  SimulatedLock(SimulatedDisk& disk, std::string path)
      : disk_(disk), path_(std::move(path)), generation_(disk.generation_) {}
  ~SimulatedLock() override {
    if (generation_ == disk_.generation_) disk_.locks_.erase(path_);
  }

 private:
  SimulatedDisk& disk_;
  const std::string path_;
  const uint64_t generation_;
};

SimulatedDisk::SimulatedDisk(Random& random) : random_(random) {}
SimulatedDisk::~SimulatedDisk() = default;

Status SimulatedDisk::Refuse(const std::string& what, int error_number) const {
  return ErrnoError(what, error_number);
}

Status SimulatedDisk::BeginChange(const std::string& what) {
  if (crashed_) return Refuse(what, ENODEV);
  if (read_only_) return Refuse(what, EROFS);
  if (changes_left_ && --*changes_left_ == 0) crashed_ = true;
  return Status::Ok();
}

void SimulatedDisk::ApplyTo(Tree& tree, const FolderChange& change) {
  if (!change.removed.empty()) {
    auto found = tree.find(change.removed);
    if (found != tree.end() && found->second == change.inode) tree.erase(found);
  }
  if (!change.added.empty()) tree[change.added] = change.inode;
}

void SimulatedDisk::Change(FolderChange change) {
  // The change that the crash hit may or may not have happened.
  if (crashed_ && random_.Percent(50)) return;
  ApplyTo(seen_, change);
  pending_.push_back(std::move(change));
}

Bytes SimulatedDisk::used() const {
  uint64_t sum = 0;
  for (const auto& [path, inode] : seen_) sum += inode->Used();
  return {sum};
}

void SimulatedDisk::EndProcess() {
  ++generation_;
  locks_.clear();
  crashed_ = false;
  changes_left_.reset();
}

void SimulatedDisk::CutPower() {
  EndProcess();
  uint64_t mood = random_.Below(4);  // nothing, everything, the first so many, any of them
  uint64_t first = random_.Below(pending_.size() + 1);
  for (uint64_t i = 0; i < pending_.size(); ++i) {
    bool kept = mood == 1 || (mood == 2 && i < first) || (mood == 3 && random_.Percent(50));
    if (kept) ApplyTo(durable_, pending_[i]);
  }
  pending_.clear();
  seen_ = durable_;
  for (auto& [path, inode] : seen_) {
    inode->PersistSome(random_);
    inode->seen = inode->durable;
    inode->reserved = inode->seen.size();
  }
}

void SimulatedDisk::CrashAfter(uint64_t changes) { changes_left_ = changes; }

void SimulatedDisk::FlipBit(const std::string& path, uint64_t offset) {
  auto found = seen_.find(path);
  CHECK(found != seen_.end() && offset < found->second->seen.size());
  auto& inode = *found->second;
  inode.seen[offset] = static_cast<char>(inode.seen[offset] ^ 0x10);
  if (offset < inode.durable.size()) inode.durable[offset] = inode.seen[offset];
}

Status SimulatedDisk::MakeFolder(const std::string& path) {
  if (read_only_) return Refuse("make folder " + path, EROFS);
  return Status::Ok();
}

Result<std::vector<std::string>> SimulatedDisk::List(const std::string& folder) {
  if (crashed_) return Refuse("list " + folder, ENODEV).error();
  std::vector<std::string> names;
  for (const auto& [path, inode] : seen_) {
    if (FolderOf(path) == folder) names.push_back(path.substr(folder.size() + 1));
  }
  return names;
}

Result<std::unique_ptr<DiskFile>> SimulatedDisk::Create(const std::string& path) {
  RETURN_IF_ERROR(BeginChange("create " + path));
  if (seen_.contains(path)) return ErrnoError("create " + path, EEXIST);
  auto inode = std::make_shared<Inode>();
  Change({FolderOf(path), "", path, inode});
  if (crashed_) return ErrnoError("create " + path, ENODEV);
  return std::unique_ptr<DiskFile>(std::make_unique<SimulatedFile>(*this, path, std::move(inode)));
}

Result<std::unique_ptr<DiskFile>> SimulatedDisk::Open(const std::string& path) {
  if (crashed_) return ErrnoError("open " + path, ENODEV);
  auto found = seen_.find(path);
  if (found == seen_.end()) return ErrnoError("open " + path, ENOENT);
  return std::unique_ptr<DiskFile>(std::make_unique<SimulatedFile>(*this, path, found->second));
}

Result<std::string> SimulatedDisk::Read(const std::string& path, Bytes most) {
  if (crashed_) return ErrnoError("open " + path, ENODEV);
  auto found = seen_.find(path);
  if (found == seen_.end()) return ErrnoError("open " + path, ENOENT);
  return found->second->seen.substr(0, most.value);
}

Status SimulatedDisk::Rename(const std::string& from, const std::string& to) {
  std::string what = fmt::format("rename {} to {}", from, to);
  RETURN_IF_ERROR(BeginChange(what));
  auto found = seen_.find(from);
  if (found == seen_.end()) return Refuse(what, ENOENT);
  Change({FolderOf(to), from, to, found->second});
  if (crashed_) return Refuse(what, ENODEV);
  return Status::Ok();
}

Status SimulatedDisk::Remove(const std::string& path) {
  RETURN_IF_ERROR(BeginChange("remove " + path));
  auto found = seen_.find(path);
  if (found == seen_.end()) return Refuse("remove " + path, ENOENT);
  Change({FolderOf(path), path, "", found->second});
  if (crashed_) return Refuse("remove " + path, ENODEV);
  return Status::Ok();
}

Status SimulatedDisk::SyncFolder(const std::string& path) {
  RETURN_IF_ERROR(BeginChange("fsync " + path));
  if (crashed_) return Refuse("fsync " + path, ENODEV);
  ++syncs_;
  std::vector<FolderChange> others;
  for (FolderChange& change : pending_) {
    if (change.folder == path) {
      ApplyTo(durable_, change);
    } else {
      others.push_back(std::move(change));
    }
  }
  pending_ = std::move(others);
  return Status::Ok();
}

Result<std::unique_ptr<DiskLock>> SimulatedDisk::Lock(const std::string& path) {
  if (crashed_) return ErrnoError("lock " + path, ENODEV);
  if (read_only_) return ErrnoError("open " + path, EROFS);
  if (!locks_.emplace(path, generation_).second) {
    return OperatorError(ErrorCode::kAborted, fmt::format("lock {}: process 1 holds it", path));
  }
  return std::unique_ptr<DiskLock>(std::make_unique<SimulatedLock>(*this, path));
}

}  // namespace muster::store
