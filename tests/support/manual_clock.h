// A clock that tests move.
#pragma once

#include "base/clock.h"

namespace muster::test {

class ManualClock final : public Clock {
 public:
  Now Read() const override { return now_; }
  void Advance(Duration by) {
    now_.wall = now_.wall + by;
    now_.boot = now_.boot + by;
  }
  // Wall time jumps, boot time does not: what a clock that is set does.
  void JumpWall(Duration by) { now_.wall = now_.wall + by; }

 private:
  Now now_{{1'700'000'000'000'000}, {1'000'000'000}};
};

}  // namespace muster::test
