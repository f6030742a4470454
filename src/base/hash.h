// Hashes with fixed results on every machine: journals, names and jitter depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace muster {

// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes`, continued from `crc`.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// Mixes 64 bits so that each input bit changes about half of the output bits (the finaliser of
// SplitMix64, Steele, Lea and Flood 2014).
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
constexpr uint64_t HashCombine(uint64_t seed, uint64_t value) { return Mix64(seed ^ Mix64(value)); }
// FNV-1a, 64 bits.
constexpr uint64_t Hash64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace muster
