// Resources as plain numbers, for fitting: what there is, what is asked, what is left.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::core {

struct Amounts {
  int64_t milli_cpus = 0;
  int64_t memory = 0;  // 0 in a request: not counted
  int64_t gpus = 0;
  int64_t attempts = 0;
  std::vector<int64_t> named;  // by StateRep::resource_names; shorter means 0

  void Add(const Amounts& other);
  void Subtract(const Amounts& other);
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

// How many times `need` fits into `room`; at most `limit`.
int64_t FitCount(const Amounts& room, const Amounts& need, int64_t limit);

}  // namespace muster::core
