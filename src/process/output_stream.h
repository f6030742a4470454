// Which of an attempt's three streams bytes belong to.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

// The values stand in segment files: never renumber.
enum class OutputStream : uint8_t {
  kStdout = 1,
  kStderr = 2,
  kExecutor = 3,  // what the executor itself has to say: could not start, killed for memory
};

constexpr std::string_view ToString(OutputStream stream) {
  switch (stream) {
    case OutputStream::kStdout:
      return "stdout";
    case OutputStream::kStderr:
      return "stderr";
    case OutputStream::kExecutor:
      return "executor";
  }
  return "unknown";
}

}  // namespace muster
