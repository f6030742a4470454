// Time is passed in. Two clocks, never mixed: wall time for what people and journals read, boot time
// (CLOCK_BOOTTIME, counts sleep, never set back) for leases, deadlines and durations.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

#include "base/units.h"

namespace muster {

// Microseconds since 1970-01-01T00:00:00Z.
struct WallTime {
  int64_t us = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
  friend WallTime operator+(WallTime t, Duration d) { return {t.us + d.count()}; }
  friend WallTime operator-(WallTime t, Duration d) { return {t.us - d.count()}; }
  friend Duration operator-(WallTime a, WallTime b) { return Duration{a.us - b.us}; }
};
// Microseconds since this machine started.
struct BootTime {
  int64_t us = 0;
  friend auto operator<=>(const BootTime&, const BootTime&) = default;
  friend BootTime operator+(BootTime t, Duration d) { return {t.us + d.count()}; }
  friend BootTime operator-(BootTime t, Duration d) { return {t.us - d.count()}; }
  friend Duration operator-(BootTime a, BootTime b) { return Duration{a.us - b.us}; }
};

// "2026-01-31T12:34:56.789Z".
std::string Render(WallTime time);

// Both clocks read at one moment.
struct Now {
  WallTime wall;
  BootTime boot;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now Read() const = 0;
};

// The machine's own clocks.
const Clock& SystemClock();

}  // namespace muster
