// Blocking work of the store, done off the loop, one piece after another in order; answers come
// back on the loop. A store has two: one syncs, one writes snapshots.
//
// ThreadBackground is the real one (one thread of its own). LoopBackground does the work on the
// loop itself, a random while later: for the simulation, where everything is one thread and one
// seed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"
#include "base/worker_pool.h"

namespace muster::store {

class Background {
 public:
  virtual ~Background() = default;
  // Loop's thread only. `work` must not touch what lives on the loop; `done` runs on the loop.
  // After the Background is destroyed neither starts any more.
  virtual void Start(std::function<Status()> work, std::function<void(Status)> done) = 0;
};

// Destroyed on the loop's thread: waits for the work that runs, drops the rest.
class ThreadBackground final : public Background {
 public:
  ThreadBackground(Loop& loop, std::string name);
  ~ThreadBackground() override;
  void Start(std::function<Status()> work, std::function<void(Status)> done) override;

 private:
  Loop& loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // read and set on the loop's thread
  WorkerPool pool_;
};

class LoopBackground final : public Background {
 public:
  // Each piece of work starts up to `longest_wait` after it could.
  LoopBackground(Loop& loop, Random& random, Duration longest_wait);
  ~LoopBackground() override;
  void Start(std::function<Status()> work, std::function<void(Status)> done) override;

 private:
  Loop& loop_;
  Random& random_;
  const Duration longest_wait_;
  BootTime free_at_;
  BootTime answered_at_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::store
