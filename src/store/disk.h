// The few file operations the store needs, so that tests and the simulation can lose, tear and
// refuse them. SystemDisk (store/system_disk.h) is the machine's; SimulatedDisk
// (store/simulated_disk.h) forgets what was not synced.
//
// Errors carry the errno's code: kResourceExhausted is a full disk, kPermissionDenied a read-only
// one, kDataLoss an I/O error, kNotFound and kAlreadyExists what they say.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace muster::store {

// One open file. Different threads may call WriteAt and Sync at the same time.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // Writes the pieces one after another from `offset` on, in one system call as a rule. After an
  // error any part of them may have been written.
  virtual Status WriteAt(uint64_t offset, std::span<const std::string_view> pieces) = 0;
  // Allocates the first `size` bytes: writing there can no longer fail for want of space. New bytes
  // read as zeros and the file is at least that long. After an error nothing is promised.
  virtual Status Reserve(Bytes size) = 0;
  // fdatasync: what was written before the call survives a power cut. After an error nobody knows
  // what survived, and a repeat proves nothing.
  virtual Status Sync() = 0;
};

// Held until destroyed.
class DiskLock {
 public:
  virtual ~DiskLock() = default;
};

inline constexpr Bytes kWholeFile{UINT64_MAX};

// Thread-safe as far as the machine's file system is.
class Disk {
 public:
  virtual ~Disk() = default;
  // The folder and those above it, 0700. Fine if it is there.
  virtual Status MakeFolder(const std::string& path) = 0;
  // Names in the folder without "." and "..", sorted.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;
  // A new file, 0600; kAlreadyExists if there is one.
  virtual Result<std::unique_ptr<DiskFile>> Create(const std::string& path) = 0;
  // An existing file, to write or sync it.
  virtual Result<std::unique_ptr<DiskFile>> Open(const std::string& path) = 0;
  // The first `most` bytes of the file, or all of it.
  virtual Result<std::string> Read(const std::string& path, Bytes most = kWholeFile) = 0;
  // Replaces `to` if it is there. Survives a power cut only after SyncFolder.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status SyncFolder(const std::string& path) = 0;
  // Creates the file if need be and locks it; it then holds the holder's process id. kAborted when
  // another holds it, with that process id in the message.
  virtual Result<std::unique_ptr<DiskLock>> Lock(const std::string& path) = 0;
};

}  // namespace muster::store
