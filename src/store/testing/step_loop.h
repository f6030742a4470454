// A loop for tests: runs what is posted and due one piece at a time, on a clock that only it moves.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/loop.h"

namespace muster::store {

class StepLoop final : public Loop {
 public:
  void Post(std::function<void()> work) override { RunAfter(Duration{0}, std::move(work)); }
  TimerId RunAfter(Duration delay, std::function<void()> work) override {
    TimerId id = ++last_id_;
    due_.emplace(std::pair(now_.boot + std::max(delay, Duration{0}), id), std::move(work));
    return id;
  }
  void CancelTimer(TimerId id) override {
    std::erase_if(due_, [id](const auto& entry) { return entry.first.second == id; });
  }
  void WatchFd(int, std::function<void()>) override { CHECK(false); }
  void UnwatchFd(int) override { CHECK(false); }
  Now ReadClock() const override { return now_; }

  // Moves on to the next piece of work and does it; false if there is none.
  bool Step() {
    if (due_.empty()) return false;
    auto next = due_.extract(due_.begin());
    Duration passed = std::max(next.key().first - now_.boot, Duration{0});
    now_.wall = now_.wall + passed;
    now_.boot = now_.boot + passed;
    next.mapped()();
    return true;
  }
  // Everything due within `span`, and the clock moves by it.
  void RunFor(Duration span) {
    BootTime end = now_.boot + span;
    while (!due_.empty() && due_.begin()->first.first <= end) Step();
    Duration rest = std::max(end - now_.boot, Duration{0});
    now_.wall = now_.wall + rest;
    now_.boot = now_.boot + rest;
  }
  // Nothing of it runs any more: the process is gone.
  void Clear() { due_.clear(); }

 private:
  Now now_{{1'700'000'000'000'000}, {1'000'000'000}};
  std::map<std::pair<BootTime, TimerId>, std::function<void()>> due_;
  TimerId last_id_ = 0;
};

}  // namespace muster::store
