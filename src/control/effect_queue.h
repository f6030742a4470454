// Effects wait here until the journal has what they stand on.
//
// Effects of one pass share a journal position. Written ones are released at once when that position is
// written, durable ones when it is durable; among those of one kind the order is kept. Core thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "core/effect.h"

namespace muster::control {

class EffectQueue {
 public:
  using Position = uint64_t;
  using CarryOut = std::function<void(core::EffectBody&&)>;

  // Adds effects that stand on `position`; hands over those that need no more than written.
  void AddWritten(Position position, core::Effects&& effects, const CarryOut& carry_out) {
    for (core::Effect& effect : effects) {
      if (effect.after == core::After::kDurable && position > durable_) {
        waiting_.push_back({position, std::move(effect.body)});
      } else {
        carry_out(std::move(effect.body));
      }
    }
  }
  void ReleaseDurable(Position durable, const CarryOut& carry_out) {
    durable_ = std::max(durable_, durable);
    while (!waiting_.empty() && waiting_.front().position <= durable_) {
      core::EffectBody body = std::move(waiting_.front().body);
      waiting_.pop_front();
      carry_out(std::move(body));
    }
  }
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Position position = 0;
    core::EffectBody body;
  };
  Position durable_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace muster::control
