#include "executor/attempt_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/held_hash.h"

namespace muster::executor {
namespace {

bool IsRunning(Phase phase) {
  return phase == Phase::kStarting || phase == Phase::kRunning || phase == Phase::kStopping;
}

bool IsHeld(Phase phase) { return phase == Phase::kWaiting || IsRunning(phase); }

}  // namespace

HeldAttempt* AttemptTable::Find(AttemptId id) {
  auto found = attempts_.find(id);
  return found == attempts_.end() ? nullptr : &found->second;
}

std::optional<AttemptTable::PastAttempt> AttemptTable::FindPast(AttemptId id) const {
  auto found = past_.find(id);
  if (found == past_.end()) return std::nullopt;
  return found->second;
}

HeldAttempt& AttemptTable::Add(HeldAttempt attempt) {
  AttemptId id = attempt.id;
  auto [place, added] = attempts_.emplace(id, std::move(attempt));
  CHECK(added);
  Count(place->second, 1);
  if (place->second.phase == Phase::kWaiting) queue_.push_back(id);
  return place->second;
}

HeldAttempt* AttemptTable::NextThatFits() {
  while (!queue_.empty()) {
    HeldAttempt* first = Find(queue_.front());
    if (first == nullptr || first->phase != Phase::kWaiting) {
      queue_.pop_front();
      continue;
    }
    return Fits(*first) ? first : nullptr;
  }
  return nullptr;
}

bool AttemptTable::Fits(const HeldAttempt& attempt) const {
  if (running_ == 0) return true;
  if (room_.max_attempts != 0 && running_ >= room_.max_attempts) return false;
  if (used_cpus_ + attempt.what->cpus > room_.size.cpus) return false;
  bool memory_counts = room_.size.memory.value != 0 && attempt.what->memory.value != 0;
  return !memory_counts || used_memory_ + attempt.what->memory <= room_.size.memory;
}

void AttemptTable::SetPhase(HeldAttempt& attempt, Phase phase) {
  Count(attempt, -1);
  attempt.phase = phase;
  Count(attempt, 1);
}

void AttemptTable::SetSend(HeldAttempt& attempt, uint32_t send) {
  Count(attempt, -1);
  attempt.send = send;
  Count(attempt, 1);
}

void AttemptTable::Count(const HeldAttempt& attempt, int by) {
  if (IsHeld(attempt.phase)) {
    held_ += by;
    hash_ ^= HeldHash(attempt.id, attempt.send);
  }
  if (attempt.phase == Phase::kFinished) finished_ += by;
  if (attempt.phase == Phase::kAcknowledged) unpublished_ += by;
  if (!IsRunning(attempt.phase)) return;
  running_ += by;
  used_cpus_.value += by * attempt.what->cpus.value;
  used_memory_.value += by * attempt.what->memory.value;
}

void AttemptTable::Forget(HeldAttempt& attempt, Past how) {
  Count(attempt, -1);
  Remember(attempt.id, how, attempt.send);
  attempts_.erase(attempt.id);
}

void AttemptTable::Remember(AttemptId id, Past how, uint32_t send) {
  auto [place, added] = past_.try_emplace(id, PastAttempt{how, send});
  if (!added) {
    PastAttempt& known = place->second;
    if (how != Past::kDropped || known.how == Past::kDropped) known.how = how;
    known.send = std::max(known.send, send);
    return;
  }
  past_order_.push_back(id);
  if (past_order_.size() <= kRemembered) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

}  // namespace muster::executor
