// A bounded, named pool of threads for blocking work. Results come back to a Loop as events.
//
// Post() refuses when `capacity` items wait: the caller decides what full means. Destruction stops
// taking work, finishes what runs, drops what has not started, and joins.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace muster {

class WorkerPool {
 public:
  WorkerPool(std::string name, size_t threads, size_t capacity);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;

  // kResourceExhausted when full, kCancelled after Stop. Thread-safe.
  Status Post(std::function<void()> work);
  // Refuses new work, runs what is queued until it is done, joins. Idempotent.
  void Drain();
  size_t waiting() const;
  const std::string& name() const { return name_; }

 private:
  void Run();

  const std::string name_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster
