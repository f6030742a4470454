// One thread that runs what is posted to it: business state lives on such a loop and needs no lock.
// net::EventLoop is the real one; the simulation and tests bring their own.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace muster {

class Loop {
 public:
  using TimerId = uint64_t;
  virtual ~Loop() = default;

  // Runs `work` on the loop's thread, after what was posted before. Thread-safe.
  virtual void Post(std::function<void()> work) = 0;
  // Runs `work` once, `delay` from now (boot time). Loop's thread only.
  virtual TimerId RunAfter(Duration delay, std::function<void()> work) = 0;
  // After this the timer's work does not run. Unknown and past ids are fine. Loop's thread only.
  virtual void CancelTimer(TimerId id) = 0;
  // Calls `on_readable` whenever `fd` is readable or hung up, until UnwatchFd. The fd stays the
  // caller's. Loop's thread only. Loops of simulations do not support it and abort.
  virtual void WatchFd(int fd, std::function<void()> on_readable) = 0;
  // Must precede close(fd).
  virtual void UnwatchFd(int fd) = 0;
  virtual Now ReadClock() const = 0;
};

}  // namespace muster
