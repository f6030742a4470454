// A disk in memory that forgets like a real one: what was written is kept apart from what was
// synced, and a power cut loses, reorders and tears the difference. One seed drives it.
// Single-threaded.
//
//     SimulatedDisk disk(random);
//     disk.CrashAfter(17);                 // the 17th change from now is the last, and maybe half
//     done
//     ... run until disk.crashed() ...
//     disk.CutPower();                     // or EndProcess(): only locks and open files are gone
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/disk.h"

namespace muster::store {

class SimulatedDisk final : public Disk {
 public:
  explicit SimulatedDisk(Random& random);
  ~SimulatedDisk() override;

  // -- faults
  // The process is gone: everything written stays, locks and open files end.
  void EndProcess();
  // The machine is gone: of what was not synced any part, in any order, by sectors of 512 bytes.
  void CutPower();
  // After so many more changes every operation fails until EndProcess or CutPower; the last change
  // may be half done.
  void CrashAfter(uint64_t changes);
  bool crashed() const { return crashed_; }
  // Space for all files together; reserved bytes count.
  void SetCapacity(Bytes capacity) { capacity_ = capacity; }
  Bytes used() const;
  // The next Sync fails with EIO; some of what it should have written is lost, later ones do not
  // know it.
  void FailNextSync() { fail_next_sync_ = true; }
  void FailNextWrite() { fail_next_write_ = true; }
  void ClearFaults() { fail_next_sync_ = fail_next_write_ = false; }
  void MakeReadOnly() { read_only_ = true; }
  // Flips one bit of what is stored.
  void FlipBit(const std::string& path, uint64_t offset);
  uint64_t syncs() const { return syncs_; }

  Status MakeFolder(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Result<std::unique_ptr<DiskFile>> Create(const std::string& path) override;
  Result<std::unique_ptr<DiskFile>> Open(const std::string& path) override;
  Result<std::string> Read(const std::string& path, Bytes most) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status SyncFolder(const std::string& path) override;
  Result<std::unique_ptr<DiskLock>> Lock(const std::string& path) override;

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;
  struct Inode;
  struct FolderChange {
    std::string folder;
    std::string removed;  // path, or ""
    std::string added;    // path, or ""
    std::shared_ptr<Inode> inode;
  };
  using Tree = std::map<std::string, std::shared_ptr<Inode>>;

  // Counts one change; an error when the process or the power is gone or the disk is read-only.
  Status BeginChange(const std::string& what);
  Status Refuse(const std::string& what, int error_number) const;
  static void ApplyTo(Tree& tree, const FolderChange& change);
  void Change(FolderChange change);

  Random& random_;
  Tree seen_;     // as the process sees it
  Tree durable_;  // as a power cut leaves it at least
  std::vector<FolderChange> pending_;
  std::map<std::string, uint64_t> locks_;  // path, generation
  Bytes capacity_ = GiB(1024);
  uint64_t generation_ = 1;  // files opened before a crash are dead
  std::optional<uint64_t> changes_left_;
  bool crashed_ = false;
  bool fail_next_sync_ = false;
  bool fail_next_write_ = false;
  bool read_only_ = false;
  uint64_t syncs_ = 0;
};

}  // namespace muster::store
