#include "contract/thread_backend.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace muster::test {
namespace {

std::string LabelOf(const LaunchSpec& spec, std::string_view key) {
  for (const auto& [name, value] : spec.labels) {
    if (name == key) return value;
  }
  return "";
}

std::string JobName(uint64_t number) { return fmt::format("job {}", number); }

class ThreadLogReader final : public LogReader {
 public:
  ThreadLogReader(ThreadCluster& cluster, ThreadCluster::Tag tag, uint64_t offset)
      : cluster_(cluster), tag_(std::move(tag)), offset_(offset) {}

  Result<LogChunk> Read(size_t max_bytes, const CallContext&) override {
    return cluster_.WithJob(tag_, [&](uint64_t, const ThreadCluster::Job* job) -> Result<LogChunk> {
      LogChunk chunk;
      if (job == nullptr) {
        chunk.kind = LogChunk::Kind::kGone;
      } else if (offset_ < job->log.size()) {
        chunk.kind = LogChunk::Kind::kBytes;
        chunk.bytes = job->log.substr(offset_, max_bytes);
        offset_ += chunk.bytes.size();
      } else if (job->phase == LaunchPhase::kEnded) {
        chunk.kind = LogChunk::Kind::kEnd;
      }
      chunk.next_offset = offset_;
      return chunk;
    });
  }

 private:
  ThreadCluster& cluster_;
  const ThreadCluster::Tag tag_;
  uint64_t offset_;
};

}  // namespace

ThreadCluster::~ThreadCluster() {
  {
    std::lock_guard lock(mutex_);
    for (auto& [number, job] : jobs_) job.thread.request_stop();
  }
  changed_.notify_all();
  for (auto& [number, job] : jobs_) job.thread.join();
}

uint64_t ThreadCluster::Add(const LaunchSpec& spec) {
  std::lock_guard lock(mutex_);
  const uint64_t number = ++last_number_;
  Job& job = jobs_[number];
  job.spec = spec;
  job.created = SystemClock().Read().wall;
  job.visible_at = SystemClock().Read().boot + kLag;
  job.thread = std::jthread([this, number](const std::stop_token& stop) { RunJob(number, stop); });
  return number;
}

void ThreadCluster::RunJob(uint64_t number, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Job& job = jobs_[number];
  const Tag tag{job.spec.owner.store_id, job.spec.id.number};
  if (!claims_.emplace(tag, number).second) {
    job.is_double = true;
    job.phase = LaunchPhase::kEnded;
    return;
  }
  job.phase = LaunchPhase::kRunning;
  job.log = LabelOf(job.spec, "text");
  ++starts_[tag];
  const std::string behave = LabelOf(job.spec, "behave");
  if (behave == "exit") {
    job.exit_code = std::atoi(LabelOf(job.spec, "code").c_str());
  } else if (behave == "signal") {
    job.exit_signal = std::atoi(LabelOf(job.spec, "signal").c_str());
  } else {
    changed_.wait(lock, stop, [&] { return job.stop_by.has_value(); });
    if (behave != "stubborn") {
      job.exit_code = 0;
    } else {
      while (!stop.stop_requested() && *job.stop_by > SystemClock().Read().boot) {
        changed_.wait_for(lock, stop, *job.stop_by - SystemClock().Read().boot,
                          [] { return false; });
      }
      job.exit_signal = SIGKILL;
    }
  }
  job.phase = LaunchPhase::kEnded;
}

std::vector<std::pair<uint64_t, LaunchSpec>> ThreadCluster::Visible() {
  std::lock_guard lock(mutex_);
  const BootTime now = SystemClock().Read().boot;
  std::vector<std::pair<uint64_t, LaunchSpec>> visible;
  for (const auto& [number, job] : jobs_) {
    if (job.visible_at <= now && !job.is_double) visible.emplace_back(number, job.spec);
  }
  return visible;
}

void ThreadCluster::Stop(const Tag& tag, Duration grace) {
  {
    std::lock_guard lock(mutex_);
    const BootTime end = SystemClock().Read().boot + grace;
    for (auto& [number, job] : jobs_) {
      if (Tag{job.spec.owner.store_id, job.spec.id.number} != tag) continue;
      job.stop_by = job.stop_by ? std::min(*job.stop_by, end) : end;
    }
  }
  changed_.notify_all();
}

bool ThreadCluster::Erase(const Tag& tag) {
  std::vector<std::jthread> ended;  // joined without the lock
  std::lock_guard lock(mutex_);
  for (const auto& [number, job] : jobs_) {
    if (Tag{job.spec.owner.store_id, job.spec.id.number} == tag &&
        job.phase != LaunchPhase::kEnded) {
      return false;
    }
  }
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (Tag{job->second.spec.owner.store_id, job->second.spec.id.number} != tag) {
      ++job;
      continue;
    }
    ended.push_back(std::move(job->second.thread));
    job = jobs_.erase(job);
  }
  claims_.erase(tag);
  return true;
}

size_t ThreadCluster::StartsOf(const Tag& tag) const {
  std::lock_guard lock(mutex_);
  auto found = starts_.find(tag);
  return found == starts_.end() ? 0 : found->second;
}

BackendDescription ThreadBackend::Describe() const {
  BackendDescription description;
  description.kind = "threads";
  description.sentence = "threads of the test";
  description.submit = SubmitStyle::kFind;
  description.settle = 2 * ThreadCluster::kLag;
  description.name_length = 255;
  description.name_alphabet = "any";
  description.keeps_logs = true;
  return description;
}

Result<LaunchPlan> ThreadBackend::Plan(const LaunchSpec& spec) const {
  return LaunchPlan{fmt::format("thread for {} of {}\n", Render(spec.id), owner_.store_id), {}};
}

ProbeAnswer ThreadBackend::Probe(const CallContext&) {
  return {ProbeAnswer::Health::kHealthy, "", "1", {"start threads"}};
}

std::vector<SubmitAnswer> ThreadBackend::Submit(std::span<const LaunchSpec> specs,
                                                const CallContext&) {
  std::vector<SubmitAnswer> answers;
  for (const LaunchSpec& spec : specs) {
    uint64_t number =
        cluster_.WithJob(TagOf(spec.id), [](uint64_t found, const auto*) { return found; });
    if (number == 0) number = cluster_.Add(spec);
    answers.push_back({spec.id, SubmitAnswer::Kind::kAccepted, JobName(number), {}});
  }
  return answers;
}

FindAnswer ThreadBackend::FindOne(const FindRequest& request, const CallContext& call) {
  FindAnswer answer;
  answer.id = request.id;
  for (;;) {
    const BootTime now = SystemClock().Read().boot;
    const bool late_enough = now - request.last_call >= Describe().settle;
    uint64_t number =
        cluster_.WithJob(TagOf(request.id), [](uint64_t found, const auto*) { return found; });
    if (number != 0) {
      answer.kind = FindAnswer::Kind::kThere;
      answer.external_id = JobName(number);
      return answer;
    }
    if (late_enough) {
      answer.kind = FindAnswer::Kind::kAbsent;
      return answer;
    }
    if (now >= call.deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  answer.why = ClusterError(ErrorCode::kUnavailable, "find: too early to say");
  return answer;
}

std::vector<FindAnswer> ThreadBackend::Find(std::span<const FindRequest> launches,
                                            const CallContext& call) {
  std::vector<FindAnswer> answers;
  for (const FindRequest& request : launches) answers.push_back(FindOne(request, call));
  return answers;
}

Result<LaunchPage> ThreadBackend::ListOurs(const std::string& from, size_t limit,
                                           const CallContext&) {
  const uint64_t after = from.empty() ? 0 : std::strtoull(from.c_str(), nullptr, 10);
  auto jobs = cluster_.Visible();
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.second.id < b.second.id; });
  LaunchPage page;
  for (const auto& [number, spec] : jobs) {
    ListedLaunch listed{spec.id, spec.owner, JobName(number), Render(spec.id), {}};
    if (spec.owner.store_id != owner_.store_id) {
      if (after == 0) page.foreign.push_back(listed);
    } else if (spec.id.number > after) {
      if (page.ours.size() == limit) {
        page.next = std::to_string(page.ours.back().id.number);
        break;
      }
      page.ours.push_back(listed);
    }
  }
  return page;
}

Result<std::vector<LaunchObservation>> ThreadBackend::Observe(std::span<const LaunchId> launches,
                                                              const CallContext&) {
  std::vector<LaunchObservation> observations;
  for (LaunchId launch : launches) {
    LaunchObservation seen;
    seen.id = launch;
    seen.cluster_time = SystemClock().Read().wall;
    cluster_.WithJob(TagOf(launch), [&](uint64_t number, const ThreadCluster::Job* job) {
      seen.phase = job == nullptr ? LaunchPhase::kAbsent : job->phase;
      if (job == nullptr) return;
      seen.external_id = JobName(number);
      seen.confirmed = true;
      if (job->phase != LaunchPhase::kEnded) return;
      seen.exit_code = job->exit_code;
      seen.exit_signal = job->exit_signal;
    });
    observations.push_back(std::move(seen));
  }
  return observations;
}

Result<std::unique_ptr<LaunchWatch>> ThreadBackend::Watch(std::function<void(const WatchEvent&)>) {
  return ClusterError(ErrorCode::kUnimplemented, "watch launches: threads have no stream");
}

std::vector<Status> ThreadBackend::Stop(std::span<const LaunchId> launches, Duration grace,
                                        const CallContext&) {
  for (LaunchId launch : launches) cluster_.Stop(TagOf(launch), grace);
  return std::vector<Status>(launches.size());
}

std::vector<Status> ThreadBackend::Forget(std::span<const LaunchId> launches, const CallContext&) {
  std::vector<Status> statuses;
  for (LaunchId launch : launches) {
    statuses.push_back(cluster_.Erase(TagOf(launch)) ? Status::Ok()
                                                     : ClusterError(ErrorCode::kFailedPrecondition,
                                                                    "forget: it may still run"));
  }
  return statuses;
}

Result<std::unique_ptr<LogReader>> ThreadBackend::OpenLog(LaunchId launch, uint64_t offset) {
  return std::unique_ptr<LogReader>(
      std::make_unique<ThreadLogReader>(cluster_, TagOf(launch), offset));
}

}  // namespace muster::test
