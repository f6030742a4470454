#include "base/worker_pool.h"

#include <fmt/format.h>
#include <pthread.h>

#include <utility>

namespace muster {

WorkerPool::WorkerPool(std::string name, size_t threads, size_t capacity)
    : name_(std::move(name)), capacity_(capacity) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
    pthread_setname_np(threads_.back().native_handle(), name_.substr(0, 15).c_str());
  }
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    queue_.clear();
  }
  Drain();
}

Status WorkerPool::Post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Error{ErrorCode::kCancelled, ErrorOwner::kUs, name_ + " is stopping", ""};
    if (queue_.size() >= capacity_) {
      return Error{ErrorCode::kResourceExhausted, ErrorOwner::kUs,
                   fmt::format("{} is full: {} items wait", name_, queue_.size()), ""};
    }
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
  return Status::Ok();
}

void WorkerPool::Drain() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t WorkerPool::waiting() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace muster
