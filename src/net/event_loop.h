// The real Loop: one thread that waits for sockets, timers, signals and posted work.
//
//     EventLoop loop;
//     loop.RunAfter(5s, [&] { loop.Stop(); });
//     loop.OnPassEnd([&] { journal.Flush(); });
//     loop.Run();
//
// Natural batching: a pass runs all that is ready (up to a bound, so that no one starves), then the
// timers that are due, then the pass-end hooks in their order, then hands to the operating system
// what was written to streams during the pass. So a busy loop makes one journal write and one send
// per peer for many messages, and an idle one does everything at once.
//
// Within a pass sockets come before timers: after a standstill (a suspended machine, a long
// handler) what peers sent meanwhile is seen before their time-outs are.
//
// The thread that calls Run or RunOnce is the loop's thread. Everything made on a loop (streams,
// servers, sockets) must be gone before it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"

namespace muster {

struct AsioLoop;

class EventLoop final : public Loop {
 public:
  explicit EventLoop(const Clock& clock = SystemClock());
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;

  // Thread-safe.
  void Post(std::function<void()> work) override;
  // Timers count CLOCK_BOOTTIME of this machine, whatever clock was passed in.
  TimerId RunAfter(Duration delay, std::function<void()> work) override;
  void CancelTimer(TimerId id) override;
  // An fd that epoll refuses (a plain file) counts as always readable: called once in each pass.
  void WatchFd(int fd, std::function<void()> on_readable) override;
  void UnwatchFd(int fd) override;
  Now ReadClock() const override;

  // Until Stop. May be called again afterwards.
  void Run();
  // Makes Run return after the pass that is running. Thread-safe.
  void Stop();
  // One pass; waits up to `wait` for something to do.
  void RunOnce(Duration wait = Duration{0});

  // `hook` runs after each pass, before what was written is sent. What a hook posts or writes
  // belongs to it: writes go out at once, posted work runs in the next pass.
  void OnPassEnd(std::function<void()> hook);
  // From now on these signals no longer do what they did; `on_signal` gets the number. Once.
  void WatchSignals(const std::vector<int>& signals, std::function<void(int)> on_signal);

  // The longest time since the last call in which the loop did not look at its sockets: the longest
  // pass, or by how much a timer came late. Machine's suspension counts when a timer was due.
  Duration TakeLongestStandstill();

  // For the files of this room.
  AsioLoop& asio() { return *asio_; }

 private:
  struct Watch;
  void RunPass(bool block, Duration wait);
  void WaitForWork(bool block, Duration wait);
  size_t RunPosted();
  void RunDueTimers();
  void ArmTimer();
  void AwaitTimer();
  void AwaitReadable(const std::shared_ptr<Watch>& watch);
  void AwaitSignal();

  const Clock& clock_;
  std::unique_ptr<AsioLoop> asio_;
};

}  // namespace muster
