// The executor's own record of what it has started and how it ended, in its launch folder: written
// (not synced) before a program starts and before its end is reported, so that it survives the
// death of the executor. Loop's thread only.
//
//     ASSIGN_OR_RETURN(AttemptRecord record, AttemptRecord::Open(path));
//     record.AddStart(id, send, now);  record.AddStart(...);
//     record.Write();                                   // one system call
//     ...
//     Result<std::vector<RecordedAttempt>> all = ReadAttemptRecord(path);   // any process, any
//     time
//
// File: "muster-1", then records: CRC-32C of what follows, size of the body (2 bytes), kind (1
// byte), body; little-endian. A torn or damaged tail ends the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "model/exit_facts.h"

namespace muster::executor {

struct RecordedAttempt {
  AttemptId id;
  uint32_t send = 0;
  WallTime started;
  // False: it was running, or about to be started, when the record ends.
  bool ended = false;
  int64_t pid = 0;
  ExitFacts facts;
};

class AttemptRecord {
 public:
  // Begins a new file in place of an old one.
  static Result<AttemptRecord> Open(std::string path);

  void AddStart(AttemptId id, uint32_t send, WallTime at);
  void AddEnd(const RecordedAttempt& attempt);
  // Hands what was added to the operating system. When the disk is full it is kept, up to a
  // bound, and tried again with the next call.
  Status Write();
  // Replaces the file by one that holds only `live`; what was added and not written goes.
  Status Rewrite(const std::vector<RecordedAttempt>& live);
  uint64_t size() const { return size_ + unwritten_.size(); }

 private:
  AttemptRecord(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  std::string unwritten_;
};

// In order of their starts. kNotFound: no record; kDataLoss: not a record at all.
Result<std::vector<RecordedAttempt>> ReadAttemptRecord(const std::string& path);

}  // namespace muster::executor
