#include "control/launch_calls.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace muster::control {
namespace {

constexpr Duration kCallDeadline = std::chrono::seconds(30);
constexpr Duration kStopGrace = std::chrono::seconds(5);

}  // namespace

LaunchCalls::LaunchCalls(Loop& loop, std::vector<Cluster> clusters,
                         std::function<void(core::Input)> take_input)
    : loop_(loop),
      clusters_(std::move(clusters)),
      take_input_(std::move(take_input)),
      started_(loop.ReadClock().boot) {}

LaunchCalls::~LaunchCalls() { Close(); }

void LaunchCalls::Close() {
  stop_.request_stop();
  watches_.clear();
}

void LaunchCalls::StartWatching() {
  for (const Cluster& cluster : clusters_) {
    auto watch = cluster.backend->Watch([this, alive = std::weak_ptr<bool>(alive_),
                                         &loop = loop_](const WatchEvent& event) {
      const auto* seen = std::get_if<LaunchObservation>(&event);
      if (seen == nullptr) return;
      loop.Post([this, alive, observation = *seen] {
        if (alive.lock()) take_input_(core::ObserveLaunch{observation});
      });
    });
    if (watch.ok()) {
      watches_.push_back(std::move(watch).value());
    } else if (watch.error().code != ErrorCode::kUnimplemented) {
      LogWarning("watch cluster {}: {}", cluster.name, watch.error().ToString());
    }
  }
}

void LaunchCalls::CountFromNow(LaunchId launch) { last_call_[launch] = loop_.ReadClock().boot; }

const Cluster* LaunchCalls::FindCluster(const std::string& name) const {
  for (const Cluster& cluster : clusters_) {
    if (cluster.name == name) return &cluster;
  }
  return nullptr;
}

CallContext LaunchCalls::Context() const {
  return {loop_.ReadClock().boot + kCallDeadline, stop_.get_token()};
}

template <typename T>
void LaunchCalls::Run(const Cluster& cluster, std::function<T()> call,
                      std::function<void(T)> done) {
  ++calls_;
  auto posted = cluster.run([call = std::move(call), done = std::move(done), &loop = loop_,
                             alive = std::weak_ptr<bool>(alive_)] {
    auto value = std::make_shared<T>(call());
    loop.Post([value, done, alive] {
      if (alive.lock()) done(std::move(*value));
    });
  });
  if (!posted.ok()) {
    ++failures_;
    LogWarning("cluster {}: {}", cluster.name, posted.error().ToString());
  }
}

void LaunchCalls::Submit(const core::SubmitLaunch& effect) {
  const Cluster* cluster = FindCluster(effect.cluster);
  if (cluster == nullptr) {
    take_input_(core::LaunchAnswer{
        effect.spec.id, core::LaunchAnswerKind::kRefused, "",
        OperatorError(ErrorCode::kNotFound,
                      fmt::format("cluster {} is not configured any more", effect.cluster))});
    return;
  }
  Run<std::vector<SubmitAnswer>>(
      *cluster,
      [backend = cluster->backend, spec = effect.spec, context = Context()] {
        return backend->Submit({&spec, 1}, context);
      },
      [this, id = effect.spec.id](std::vector<SubmitAnswer> answers) {
        last_call_[id] = loop_.ReadClock().boot;
        core::LaunchAnswer input{id, core::LaunchAnswerKind::kUnknown, "", std::nullopt};
        if (!answers.empty()) {
          input.external_id = answers[0].external_id;
          input.error = answers[0].error;
          if (answers[0].kind == SubmitAnswer::Kind::kAccepted) {
            input.kind = core::LaunchAnswerKind::kAccepted;
          } else if (answers[0].kind == SubmitAnswer::Kind::kRefused) {
            input.kind = core::LaunchAnswerKind::kRefused;
          }
        }
        if (input.kind != core::LaunchAnswerKind::kAccepted) {
          ++failures_;
          LogWarning("submit launch {}: {}", Render(id),
                     input.error ? input.error->ToString() : "no answer");
        }
        take_input_(std::move(input));
      });
}

void LaunchCalls::Stop(const core::StopLaunch& effect) {
  const Cluster* cluster = FindCluster(effect.cluster);
  if (cluster == nullptr) return;
  Run<std::vector<Status>>(
      *cluster,
      [backend = cluster->backend, id = effect.launch, context = Context()] {
        return backend->Stop({&id, 1}, kStopGrace, context);
      },
      [this, effect](std::vector<Status> answers) {
        if (!answers.empty() && !answers[0].ok()) {
          ++failures_;
          LogWarning("stop launch {}: {}", Render(effect.launch), answers[0].error().ToString());
        }
        Find({effect.cluster, effect.launch});
      });
}

void LaunchCalls::Forget(const core::ForgetLaunch& effect) {
  const Cluster* cluster = FindCluster(effect.cluster);
  if (cluster == nullptr) return;
  last_call_.erase(effect.launch);
  Run<std::vector<Status>>(
      *cluster,
      [backend = cluster->backend, id = effect.launch, context = Context()] {
        return backend->Forget({&id, 1}, context);
      },
      [this, id = effect.launch](std::vector<Status> answers) {
        if (!answers.empty() && !answers[0].ok()) {
          ++failures_;
          LogWarning("forget launch {}: {}", Render(id), answers[0].error().ToString());
        }
      });
}

void LaunchCalls::Find(const core::FindLaunch& effect) {
  const Cluster* cluster = FindCluster(effect.cluster);
  if (cluster == nullptr) return;
  // Two questions in one call on the pool: what is seen of it, and if nothing, whether that is certain.
  struct Found {
    std::optional<LaunchObservation> observation;
    FindAnswer::Kind certain = FindAnswer::Kind::kCannotTell;
  };
  BootTime last = started_;
  if (auto it = last_call_.find(effect.launch); it != last_call_.end()) last = it->second;
  Run<Found>(
      *cluster,
      [backend = cluster->backend, id = effect.launch, last, context = Context()] {
        Found found;
        auto seen = backend->Observe({&id, 1}, context);
        if (seen.ok() && !seen->empty()) found.observation = seen->front();
        bool absent = found.observation && found.observation->phase == LaunchPhase::kAbsent;
        if (!absent) return found;
        FindRequest request{id, last};
        auto answers = backend->Find({&request, 1}, context);
        if (!answers.empty()) found.certain = answers[0].kind;
        return found;
      },
      [this](Found found) {
        if (!found.observation) return;
        // Absence counts only when it is certain.
        if (found.observation->phase == LaunchPhase::kAbsent) {
          if (found.certain != FindAnswer::Kind::kAbsent) return;
          found.observation->confirmed = true;
        }
        take_input_(core::ObserveLaunch{*found.observation});
      });
}

}  // namespace muster::control
