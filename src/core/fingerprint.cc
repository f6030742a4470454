// A hash over everything that a restart must bring back.
#include <algorithm>

#include "base/hash.h"
#include "core/apply.h"
#include "core/state_rep.h"

namespace muster::core {
namespace {

class Hasher {
 public:
  void Add(uint64_t value) { hash_ = HashCombine(hash_, value); }
  void Add(int64_t value) { Add(static_cast<uint64_t>(value)); }
  void Add(uint32_t value) { Add(uint64_t{value}); }
  void Add(int32_t value) { Add(static_cast<uint64_t>(static_cast<int64_t>(value))); }
  void Add(std::string_view text) {
    Add(text.size());
    Add(Hash64(text));
  }
  void Add(WallTime time) { Add(time.us); }
  void Add(ExecutorId id) { Add(id.number); }
  void Add(const EndReason& reason) {
    Add(static_cast<uint64_t>(reason.kind));
    Add(reason.number);
    Add(reason.detail);
    Add(uint64_t{reason.unconfirmed});
  }
  void Add(const ExitFacts& facts) {
    Add(static_cast<uint64_t>(facts.how));
    Add(facts.code);
    Add(facts.what_failed);
    Add(static_cast<uint64_t>(facts.stop_cause));
    Add(facts.started);
    Add(facts.wall.count());
    Add(facts.user_cpu.count());
    Add(facts.system_cpu.count());
    Add(facts.max_rss.value);
    Add(facts.left_behind);
    Add(facts.output_bytes);
    Add(facts.output_dropped);
  }
  void Add(const EndedAttempt& row) {
    Add(row.n);
    Add(row.send);
    Add(row.executor);
    Add(uint64_t{row.accepted});
    Add(uint64_t{row.may_overlap});
    Add(row.planned);
    Add(row.ended);
    Add(row.reason);
    Add(row.facts);
  }
  void Add(const Attempt& attempt) {
    Add(attempt.task);
    Add(attempt.n);
    Add(attempt.send);
    Add(static_cast<uint64_t>(attempt.state));
    Add(attempt.executor->who.executor);
    Add(uint64_t{attempt.may_overlap});
    Add(attempt.planned);
    if (attempt.state == AttemptState::kEnded) {
      Add(static_cast<uint64_t>(attempt.end_kind));
      Add(attempt.end_number);
      return;
    }
    Add(static_cast<uint64_t>(attempt.stop_cause));
    Add(attempt.started);
    Add(attempt.stopping);
    Add(attempt.pid);
  }
  void Add(const ExecutorRegistered& who) {
    Add(who.executor);
    Add(who.launch.number);
    Add(who.cluster);
    Add(who.incarnation);
    Add(who.host);
    Add(who.boot_id);
    Add(who.pid);
    Add(who.capacity.cpus.value);
    Add(who.capacity.memory.value);
    Add(who.max_attempts);
    Add(who.output_dir);
    Add(who.at);
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0x6d757374;
};

void AddTrouble(Hasher& hash, const Job& job, uint32_t task, const Trouble& trouble) {
  uint8_t code = job.codes.Get(task - 1);
  uint64_t charged = 0;
  for (uint16_t count : trouble.charges) charged += count;
  bool waits = code == kBackOff || code == kAgain;
  // While an attempt lives its own send number counts.
  if (!waits && charged == 0) return;
  hash.Add(task);
  for (uint16_t count : trouble.charges) hash.Add(uint32_t{count});
  if (charged > 0) {
    hash.Add(trouble.last_executor);
    hash.Add(uint64_t{trouble.infrastructure});
    hash.Add(uint64_t{trouble.unconfirmed});
  }
  if (!waits) return;
  hash.Add(trouble.ended);
  hash.Add(trouble.send);
  if (code == kBackOff) hash.Add(trouble.not_before);
}

template <typename Map>
std::vector<uint32_t> Keys(const Map& map) {
  std::vector<uint32_t> keys;
  map.ForEach([&](uint32_t key, const auto&) { keys.push_back(key); });
  std::sort(keys.begin(), keys.end());
  return keys;
}

void AddCodes(Hasher& hash, const Job& job) {
  for (uint32_t at = 0; at < job.task_count();) {
    uint8_t code = job.codes.Get(at);
    StateColumn::Run run = job.codes.NextRun(at, job.task_count(), MaskOf(code), UINT32_MAX);
    // Whether a task runs is part of its attempt.
    hash.Add(uint64_t{code});
    hash.Add(run.count);
    at += run.count;
  }
}

void AddJob(Hasher& hash, const StateRep& rep, const Job& job) {
  hash.Add(job.id.number);
  hash.Add(job.spec->name);
  hash.Add(job.spec->cluster);
  hash.Add(job.owner);
  hash.Add(job.request_id);
  hash.Add(job.submitted);
  hash.Add(job.first_started.value_or(WallTime{-1}));
  hash.Add(job.ended.value_or(WallTime{-1}));
  hash.Add(uint64_t{job.cancel.has_value()});
  if (job.cancel) hash.Add(job.cancel->by);
  if (job.first_failure) {
    hash.Add(job.first_failure->first);
    hash.Add(job.first_failure->second);
  }
  AddCodes(hash, job);
  job.ended_attempts.ForEachTask([&](uint32_t at) {
    hash.Add(at);
    for (const EndedAttempt& row : job.ended_attempts.Read(at)) hash.Add(row);
  });
  for (const auto& [first, note] : job.notes) {
    hash.Add(first);
    hash.Add(note.count);
    hash.Add(note.reason);
    hash.Add(note.at);
  }
  for (uint32_t task : Keys(job.trouble)) AddTrouble(hash, job, task, *job.trouble.Find(task));
  for (uint32_t task : Keys(job.attempts)) hash.Add(*rep.FindAttempt(job, task));
}

}  // namespace

uint64_t Fingerprint(const State& state) {
  const StateRep& rep = state.rep();
  Hasher hash;
  hash.Add(rep.epoch);
  hash.Add(uint64_t{rep.clean});
  hash.Add(rep.boot_id);
  hash.Add(rep.last_job);
  hash.Add(rep.last_executor);
  hash.Add(rep.last_launch);
  for (const auto& [number, job] : rep.jobs) AddJob(hash, rep, *job);
  for (const auto& [number, executor] : rep.executors) {
    hash.Add(executor->who);
    hash.Add(static_cast<uint64_t>(executor->state));
    if (executor->state == ExecutorState::kRegistered) continue;
    if (executor->state == ExecutorState::kServing) continue;
    hash.Add(executor->why);
    hash.Add(executor->changed);
  }
  for (const auto& [number, launch] : rep.launches) {
    hash.Add(launch.planned.launch.number);
    hash.Add(launch.planned.cluster);
    hash.Add(launch.planned.executor);
    hash.Add(launch.planned.at);
    hash.Add(launch.epoch);
    hash.Add(static_cast<uint64_t>(launch.state));
    hash.Add(launch.external_id);
    hash.Add(uint64_t{launch.registered});
    if (launch.state == LaunchState::kEnded) {
      hash.Add(launch.end);
      hash.Add(launch.words);
      hash.Add(launch.ended);
    }
    if (launch.state == LaunchState::kStopping) hash.Add(launch.words);
  }
  return hash.hash();
}

}  // namespace muster::core
