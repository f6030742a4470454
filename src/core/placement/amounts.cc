#include "core/placement/amounts.h"

#include <algorithm>

namespace muster::core {
namespace {

void Bound(int64_t room, int64_t need, int64_t& count) {
  if (need > 0) count = std::min(count, room < need ? int64_t{0} : room / need);
}

}  // namespace

void Amounts::Add(const Amounts& other) {
  milli_cpus += other.milli_cpus;
  memory += other.memory;
  gpus += other.gpus;
  attempts += other.attempts;
  if (named.size() < other.named.size()) named.resize(other.named.size());
  for (size_t i = 0; i < other.named.size(); ++i) named[i] += other.named[i];
}

void Amounts::Subtract(const Amounts& other) {
  milli_cpus -= other.milli_cpus;
  memory -= other.memory;
  gpus -= other.gpus;
  attempts -= other.attempts;
  if (named.size() < other.named.size()) named.resize(other.named.size());
  for (size_t i = 0; i < other.named.size(); ++i) named[i] -= other.named[i];
}

int64_t FitCount(const Amounts& room, const Amounts& need, int64_t limit) {
  int64_t count = limit;
  Bound(room.milli_cpus, need.milli_cpus, count);
  Bound(room.memory, need.memory, count);
  Bound(room.gpus, need.gpus, count);
  Bound(room.attempts, need.attempts, count);
  for (size_t i = 0; i < need.named.size(); ++i) {
    Bound(i < room.named.size() ? room.named[i] : 0, need.named[i], count);
  }
  return count;
}

}  // namespace muster::core
