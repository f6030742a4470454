// Reports what becomes of launches, by a pidfd of each keeper: an end is known within milliseconds.
// Has a thread of its own, on which `on_event` is called; Track may be called from any thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "backends/local/local_launches.h"
#include "base/unique_fd.h"

namespace muster::local {

class LaunchWatcher {
 public:
  static Result<std::shared_ptr<LaunchWatcher>> Make(
      std::shared_ptr<const LocalLaunches> launches,
      std::function<void(const WatchEvent&)> on_event);
  ~LaunchWatcher();
  LaunchWatcher(const LaunchWatcher&) = delete;

  // Reports what is true of it now, and its end.
  void Track(LaunchId launch);
  // No event after this. Must not be called from on_event. Idempotent.
  void Stop();

 private:
  LaunchWatcher(std::shared_ptr<const LocalLaunches> launches,
                std::function<void(const WatchEvent&)> on_event, UniqueFd epoll, UniqueFd wake);

  void Run();
  std::vector<LaunchId> TakeWork();
  // Reports it if it changed, and sees to it that its end will be noticed.
  void LookAt(LaunchId launch);
  void OnKeeperEnded(LaunchId launch);

  const std::shared_ptr<const LocalLaunches> launches_;
  const std::function<void(const WatchEvent&)> on_event_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::mutex mutex_;
  bool stopping_ = false;           // under mutex_
  std::vector<LaunchId> to_track_;  // under mutex_
  // Watcher's thread only.
  std::unordered_map<LaunchId, UniqueFd> pidfds_;
  // Starting, or on a kernel without pidfds: looked at again and again.
  std::map<LaunchId, LaunchPhase> polled_;
  std::thread thread_;
};

}  // namespace muster::local
