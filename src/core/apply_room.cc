// What attempts take of their executors.
#include "core/apply_parts.h"
#include "model/held_hash.h"

namespace muster::core {
namespace {

AttemptList& ListOf(Attempt& attempt) {
  return attempt.counted ? attempt.executor->counted : attempt.executor->extra;
}

void Link(StateRep& rep, uint32_t slot) {
  Attempt& attempt = rep.attempts[slot];
  AttemptList& list = ListOf(attempt);
  attempt.prev = list.tail;
  attempt.next = 0;
  if (list.tail != 0) rep.attempts[list.tail].next = slot;
  if (list.head == 0) list.head = slot;
  list.tail = slot;
  ++list.size;
  if (!attempt.counted) ++rep.waiting_there;
}

void Unlink(StateRep& rep, uint32_t slot) {
  Attempt& attempt = rep.attempts[slot];
  AttemptList& list = ListOf(attempt);
  (attempt.prev != 0 ? rep.attempts[attempt.prev].next : list.head) = attempt.next;
  (attempt.next != 0 ? rep.attempts[attempt.next].prev : list.tail) = attempt.prev;
  attempt.prev = attempt.next = 0;
  --list.size;
  if (!attempt.counted) --rep.waiting_there;
}

const Amounts& NeedOf(const StateRep& rep, const Attempt& attempt) {
  return rep.classes[attempt.job->specs[attempt.spec].ready_class]->need;
}

// The longest waiting first, as the executor starts them.
void Promote(StateRep& rep, Executor& executor) {
  while (executor.extra.head != 0) {
    uint32_t slot = executor.extra.head;
    if (FitCount(executor.free, NeedOf(rep, rep.attempts[slot]), 1) == 0) return;
    TakeRoom(rep, slot);
  }
}

}  // namespace

void Attach(StateRep& rep, uint32_t slot) {
  Attempt& attempt = rep.attempts[slot];
  Executor& executor = *attempt.executor;
  const Amounts& need = NeedOf(rep, attempt);
  attempt.counted = executor.extra.size == 0 && FitCount(executor.free, need, 1) == 1;
  if (attempt.counted) executor.free.Subtract(need);
  Link(rep, slot);
  executor.held_hash ^= HeldHash(attempt.attempt_id(), attempt.send);
  executor.idle_since.reset();
}

void TakeRoom(StateRep& rep, uint32_t slot) {
  Attempt& attempt = rep.attempts[slot];
  if (attempt.counted) return;
  Unlink(rep, slot);
  attempt.counted = true;
  attempt.executor->free.Subtract(NeedOf(rep, attempt));
  Link(rep, slot);
}

void Detach(StateRep& rep, uint32_t slot) {
  Attempt& attempt = rep.attempts[slot];
  Executor& executor = *attempt.executor;
  Unlink(rep, slot);
  if (attempt.started.us != 0) --executor.running;
  executor.held_hash ^= HeldHash(attempt.attempt_id(), attempt.send);
  if (attempt.counted) executor.free.Add(NeedOf(rep, attempt));
  attempt.counted = false;
  Promote(rep, executor);
  rep.MarkDirty(executor);
}

}  // namespace muster::core
