#include "base/random.h"

#include <fmt/format.h>

namespace muster {

Random Random::FromSystem() {
  std::random_device device;
  return Random((uint64_t{device()} << 32) | device());
}

std::string MakeUuid(Random& random) {
  uint64_t high = (random.Next() & ~0xf000ULL) | 0x4000ULL;
  uint64_t low = (random.Next() & ~(0xc0ULL << 56)) | (0x80ULL << 56);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

}  // namespace muster
