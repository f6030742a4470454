// Units are types: a size is Bytes, a share of processors is MilliCpu, a time is std::chrono.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct Bytes {
  uint64_t value = 0;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
  friend Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
};
constexpr Bytes KiB(uint64_t n) { return {n << 10}; }
constexpr Bytes MiB(uint64_t n) { return {n << 20}; }
constexpr Bytes GiB(uint64_t n) { return {n << 30}; }

// Thousandths of one processor.
struct MilliCpu {
  uint64_t value = 0;
  friend auto operator<=>(const MilliCpu&, const MilliCpu&) = default;
  friend MilliCpu operator+(MilliCpu a, MilliCpu b) { return {a.value + b.value}; }
  friend MilliCpu operator-(MilliCpu a, MilliCpu b) { return {a.value - b.value}; }
};

using Duration = std::chrono::microseconds;

// "256Mi", "4G", "1.5Gi", "4096" (bytes). k M G T P are powers of 1000, Ki Mi Gi Ti Pi of 1024.
// Anything else, a negative or one over 2^63 is an error that shows the accepted forms.
Result<Bytes> ParseBytes(std::string_view text);
// "90s", "10m", "2h", "1d", "500ms", "1h30m". A number without unit is an error.
Result<Duration> ParseDuration(std::string_view text);
// "2", "0.5", "500m" (thousandths). At least 0.001.
Result<MilliCpu> ParseMilliCpu(std::string_view text);

// For people and lossless to parse again: "256Mi", "1500" when no unit divides it.
std::string Render(Bytes size);
std::string Render(Duration duration);
std::string Render(MilliCpu cpus);

}  // namespace muster
