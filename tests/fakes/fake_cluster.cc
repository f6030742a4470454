#include "fakes/fake_cluster.h"

#include <signal.h>

#include <algorithm>

namespace muster::test {
namespace {

std::string LabelOf(const LaunchSpec& spec, std::string_view key) {
  for (const auto& [name, value] : spec.labels) {
    if (name == key) return value;
  }
  return "";
}

FakeCluster::Key KeyOf(const LaunchSpec& spec) { return {spec.owner.store_id, spec.id.number}; }

bool HasEnded(const FakeCluster::Launch& launch) { return launch.phase == LaunchPhase::kEnded; }

}  // namespace

FakeCluster::FakeCluster(const Clock& clock, uint64_t seed, FaultMix mix)
    : clock_(clock), random_(seed), mix_(mix) {}

void FakeCluster::Settle() {
  {
    std::lock_guard lock(mutex_);
    Progress(clock_.Read().boot);
  }
  Deliver();
}

void FakeCluster::Deliver() {
  std::vector<std::pair<EventHandler, WatchEvent>> events;
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    events = std::exchange(events_, {});
    calls = std::exchange(calls_out_, {});
    if (mix_.events_reordered) {
      for (size_t i = events.size(); i > 1; --i) {
        std::swap(events[i - 1], events[random_.Below(i)]);
      }
    }
  }
  for (const auto& call : calls) call();
  for (const auto& [handler, event] : events) handler(event);
}

void FakeCluster::Progress(BootTime now) {
  // In the order of their times: a late Submit and a late Stop may come either way round.
  std::stable_sort(late_.begin(), late_.end(),
                   [](const LateEffect& a, const LateEffect& b) { return a.at < b.at; });
  while (!late_.empty() && late_.front().at <= now) {
    auto effect = std::move(late_.front().effect);
    late_.erase(late_.begin());
    effect(*this);
  }
  for (auto& [key, launch] : launches_) {
    if (launch.start_at && *launch.start_at <= now && launch.phase == LaunchPhase::kPending) {
      Start(launch, now);
    }
    if (launch.end_at && *launch.end_at <= now && !HasEnded(launch)) {
      SetPhase(launch, LaunchPhase::kEnded);
    }
  }
}

void FakeCluster::Start(Launch& launch, BootTime now) {
  ++starts_[KeyOf(launch.spec)];
  launch.log = LabelOf(launch.spec, "text");
  const std::string behave = LabelOf(launch.spec, "behave");
  if (behave == "exit") launch.exit_code = std::atoi(LabelOf(launch.spec, "code").c_str());
  if (behave == "signal") launch.exit_signal = std::atoi(LabelOf(launch.spec, "signal").c_str());
  if (launch.exit_code || launch.exit_signal) launch.end_at = now + run_for;
  SetPhase(launch, LaunchPhase::kRunning);
  if (on_start) calls_out_.emplace_back([this, spec = launch.spec] { on_start(spec); });
}

void FakeCluster::SetPhase(Launch& launch, LaunchPhase phase) {
  launch.phase = phase;
  if (node_silent_) return;
  launch.heard_phase = phase;
  Queue(launch);
}

void FakeCluster::Queue(const Launch& launch) {
  for (const auto& [number, watch] : watches_) {
    if (watch.store_id != launch.spec.owner.store_id) continue;
    if (Strikes(mix_.event_lost)) {
      ++counts_.events_lost;
      events_.emplace_back(watch.handler, ResyncNeeded{"an event was lost"});
      continue;
    }
    events_.emplace_back(watch.handler, ObserveLocked(launch));
    if (Strikes(mix_.event_doubled)) events_.emplace_back(watch.handler, ObserveLocked(launch));
  }
}

void FakeCluster::SetMix(FaultMix mix) {
  std::lock_guard lock(mutex_);
  mix_ = mix;
}

void FakeCluster::SilenceNode() {
  std::lock_guard lock(mutex_);
  node_silent_ = true;
}

void FakeCluster::HearNode() {
  {
    std::lock_guard lock(mutex_);
    node_silent_ = false;
    for (auto& [key, launch] : launches_) {
      if (launch.heard_phase != launch.phase) SetPhase(launch, launch.phase);
    }
  }
  Deliver();
}

void FakeCluster::HangCalls() {
  std::lock_guard lock(mutex_);
  hanging_ = true;
}

void FakeCluster::ReleaseCalls() {
  std::lock_guard lock(mutex_);
  hanging_ = false;
  released_.notify_all();
}

void FakeCluster::End(const StoreIdentity& owner, LaunchId launch, std::optional<int32_t> exit_code,
                      std::optional<int32_t> exit_signal, std::string raw_reason) {
  {
    std::lock_guard lock(mutex_);
    auto found = launches_.find({owner.store_id, launch.number});
    if (found == launches_.end() || HasEnded(found->second)) return;
    found->second.exit_code = exit_code;
    found->second.exit_signal = exit_signal;
    found->second.raw_reason = std::move(raw_reason);
    SetPhase(found->second, LaunchPhase::kEnded);
  }
  Deliver();
}

size_t FakeCluster::StartsOf(const StoreIdentity& owner, LaunchId launch) const {
  std::lock_guard lock(mutex_);
  auto found = starts_.find({owner.store_id, launch.number});
  return found == starts_.end() ? 0 : found->second;
}

size_t FakeCluster::launches() const {
  std::lock_guard lock(mutex_);
  return launches_.size();
}

std::optional<BootTime> FakeCluster::NextDue() const {
  std::lock_guard lock(mutex_);
  std::optional<BootTime> next;
  auto consider = [&](BootTime at) { next = next ? std::min(*next, at) : at; };
  for (const LateEffect& late : late_) consider(late.at);
  for (const auto& [key, launch] : launches_) {
    if (launch.start_at && launch.phase == LaunchPhase::kPending) consider(*launch.start_at);
    if (launch.end_at && !HasEnded(launch)) consider(*launch.end_at);
  }
  return next;
}

size_t FakeCluster::effects_under_way() const {
  std::lock_guard lock(mutex_);
  return late_.size();
}

FaultCounts FakeCluster::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

Duration FakeCluster::longest_delay() const {
  std::lock_guard lock(mutex_);
  return mix_.longest_delay;
}

FakeCluster::Fate FakeCluster::DrawFate(const CallContext& call) {
  Settle();
  std::unique_lock lock(mutex_);
  if (hanging_) {
    released_.wait(lock, call.stop, [this] { return !hanging_; });
    return Fate::kRequestLost;
  }
  auto count = [](uint64_t& counter, Fate fate) {
    ++counter;
    return fate;
  };
  if (Strikes(mix_.request_lost)) return count(counts_.request_lost, Fate::kRequestLost);
  if (Strikes(mix_.answer_lost)) return count(counts_.answer_lost, Fate::kAnswerLost);
  if (Strikes(mix_.delayed)) return count(counts_.delayed, Fate::kDelayed);
  if (Strikes(mix_.doubled)) return count(counts_.doubled, Fate::kDoubled);
  if (Strikes(mix_.throttled)) return count(counts_.throttled, Fate::kThrottled);
  return Fate::kNone;
}

void FakeCluster::Carry(Fate fate, std::function<void(FakeCluster&)> effect) {
  {
    std::lock_guard lock(mutex_);
    const BootTime now = clock_.Read().boot;
    if (fate == Fate::kDelayed || fate == Fate::kDoubled) {
      const auto longest = static_cast<uint64_t>(mix_.longest_delay.count());
      late_.push_back({now + Duration(static_cast<int64_t>(random_.Below(longest + 1))), effect});
    }
    const bool now_too = fate == Fate::kNone || fate == Fate::kAnswerLost || fate == Fate::kDoubled;
    if (now_too) effect(*this);
    Progress(now);
  }
  Deliver();
}

void FakeCluster::Create(const LaunchSpec& spec) {
  const Key key = KeyOf(spec);
  if (launches_.contains(key)) return;  // the name is taken
  Launch launch;
  launch.spec = spec;
  launch.serial = ++last_serial_;
  launch.created = clock_.Read().wall;
  launch.start_at = clock_.Read().boot + start_delay;
  Queue(launches_.emplace(key, std::move(launch)).first->second);
}

void FakeCluster::AskToStop(const Key& key, Duration grace) {
  auto found = launches_.find(key);
  if (found == launches_.end() || HasEnded(found->second)) return;
  Launch& launch = found->second;
  const BootTime now = clock_.Read().boot;
  if (on_stop) calls_out_.emplace_back([this, spec = launch.spec, grace] { on_stop(spec, grace); });
  if (launch.phase == LaunchPhase::kPending) {
    launch.raw_reason = "stopped before it started";
    launch.start_at.reset();
    SetPhase(launch, LaunchPhase::kEnded);
    return;
  }
  const bool stubborn = LabelOf(launch.spec, "behave") == "stubborn" || grace == Duration{0};
  const BootTime end = stubborn ? now + grace : now + run_for;
  if (launch.end_at && *launch.end_at <= end) return;
  launch.end_at = end;
  launch.exit_code = stubborn ? std::optional<int32_t>{} : 0;
  launch.exit_signal = stubborn ? std::optional<int32_t>{SIGKILL} : std::nullopt;
}

bool FakeCluster::Erase(const Key& key) {
  auto found = launches_.find(key);
  if (found == launches_.end()) return true;
  if (!HasEnded(found->second)) return false;
  launches_.erase(found);
  return true;
}

std::optional<FakeCluster::Launch> FakeCluster::Get(const Key& key) const {
  std::lock_guard lock(mutex_);
  auto found = launches_.find(key);
  if (found == launches_.end()) return std::nullopt;
  return found->second;
}

std::vector<FakeCluster::Launch> FakeCluster::GetAll() const {
  std::lock_guard lock(mutex_);
  std::vector<Launch> all;
  for (const auto& [key, launch] : launches_) all.push_back(launch);
  return all;
}

LaunchObservation FakeCluster::Observe(const Launch& launch) const {
  std::lock_guard lock(mutex_);
  return ObserveLocked(launch);
}

LaunchObservation FakeCluster::ObserveLocked(const Launch& launch) const {
  LaunchObservation observation;
  observation.id = launch.spec.id;
  observation.phase = node_silent_ ? launch.heard_phase : launch.phase;
  observation.external_id = fmt::format("pod-{}", launch.serial);
  observation.confirmed = !node_silent_;
  observation.node = "node-1";
  observation.cluster_time = clock_.Read().wall;
  if (observation.phase != LaunchPhase::kEnded) return observation;
  observation.raw_reason = launch.raw_reason;
  observation.exit_code = launch.exit_code;
  observation.exit_signal = launch.exit_signal;
  return observation;
}

uint64_t FakeCluster::AddWatch(std::string store_id, EventHandler handler) {
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = ++last_watch_;
    for (const auto& [key, launch] : launches_) {
      if (key.first == store_id) events_.emplace_back(handler, ObserveLocked(launch));
    }
    watches_.emplace(number, WatchEntry{std::move(store_id), std::move(handler)});
  }
  Deliver();
  return number;
}

void FakeCluster::RemoveWatch(uint64_t watch) {
  std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

}  // namespace muster::test
