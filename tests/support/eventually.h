// Waits for something that real processes do: polls until `condition` holds or `limit` has passed.
//     EXPECT_TRUE(Eventually([&] { return Exists(path); }, 5s));
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace muster::test {

inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds limit = std::chrono::seconds(10),
                       std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace muster::test
