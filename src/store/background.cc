#include "store/background.h"

#include <algorithm>
#include <utility>

namespace muster::store {
namespace {

// Syncs, reservations and snapshots that can wait at the same time: each kind is asked for once.
constexpr size_t kMostWaiting = 64;

}  // namespace

ThreadBackground::ThreadBackground(Loop& loop, std::string name)
    : loop_(loop), pool_(std::move(name), 1, kMostWaiting) {}

ThreadBackground::~ThreadBackground() { *alive_ = false; }

void ThreadBackground::Start(std::function<Status()> work, std::function<void(Status)> done) {
  auto answer = [&loop = loop_, alive = alive_](std::function<void(Status)> to, Status status) {
    loop.Post([alive, to = std::move(to), status = std::move(status)] {
      if (*alive) to(status);
    });
  };
  Status posted = pool_.Post([work = std::move(work), done, answer] { answer(done, work()); });
  if (!posted.ok()) answer(done, std::move(posted));
}

LoopBackground::LoopBackground(Loop& loop, Random& random, Duration longest_wait)
    : loop_(loop), random_(random), longest_wait_(longest_wait) {}

LoopBackground::~LoopBackground() { *alive_ = false; }

void LoopBackground::Start(std::function<Status()> work, std::function<void(Status)> done) {
  BootTime now = loop_.ReadClock().boot;
  Duration wait{
      static_cast<int64_t>(random_.Below(static_cast<uint64_t>(longest_wait_.count()) + 1))};
  free_at_ = std::max(now, free_at_) + wait;
  loop_.RunAfter(
      free_at_ - now, [this, alive = alive_, work = std::move(work), done = std::move(done)] {
        if (!*alive) return;
        Status status = work();
        BootTime done_at = loop_.ReadClock().boot;
        Duration answer_wait{static_cast<int64_t>(
            random_.Below(static_cast<uint64_t>(longest_wait_.count()) / 8 + 1))};
        answered_at_ = std::max(answered_at_, done_at + answer_wait);
        loop_.RunAfter(answered_at_ - done_at, [alive, done, status = std::move(status)] {
          if (*alive) done(status);
        });
      });
}

}  // namespace muster::store
