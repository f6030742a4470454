// A loop on poll() for the tests of this room, run by the test itself.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace muster::test {

class TestLoop final : public Loop {
 public:
  void Post(std::function<void()> work) override { RunAfter(Duration(0), std::move(work)); }
  TimerId RunAfter(Duration delay, std::function<void()> work) override {
    timers_[{ReadClock().boot + delay, ++last_timer_}] = std::move(work);
    return last_timer_;
  }
  void CancelTimer(TimerId id) override {
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }
  void WatchFd(int fd, std::function<void()> on_readable) override {
    watched_[fd] = std::move(on_readable);
  }
  void UnwatchFd(int fd) override { watched_.erase(fd); }
  Now ReadClock() const override { return SystemClock().Read(); }

  // Runs until `done` says true, `limit` at most. Returns what `done` said last.
  bool RunUntil(const std::function<bool()>& done, Duration limit = std::chrono::seconds(60)) {
    const BootTime end = ReadClock().boot + limit;
    while (!done()) {
      if (ReadClock().boot > end) return false;
      RunOnce();
    }
    return true;
  }

 private:
  void RunOnce() {
    std::vector<pollfd> fds;
    for (const auto& [fd, work] : watched_) fds.push_back({fd, POLLIN, 0});
    ::poll(fds.data(), fds.size(), 5);
    for (const pollfd& fd : fds) {
      if (fd.revents == 0) continue;
      auto found = watched_.find(fd.fd);
      if (found == watched_.end()) continue;
      auto work = found->second;  // it may unwatch itself
      work();
    }
    while (!timers_.empty() && timers_.begin()->first.first <= ReadClock().boot) {
      auto work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      work();
    }
  }

  std::map<int, std::function<void()>> watched_;
  std::map<std::pair<BootTime, TimerId>, std::function<void()>> timers_;
  TimerId last_timer_ = 0;
};

}  // namespace muster::test
