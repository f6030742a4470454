#include "backends/local/launch_watcher.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <utility>

namespace muster::local {
namespace {

constexpr uint64_t kWakeTag = 0;  // launches are numbered from 1
constexpr int kPollMilliseconds = 10;
constexpr Duration kFinishLimit{std::chrono::seconds(5)};

}  // namespace

Result<std::shared_ptr<LaunchWatcher>> LaunchWatcher::Make(
    std::shared_ptr<const LocalLaunches> launches,
    std::function<void(const WatchEvent&)> on_event) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoError("make an epoll", errno);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoError("make an eventfd", errno);
  epoll_event readable{};
  readable.events = EPOLLIN;
  readable.data.u64 = kWakeTag;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &readable) != 0) {
    return ErrnoError("watch an eventfd", errno);
  }
  std::shared_ptr<LaunchWatcher> watcher(new LaunchWatcher(std::move(launches), std::move(on_event),
                                                           std::move(epoll), std::move(wake)));
  watcher->thread_ = std::thread([raw = watcher.get()] { raw->Run(); });
  return watcher;
}

LaunchWatcher::LaunchWatcher(std::shared_ptr<const LocalLaunches> launches,
                             std::function<void(const WatchEvent&)> on_event, UniqueFd epoll,
                             UniqueFd wake)
    : launches_(std::move(launches)),
      on_event_(std::move(on_event)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)) {}

LaunchWatcher::~LaunchWatcher() { Stop(); }

void LaunchWatcher::Track(LaunchId launch) {
  {
    std::lock_guard lock(mutex_);
    to_track_.push_back(launch);
  }
  ::eventfd_write(wake_.get(), 1);
}

void LaunchWatcher::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

std::vector<LaunchId> LaunchWatcher::TakeWork() {
  std::lock_guard lock(mutex_);
  return std::exchange(to_track_, {});
}

void LaunchWatcher::Run() {
  std::array<epoll_event, 64> events{};
  for (;;) {
    int count = ::epoll_wait(epoll_.get(), events.data(), events.size(),
                             polled_.empty() ? -1 : kPollMilliseconds);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[static_cast<size_t>(i)].data.u64;
      if (tag != kWakeTag) {
        OnKeeperEnded(LaunchId{tag});
        continue;
      }
      eventfd_t ignored = 0;
      ::eventfd_read(wake_.get(), &ignored);
      for (LaunchId launch : TakeWork()) {
        polled_.erase(launch);  // report it, whatever was reported before
        LookAt(launch);
      }
    }
    std::vector<LaunchId> polled;
    for (const auto& [launch, phase] : polled_) polled.push_back(launch);
    for (LaunchId launch : polled) LookAt(launch);
  }
}

void LaunchWatcher::OnKeeperEnded(LaunchId launch) {
  auto found = pidfds_.find(launch);
  if (found == pidfds_.end()) return;
  // Before close: a child in the making may hold a copy, and the registration would outlive the
  // close.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.get(), nullptr);
  pidfds_.erase(found);
  LookAt(launch);
}

void LaunchWatcher::LookAt(LaunchId launch) {
  LaunchObservation seen = launches_->Observe(launch, kFinishLimit);
  const auto reported = polled_.find(launch);
  if (reported == polled_.end() || reported->second != seen.phase) on_event_(seen);
  polled_.erase(launch);
  if (seen.phase == LaunchPhase::kPending || seen.phase == LaunchPhase::kUnknown) {
    polled_[launch] = seen.phase;
    return;
  }
  if (seen.phase != LaunchPhase::kRunning || pidfds_.contains(launch)) return;
  auto evidence = launches_->FolderOf(launch).Look();
  if (!evidence.ok() || !evidence->identity) {
    polled_[launch] = seen.phase;
    return;
  }
  auto pidfd = OpenProcess(evidence->identity->keeper);
  epoll_event readable{};
  readable.events = EPOLLIN;
  readable.data.u64 = launch.number;
  if (!pidfd.ok() || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd->get(), &readable) != 0) {
    polled_[launch] = seen.phase;  // ended since, or a kernel without pidfds
    return;
  }
  pidfds_.emplace(launch, std::move(*pidfd));
}

}  // namespace muster::local
