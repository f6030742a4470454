#include "fakes/fake_backend.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace muster::test {
namespace {

using Fate = FakeCluster::Fate;

// What the caller hears of a call with this fate, if it is not what the call would say.
std::optional<Error> AnswerOf(Fate fate, std::string_view what) {
  switch (fate) {
    case Fate::kNone:
    case Fate::kDoubled:
      return std::nullopt;
    case Fate::kThrottled:
      return ClusterError(ErrorCode::kResourceExhausted,
                          fmt::format("{}: too many requests", what));
    case Fate::kRequestLost:
    case Fate::kAnswerLost:
    case Fate::kDelayed:
      break;
  }
  return ClusterError(ErrorCode::kOutcomeUnknown, fmt::format("{}: no answer", what));
}

class WatchHandle final : public LaunchWatch {
 public:
  WatchHandle(FakeCluster& cluster, uint64_t number) : cluster_(cluster), number_(number) {}
  ~WatchHandle() override { cluster_.RemoveWatch(number_); }

 private:
  FakeCluster& cluster_;
  const uint64_t number_;
};

class FakeLogReader final : public LogReader {
 public:
  FakeLogReader(FakeCluster& cluster, FakeCluster::Key key, uint64_t offset)
      : cluster_(cluster), key_(std::move(key)), offset_(offset) {}

  Result<LogChunk> Read(size_t max_bytes, const CallContext& call) override {
    if (auto error = AnswerOf(cluster_.DrawFate(call), "read log")) return *error;
    LogChunk chunk;
    chunk.next_offset = offset_;
    auto launch = cluster_.Get(key_);
    if (!launch) {
      chunk.kind = LogChunk::Kind::kGone;
    } else if (offset_ < launch->log.size()) {
      chunk.kind = LogChunk::Kind::kBytes;
      chunk.bytes = launch->log.substr(offset_, max_bytes);
      offset_ += chunk.bytes.size();
      chunk.next_offset = offset_;
    } else if (launch->phase == LaunchPhase::kEnded) {
      chunk.kind = LogChunk::Kind::kEnd;
    }
    return chunk;
  }

 private:
  FakeCluster& cluster_;
  const FakeCluster::Key key_;
  uint64_t offset_;
};

}  // namespace

BackendDescription FakeBackend::Describe() const {
  BackendDescription description;
  description.kind = "fake";
  description.sentence = "a cluster in memory";
  description.submit = SubmitStyle::kByName;
  description.settle = cluster_.longest_delay();
  description.limits = LimitsStyle::kContainer;
  description.name_length = 63;
  description.name_alphabet = "a-z 0-9 -";
  description.streams = true;
  description.keeps_logs = true;
  description.outlives_controller = true;
  return description;
}

Result<LaunchPlan> FakeBackend::Plan(const LaunchSpec& spec) const {
  return LaunchPlan{fmt::format("create pod {}-{}\ntoken (token)\n", owner_.store_id.substr(0, 8),
                                Render(spec.id)),
                    {}};
}

ProbeAnswer FakeBackend::Probe(const CallContext& call) {
  ProbeAnswer answer;
  answer.version = "1";
  if (auto error = AnswerOf(cluster_.DrawFate(call), "probe")) {
    answer.why = error->ToString();
  } else {
    answer.health = ProbeAnswer::Health::kHealthy;
  }
  return answer;
}

SubmitAnswer FakeBackend::SubmitOne(const LaunchSpec& spec, const CallContext& call) {
  SubmitAnswer answer{spec.id, SubmitAnswer::Kind::kAccepted, "", {}};
  const Fate fate = cluster_.DrawFate(call);
  cluster_.Carry(fate, [spec](FakeCluster& cluster) { cluster.Create(spec); });
  answer.error = AnswerOf(fate, "submit " + Render(spec.id));
  if (answer.error) {
    answer.kind =
        fate == Fate::kThrottled ? SubmitAnswer::Kind::kRefused : SubmitAnswer::Kind::kUnknown;
  } else if (auto launch = cluster_.Get(KeyOf(spec.id))) {
    answer.external_id = fmt::format("pod-{}", launch->serial);
  }
  return answer;
}

std::vector<SubmitAnswer> FakeBackend::Submit(std::span<const LaunchSpec> specs,
                                              const CallContext& call) {
  std::vector<SubmitAnswer> answers;
  for (const LaunchSpec& spec : specs) answers.push_back(SubmitOne(spec, call));
  return answers;
}

std::vector<FindAnswer> FakeBackend::Find(std::span<const FindRequest> launches,
                                          const CallContext& call) {
  std::vector<FindAnswer> answers;
  for (const FindRequest& request : launches) {
    FindAnswer answer;
    answer.id = request.id;
    answer.why = AnswerOf(cluster_.DrawFate(call), "find " + Render(request.id));
    if (!answer.why) {
      if (auto launch = cluster_.Get(KeyOf(request.id))) {
        answer.kind = FindAnswer::Kind::kThere;
        answer.external_id = fmt::format("pod-{}", launch->serial);
      } else if (clock_.Read().boot - request.last_call > cluster_.longest_delay()) {
        answer.kind = FindAnswer::Kind::kAbsent;
      } else {
        answer.why = ClusterError(ErrorCode::kUnavailable, "find: too early to say");
      }
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<LaunchPage> FakeBackend::ListOurs(const std::string& from, size_t limit,
                                         const CallContext& call) {
  if (auto error = AnswerOf(cluster_.DrawFate(call), "list launches")) return *error;
  const uint64_t after = from.empty() ? 0 : std::strtoull(from.c_str(), nullptr, 10);
  LaunchPage page;
  // By store and rising number.
  for (const FakeCluster::Launch& launch : cluster_.GetAll()) {
    ListedLaunch listed{launch.spec.id, launch.spec.owner, fmt::format("pod-{}", launch.serial),
                        Render(launch.spec.id), launch.created};
    if (launch.spec.owner.store_id != owner_.store_id) {
      if (after == 0 && page.foreign.size() < limit) page.foreign.push_back(listed);
    } else if (launch.spec.id.number > after) {
      if (page.ours.size() == limit) {
        page.next = std::to_string(page.ours.back().id.number);
        break;
      }
      page.ours.push_back(listed);
    }
  }
  return page;
}

Result<std::vector<LaunchObservation>> FakeBackend::Observe(std::span<const LaunchId> launches,
                                                            const CallContext& call) {
  if (auto error = AnswerOf(cluster_.DrawFate(call), "observe")) return *error;
  std::vector<LaunchObservation> observations;
  for (LaunchId id : launches) {
    if (auto launch = cluster_.Get(KeyOf(id))) {
      observations.push_back(cluster_.Observe(*launch));
    } else {
      LaunchObservation absent;
      absent.id = id;
      absent.phase = LaunchPhase::kAbsent;
      absent.cluster_time = clock_.Read().wall;
      observations.push_back(absent);
    }
  }
  return observations;
}

Result<std::unique_ptr<LaunchWatch>> FakeBackend::Watch(
    std::function<void(const WatchEvent&)> on_event) {
  uint64_t number = cluster_.AddWatch(owner_.store_id, std::move(on_event));
  return std::unique_ptr<LaunchWatch>(std::make_unique<WatchHandle>(cluster_, number));
}

std::vector<Status> FakeBackend::Stop(std::span<const LaunchId> launches, Duration grace,
                                      const CallContext& call) {
  std::vector<Status> statuses;
  for (LaunchId launch : launches) {
    const Fate fate = cluster_.DrawFate(call);
    cluster_.Carry(fate, [key = KeyOf(launch), grace](FakeCluster& cluster) {
      cluster.AskToStop(key, grace);
    });
    auto error = AnswerOf(fate, "stop " + Render(launch));
    statuses.push_back(error ? Status(*error) : Status::Ok());
  }
  return statuses;
}

Status FakeBackend::ForgetOne(LaunchId launch, const CallContext& call) {
  const std::string what = "forget " + Render(launch);
  auto there = cluster_.Get(KeyOf(launch));
  if (there && there->phase != LaunchPhase::kEnded) {
    return ClusterError(ErrorCode::kFailedPrecondition, what + ": it may still run");
  }
  const Fate fate = cluster_.DrawFate(call);
  cluster_.Carry(fate, [key = KeyOf(launch)](FakeCluster& cluster) { cluster.Erase(key); });
  if (auto error = AnswerOf(fate, what)) return *error;
  return Status::Ok();
}

std::vector<Status> FakeBackend::Forget(std::span<const LaunchId> launches,
                                        const CallContext& call) {
  std::vector<Status> statuses;
  for (LaunchId launch : launches) statuses.push_back(ForgetOne(launch, call));
  return statuses;
}

Result<std::unique_ptr<LogReader>> FakeBackend::OpenLog(LaunchId launch, uint64_t offset) {
  return std::unique_ptr<LogReader>(
      std::make_unique<FakeLogReader>(cluster_, KeyOf(launch), offset));
}

}  // namespace muster::test
