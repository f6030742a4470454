// Whether and when a task is tried again. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/units.h"
#include "model/end_reason.h"
#include "model/job_spec.h"

namespace muster::core {

// Retries used so far, by RetryClass.
using Charges = std::array<uint16_t, 5>;

// The class to charge for one more attempt after `reason`; kNone: there is no further attempt.
RetryClass NextCharge(const EndReason& reason, const RetryBudgets& budgets, const Charges& used);
uint32_t BudgetOf(RetryClass retry_class, const RetryBudgets& budgets);

// Before attempt n + 1, after n: 1 s, doubled with each attempt up to 5 min, ±25 % by a hash of store,
// task and attempt.
Duration RetryDelay(std::string_view store_id, AttemptId ended);

// Doubles from `first` with each of `failures` (from 1) up to `most`.
Duration BackOff(uint32_t failures, Duration first, Duration most);

}  // namespace muster::core
