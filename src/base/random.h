// Randomness is passed in: one seed drives a whole test.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace muster {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Seeded from the operating system.
  static Random FromSystem();
  uint64_t Next() { return engine_(); }
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return std::uniform_int_distribution<uint64_t>(0, bound - 1)(engine_); }
  // True with probability `percent` / 100.
  bool Percent(unsigned percent) { return Below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

// A random (version 4) UUID, lower case.
std::string MakeUuid(Random& random);

}  // namespace muster
