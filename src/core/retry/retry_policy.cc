#include "core/retry/retry_policy.h"

#include <algorithm>

#include "base/hash.h"

namespace muster::core {

uint32_t BudgetOf(RetryClass retry_class, const RetryBudgets& budgets) {
  switch (retry_class) {
    case RetryClass::kUser: return budgets.user;
    case RetryClass::kOom: return budgets.oom;
    case RetryClass::kInfrastructure: return budgets.infrastructure;
    case RetryClass::kImage:
    case RetryClass::kNone: return 0;
  }
  return 0;
}

RetryClass NextCharge(const EndReason& reason, const RetryBudgets& budgets, const Charges& used) {
  RetryClass retry_class = RetryClassOf(reason);
  uint32_t spent = used[static_cast<size_t>(retry_class)];
  return spent < BudgetOf(retry_class, budgets) ? retry_class : RetryClass::kNone;
}

Duration BackOff(uint32_t failures, Duration first, Duration most) {
  uint32_t doublings = std::min<uint32_t>(failures == 0 ? 0 : failures - 1, 20);
  return std::min(first * (int64_t{1} << doublings), most);
}

Duration RetryDelay(std::string_view store_id, AttemptId ended) {
  Duration base = BackOff(ended.n, std::chrono::seconds(1), std::chrono::minutes(5));
  uint64_t hash = HashCombine(Hash64(store_id), HashCombine(ended.task.job.number,
                                                            HashCombine(ended.task.number, ended.n)));
  // 750 to 1,250 thousandths.
  return base * static_cast<int64_t>(750 + hash % 501) / 1000;
}

}  // namespace muster::core
