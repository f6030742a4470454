#include "backend/measured_backend.h"

#include <algorithm>

namespace muster {

std::string_view ToString(BackendMethod method) {
  switch (method) {
    case BackendMethod::kProbe:
      return "probe";
    case BackendMethod::kSubmit:
      return "submit";
    case BackendMethod::kFind:
      return "find";
    case BackendMethod::kListOurs:
      return "list";
    case BackendMethod::kObserve:
      return "observe";
    case BackendMethod::kWatch:
      return "watch";
    case BackendMethod::kStop:
      return "stop";
    case BackendMethod::kForget:
      return "forget";
    case BackendMethod::kReadLog:
      return "read-log";
  }
  return "unknown";
}

class MeasuredBackend::Counters {
 public:
  explicit Counters(const Clock& clock) : clock_(clock) {}

  BootTime Start() const { return clock_.Read().boot; }

  void Count(BackendMethod method, BootTime start, MethodMeasure answers) {
    Duration took = clock_.Read().boot - start;
    std::lock_guard lock(mutex_);
    MethodMeasure& measure = measures_[static_cast<size_t>(method)];
    ++measure.calls;
    measure.launches += answers.launches;
    measure.errors += answers.errors;
    measure.unknown += answers.unknown;
    measure.total += took;
    measure.longest = std::max(measure.longest, took);
    for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
      if (took <= kLatencyBounds[i]) ++measure.within[i];
    }
  }

  BackendMeasures Read() const {
    std::lock_guard lock(mutex_);
    return measures_;
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  BackendMeasures measures_;
};

namespace {

void CountError(MethodMeasure& answers, const Error& error) {
  ++(error.code == ErrorCode::kOutcomeUnknown ? answers.unknown : answers.errors);
}

template <typename T>
MethodMeasure CountOf(const Result<T>& result, uint64_t launches) {
  MethodMeasure answers{.launches = launches};
  if (!result.ok()) CountError(answers, result.error());
  return answers;
}

MethodMeasure CountOf(const std::vector<Status>& statuses) {
  MethodMeasure answers{.launches = statuses.size()};
  for (const Status& status : statuses) {
    if (!status.ok()) CountError(answers, status.error());
  }
  return answers;
}

class MeasuredLogReader final : public LogReader {
 public:
  MeasuredLogReader(std::unique_ptr<LogReader> inner,
                    std::shared_ptr<MeasuredBackend::Counters> counters)
      : inner_(std::move(inner)), counters_(std::move(counters)) {}

  Result<LogChunk> Read(size_t max_bytes, const CallContext& call) override {
    BootTime start = counters_->Start();
    auto chunk = inner_->Read(max_bytes, call);
    counters_->Count(BackendMethod::kReadLog, start, CountOf(chunk, 1));
    return chunk;
  }

 private:
  std::unique_ptr<LogReader> inner_;
  std::shared_ptr<MeasuredBackend::Counters> counters_;
};

}  // namespace

MeasuredBackend::MeasuredBackend(std::unique_ptr<Backend> inner, const Clock& clock)
    : inner_(std::move(inner)), counters_(std::make_shared<Counters>(clock)) {}
MeasuredBackend::~MeasuredBackend() = default;

BackendMeasures MeasuredBackend::Read() const { return counters_->Read(); }

ProbeAnswer MeasuredBackend::Probe(const CallContext& call) {
  BootTime start = counters_->Start();
  ProbeAnswer answer = inner_->Probe(call);
  bool healthy = answer.health == ProbeAnswer::Health::kHealthy;
  counters_->Count(BackendMethod::kProbe, start, {.errors = healthy ? 0U : 1U});
  return answer;
}

std::vector<SubmitAnswer> MeasuredBackend::Submit(std::span<const LaunchSpec> specs,
                                                  const CallContext& call) {
  BootTime start = counters_->Start();
  auto answers = inner_->Submit(specs, call);
  MethodMeasure count{.launches = answers.size()};
  for (const SubmitAnswer& answer : answers) {
    if (answer.kind == SubmitAnswer::Kind::kRefused) ++count.errors;
    if (answer.kind == SubmitAnswer::Kind::kUnknown) ++count.unknown;
  }
  counters_->Count(BackendMethod::kSubmit, start, count);
  return answers;
}

std::vector<FindAnswer> MeasuredBackend::Find(std::span<const FindRequest> launches,
                                              const CallContext& call) {
  BootTime start = counters_->Start();
  auto answers = inner_->Find(launches, call);
  MethodMeasure count{.launches = answers.size()};
  for (const FindAnswer& answer : answers) {
    if (answer.kind == FindAnswer::Kind::kCannotTell) ++count.unknown;
  }
  counters_->Count(BackendMethod::kFind, start, count);
  return answers;
}

Result<LaunchPage> MeasuredBackend::ListOurs(const std::string& from, size_t limit,
                                             const CallContext& call) {
  BootTime start = counters_->Start();
  auto page = inner_->ListOurs(from, limit, call);
  counters_->Count(BackendMethod::kListOurs, start,
                   CountOf(page, page.ok() ? page->ours.size() : 0));
  return page;
}

Result<std::vector<LaunchObservation>> MeasuredBackend::Observe(std::span<const LaunchId> launches,
                                                                const CallContext& call) {
  BootTime start = counters_->Start();
  auto observations = inner_->Observe(launches, call);
  counters_->Count(BackendMethod::kObserve, start, CountOf(observations, launches.size()));
  return observations;
}

Result<std::unique_ptr<LaunchWatch>> MeasuredBackend::Watch(
    std::function<void(const WatchEvent&)> on_event) {
  BootTime start = counters_->Start();
  auto watch = inner_->Watch(std::move(on_event));
  counters_->Count(BackendMethod::kWatch, start, CountOf(watch, 0));
  return watch;
}

std::vector<Status> MeasuredBackend::Stop(std::span<const LaunchId> launches, Duration grace,
                                          const CallContext& call) {
  BootTime start = counters_->Start();
  auto statuses = inner_->Stop(launches, grace, call);
  counters_->Count(BackendMethod::kStop, start, CountOf(statuses));
  return statuses;
}

std::vector<Status> MeasuredBackend::Forget(std::span<const LaunchId> launches,
                                            const CallContext& call) {
  BootTime start = counters_->Start();
  auto statuses = inner_->Forget(launches, call);
  counters_->Count(BackendMethod::kForget, start, CountOf(statuses));
  return statuses;
}

Result<std::unique_ptr<LogReader>> MeasuredBackend::OpenLog(LaunchId launch, uint64_t offset) {
  ASSIGN_OR_RETURN(std::unique_ptr<LogReader> reader, inner_->OpenLog(launch, offset));
  return std::unique_ptr<LogReader>(
      std::make_unique<MeasuredLogReader>(std::move(reader), counters_));
}

}  // namespace muster
