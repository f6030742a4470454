// Who wants to know of a job's changes. Core thread; owned by the service that tells them.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "control/service.h"

namespace muster::control {

class Watchers {
 public:
  Service::WatchId Add(JobId job, std::function<void(const JobEvent&)> on_event);
  void Remove(Service::WatchId id);
  // A watcher may remove itself or others, or add some, while it is told.
  void Tell(const JobEvent& event);
  size_t size() const { return by_id_.size(); }

 private:
  struct Watcher {
    JobId job;
    std::function<void(const JobEvent&)> on_event;
  };
  Service::WatchId next_ = 1;
  std::unordered_map<Service::WatchId, Watcher> by_id_;
  std::unordered_map<JobId, std::vector<Service::WatchId>> by_job_;
};

}  // namespace muster::control
