#include "control/watchers.h"

#include <algorithm>
#include <utility>

namespace muster::control {

Service::WatchId Watchers::Add(JobId job, std::function<void(const JobEvent&)> on_event) {
  Service::WatchId id = next_++;
  by_id_.emplace(id, Watcher{job, std::move(on_event)});
  by_job_[job].push_back(id);
  return id;
}

void Watchers::Remove(Service::WatchId id) {
  auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  auto& ids = by_job_[it->second.job];
  std::erase(ids, id);
  if (ids.empty()) by_job_.erase(it->second.job);
  by_id_.erase(it);
}

void Watchers::Tell(const JobEvent& event) {
  auto it = by_job_.find(event.job);
  if (it == by_job_.end()) return;
  const std::vector<Service::WatchId> ids = it->second;
  for (Service::WatchId id : ids) {
    auto found = by_id_.find(id);
    if (found == by_id_.end()) continue;
    auto on_event = found->second.on_event;
    on_event(event);
  }
}

}  // namespace muster::control
