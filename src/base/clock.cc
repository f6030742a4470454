#include "base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include <ctime>

namespace muster {
namespace {

int64_t ReadMicros(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1000000 + ts.tv_nsec / 1000;
}

class MachineClock final : public Clock {
 public:
  Now Read() const override {
    return {{ReadMicros(CLOCK_REALTIME)}, {ReadMicros(CLOCK_BOOTTIME)}};
  }
};

}  // namespace

std::string Render(WallTime time) {
  int64_t seconds = time.us / 1000000;
  int64_t millis = time.us % 1000000 / 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds)),
                     millis);
}

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

}  // namespace muster
