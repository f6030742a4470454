// The folder of one launch: what it holds, and what that proves.
//
//   <state>/launches/<first 8 of store id>-l7/
//     lock          held by whoever starts the launch, then by its keeper (launch_lock.h)
//     order         what to run and whom to serve; read by the executor
//     token         the executor's secret, 0600; the executor removes it once it has read it
//     identity      keeper and executor as processes; written before the executor does anything
//     outcome       how it ended; room for it is taken before the start, so a full disk cannot hide
//     it executor.log  standard output and error of keeper and executor
//
// The name does not hold the epoch: a controller that starts again repeats a Submit in a later
// epoch, and must meet the same folder. The epoch stands in `order`.
//
// Any thread; no state but the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "model/launch.h"
#include "process/process_identity.h"

namespace muster::local {

// What an executor is told.
struct LaunchOrder {
  LaunchSpec spec;
  // Where to dial: "unix:/run/user/1000/muster/socket".
  std::string controller;
  // The backend's folder: output that must outlive the launch's own folder goes below it.
  std::string state_folder;
};
std::string RenderLaunchOrder(const LaunchOrder& order);
Result<LaunchOrder> ParseLaunchOrder(std::string_view text);

struct LaunchIdentity {
  ProcessIdentity keeper;
  ProcessIdentity executor;
  std::string host;
  WallTime started;
};

struct LaunchOutcome {
  std::optional<int32_t> exit_code;
  std::optional<int32_t> exit_signal;
  // Processes that were still there when the executor had ended, and were killed.
  uint64_t left_behind = 0;
  // If it was not the executor's own end: "keeper lost".
  std::string reason;
  WallTime ended;
};

enum class LaunchStage : uint8_t {
  kNoFolder,
  kNeverStarted,  // a start was begun at most, did nothing, and nobody is at it any more
  kStarting,
  kRunning,
  kEnded,       // the outcome is there and nothing of it runs
  kKeeperLost,  // the keeper was killed: what it kept may still run
  kMachineRestarted,
};

// What was seen. The lock was looked at first, so that nothing a keeper wrote before it ended is
// missed.
struct LaunchEvidence {
  bool folder = false;
  bool lock_held = false;
  bool identity_written = false;  // readable or not
  std::optional<LaunchIdentity> identity;
  std::optional<LaunchOutcome> outcome;
  std::string boot_id;  // of this machine, now
};
// Pure.
LaunchStage DecideStage(const LaunchEvidence& evidence);

// "0f8e2d4c-l7", and back: the first eight characters of the store id, and the number.
std::string FolderName(std::string_view store_id, LaunchId launch);
struct ParsedFolderName {
  std::string store_start;
  LaunchId launch;
};
std::optional<ParsedFolderName> ParseFolderName(std::string_view name);

// Stands in the environment of everything a launch runs.
inline constexpr std::string_view kCookieVariable = "MUSTER_LAUNCH";
std::string LaunchCookie(std::string_view store_id, LaunchId launch);

class LaunchFolder {
 public:
  explicit LaunchFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string lock_path() const { return path_ + "/lock"; }
  std::string log_path() const { return path_ + "/executor.log"; }

  // An error says that nothing can be told (no rights, input/output error).
  Result<LaunchEvidence> Look() const;
  Result<LaunchOrder> ReadOrder() const;
  Status WriteOrder(const LaunchOrder& order) const;
  Status WriteToken(std::string_view token) const;
  // Reads and removes it. kNotFound if it was taken already.
  Result<std::string> TakeToken() const;
  Status WriteIdentity(const LaunchIdentity& identity) const;
  // Takes the room for an outcome; none is there until WriteOutcome.
  Status ReserveOutcome() const;
  Status WriteOutcome(const LaunchOutcome& outcome) const;
  // Removes the folder and everything in it. Success if it is not there.
  Status Remove() const;

 private:
  std::string path_;
};

}  // namespace muster::local
