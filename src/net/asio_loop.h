// What the files of this room that know Asio share about an EventLoop. Includes Boost: for
// event_loop.cc and byte_stream.cc only.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace muster {

// Something with bytes to hand to the operating system at the end of a pass.
class Flushable {
 public:
  virtual ~Flushable() = default;
  virtual void Flush() = 0;
};

struct AsioLoop {
  // The time now on CLOCK_BOOTTIME, microseconds.
  static int64_t BootMicros() { return SystemClock().Read().boot.us; }
  // Every completion calls this first: the pass began when the first one ran.
  void NoteHandler() {
    if (pass_began_us == 0) pass_began_us = BootMicros();
  }
  void FlushAtPassEnd(std::weak_ptr<Flushable> stream) { to_flush.push_back(std::move(stream)); }

  std::mutex mutex;
  std::vector<std::function<void()>> posted;  // guarded by mutex
  bool wake_sent = false;                     // guarded by mutex
  std::vector<std::function<void()>> running;
  std::atomic<bool> stop = false;
  std::atomic<std::thread::id> thread{};

  // (deadline, id) in order; the id finds the deadline for a cancellation.
  std::map<std::pair<int64_t, uint64_t>, std::function<void()>> timers;
  std::unordered_map<uint64_t, int64_t> timer_deadlines;
  uint64_t next_timer = 1;
  int64_t armed_us = 0;

  std::unordered_map<int, std::shared_ptr<void>> watches;
  std::vector<std::function<void()>> hooks;
  std::function<void(int)> on_signal;
  std::vector<std::weak_ptr<Flushable>> to_flush;
  int64_t pass_began_us = 0;
  int64_t longest_standstill_us = 0;

  // Last, so that it is destroyed first: pending operations hold what is above.
  boost::asio::io_context io{1};
  std::optional<boost::asio::posix::stream_descriptor> timer_fd;
  std::optional<boost::asio::signal_set> signals;
};

}  // namespace muster
