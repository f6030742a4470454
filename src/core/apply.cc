#include "core/apply.h"

#include <variant>

#include "core/apply_parts.h"

namespace muster::core {

void Apply(State& state, const Fact& fact) {
  std::visit([&](const auto& body) { ApplyFact(state.rep(), body); }, fact);
}

}  // namespace muster::core
