// main() of every test program: prints the seed, so that a failing order can be run again with
// --gtest_random_seed.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  std::printf("seed %d\n", ::testing::GTEST_FLAG(random_seed));
  return RUN_ALL_TESTS();
}
