#include "net/event_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "net/asio_loop.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Handlers in one pass before hooks and timers get their turn.
constexpr size_t kPassBound = 512;

}  // namespace

// A descriptor that belongs to the caller: released, never closed.
struct EventLoop::Watch {
  Watch(asio::io_context& io, std::function<void()> work) : fd(io), on_readable(std::move(work)) {}
  asio::posix::stream_descriptor fd;
  std::function<void()> on_readable;
  bool stopped = false;
};

EventLoop::EventLoop(const Clock& clock) : clock_(clock), asio_(std::make_unique<AsioLoop>()) {
  int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  CHECK(fd >= 0);
  asio_->timer_fd.emplace(asio_->io, fd);
  AwaitTimer();
}

EventLoop::~EventLoop() {
  // What waits may own streams and post once more on its way out.
  asio_->hooks.clear();
  asio_->on_signal = nullptr;
  while (!asio_->posted.empty() || !asio_->timers.empty()) {
    std::exchange(asio_->posted, {}).clear();
    std::exchange(asio_->timers, {}).clear();
  }
  for (auto& [fd, watch] : asio_->watches) std::static_pointer_cast<Watch>(watch)->fd.release();
  asio_->watches.clear();
}

void EventLoop::Post(std::function<void()> work) {
  bool wake = false;
  {
    std::lock_guard lock(asio_->mutex);
    asio_->posted.push_back(std::move(work));
    wake = !asio_->wake_sent && std::this_thread::get_id() != asio_->thread.load();
    if (wake) asio_->wake_sent = true;
  }
  if (wake) asio::post(asio_->io, [] {});
}

EventLoop::TimerId EventLoop::RunAfter(Duration delay, std::function<void()> work) {
  TimerId id = asio_->next_timer++;
  int64_t deadline = AsioLoop::BootMicros() + std::max<int64_t>(0, delay.count());
  asio_->timers.emplace(std::make_pair(deadline, id), std::move(work));
  asio_->timer_deadlines.emplace(id, deadline);
  return id;
}

void EventLoop::CancelTimer(TimerId id) {
  auto found = asio_->timer_deadlines.find(id);
  if (found == asio_->timer_deadlines.end()) return;
  asio_->timers.erase({found->second, id});
  asio_->timer_deadlines.erase(found);
}

void EventLoop::WatchFd(int fd, std::function<void()> on_readable) {
  CHECK(!asio_->watches.contains(fd));
  auto watch = std::make_shared<Watch>(asio_->io, std::move(on_readable));
  error_code error;
  watch->fd.assign(fd, error);
  CHECK(!error);
  asio_->watches.emplace(fd, watch);
  AwaitReadable(watch);
}

void EventLoop::AwaitReadable(const std::shared_ptr<Watch>& watch) {
  watch->fd.async_wait(asio::posix::descriptor_base::wait_read, [this, watch](error_code error) {
    asio_->NoteHandler();
    if (watch->stopped || error == asio::error::operation_aborted) return;
    watch->on_readable();
    if (watch->stopped) return;
    if (error) {
      // Not a kind of descriptor that epoll takes: ask again in the next pass.
      Post([this, watch] {
        if (!watch->stopped) AwaitReadable(watch);
      });
    } else {
      AwaitReadable(watch);
    }
  });
}

void EventLoop::UnwatchFd(int fd) {
  auto found = asio_->watches.find(fd);
  if (found == asio_->watches.end()) return;
  auto watch = std::static_pointer_cast<Watch>(found->second);
  asio_->watches.erase(found);
  watch->stopped = true;
  watch->fd.release();
}

Now EventLoop::ReadClock() const { return clock_.Read(); }

void EventLoop::Run() {
  while (!asio_->stop.exchange(false)) RunPass(true, Duration{0});
}

void EventLoop::Stop() {
  asio_->stop = true;
  Post([] {});
}

void EventLoop::RunOnce(Duration wait) { RunPass(false, wait); }

void EventLoop::OnPassEnd(std::function<void()> hook) { asio_->hooks.push_back(std::move(hook)); }

void EventLoop::RunPass(bool block, Duration wait) {
  asio_->thread = std::this_thread::get_id();
  asio_->pass_began_us = 0;
  WaitForWork(block, wait);
  asio_->NoteHandler();
  for (size_t ran = 0; ran < kPassBound;) {
    size_t now = RunPosted() + asio_->io.poll_one();
    if (now == 0) break;
    ran += now;
  }
  RunDueTimers();
  for (size_t i = 0; i < asio_->hooks.size(); ++i) asio_->hooks[i]();
  std::vector<std::weak_ptr<Flushable>> streams = std::exchange(asio_->to_flush, {});
  for (auto& stream : streams) {
    if (auto alive = stream.lock()) alive->Flush();
  }
  asio_->longest_standstill_us =
      std::max(asio_->longest_standstill_us, AsioLoop::BootMicros() - asio_->pass_began_us);
}

void EventLoop::WaitForWork(bool block, Duration wait) {
  {
    std::lock_guard lock(asio_->mutex);
    if (!asio_->posted.empty() || !asio_->to_flush.empty()) return;
  }
  if (!asio_->timers.empty()) {
    if (asio_->timers.begin()->first.first <= AsioLoop::BootMicros()) return;
    ArmTimer();
  }
  if (block) {
    asio_->io.run_one();
  } else if (wait > Duration{0}) {
    asio_->io.run_one_for(wait);
  }
}

size_t EventLoop::RunPosted() {
  {
    std::lock_guard lock(asio_->mutex);
    asio_->wake_sent = false;
    if (asio_->posted.empty()) return 0;
    asio_->running.swap(asio_->posted);
  }
  size_t count = asio_->running.size();
  for (auto& work : asio_->running) work();
  asio_->running.clear();
  return count;
}

void EventLoop::RunDueTimers() {
  if (asio_->timers.empty()) return;
  int64_t now = AsioLoop::BootMicros();
  // Timers set by these run in the next pass at the earliest.
  uint64_t first_new = asio_->next_timer;
  while (!asio_->timers.empty()) {
    auto first = asio_->timers.begin();
    auto [deadline, id] = first->first;
    if (deadline > now || id >= first_new) break;
    asio_->longest_standstill_us = std::max(asio_->longest_standstill_us, now - deadline);
    std::function<void()> work = std::move(first->second);
    asio_->timers.erase(first);
    asio_->timer_deadlines.erase(id);
    work();
  }
}

void EventLoop::ArmTimer() {
  int64_t deadline = asio_->timers.begin()->first.first;
  if (asio_->armed_us != 0 && asio_->armed_us <= deadline) return;
  asio_->armed_us = deadline;
  itimerspec at{};
  at.it_value.tv_sec = deadline / 1000000;
  at.it_value.tv_nsec = deadline % 1000000 * 1000;
  CHECK(::timerfd_settime(asio_->timer_fd->native_handle(), TFD_TIMER_ABSTIME, &at, nullptr) == 0);
}

void EventLoop::AwaitTimer() {
  asio_->timer_fd->async_wait(asio::posix::descriptor_base::wait_read, [this](error_code error) {
    asio_->NoteHandler();
    if (error) return;
    uint64_t fired = 0;
    if (::read(asio_->timer_fd->native_handle(), &fired, sizeof fired) > 0) asio_->armed_us = 0;
    AwaitTimer();
  });
}

void EventLoop::WatchSignals(const std::vector<int>& signals, std::function<void(int)> on_signal) {
  CHECK(!asio_->signals);
  asio_->signals.emplace(asio_->io);
  asio_->on_signal = std::move(on_signal);
  for (int signal : signals) {
    error_code error;
    asio_->signals->add(signal, error);
    if (error) LogError("watch signal {}: {}", signal, error.message());
  }
  AwaitSignal();
}

void EventLoop::AwaitSignal() {
  asio_->signals->async_wait([this](error_code error, int signal) {
    asio_->NoteHandler();
    if (error) return;
    asio_->on_signal(signal);
    AwaitSignal();
  });
}

Duration EventLoop::TakeLongestStandstill() {
  return Duration{std::exchange(asio_->longest_standstill_us, 0)};
}

}  // namespace muster
