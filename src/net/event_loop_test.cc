#include "net/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"
#include "support/manual_clock.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    read.Reset(fds[0]);
    write.Reset(fds[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

TEST(EventLoop, RunsPostedWorkInOrder) {
  EventLoop loop;
  std::vector<int> seen;
  for (int i = 0; i < 5; ++i) loop.Post([&, i] { seen.push_back(i); });
  loop.RunOnce();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(EventLoop, TakesWorkFromManyThreads) {
  EventLoop loop;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        loop.Post([&] {
          if (++count == 40000) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 40000);
}

TEST(EventLoop, RunsTimersInTheOrderOfTheirDeadlines) {
  EventLoop loop;
  std::vector<int> seen;
  loop.RunAfter(30ms, [&] {
    seen.push_back(3);
    loop.Stop();
  });
  loop.RunAfter(20ms, [&] { seen.push_back(2); });
  loop.RunAfter(0ms, [&] { seen.push_back(0); });
  loop.RunAfter(10ms, [&] { seen.push_back(1); });
  loop.Run();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
}

TEST(EventLoop, NeverRunsACancelledTimer) {
  EventLoop loop;
  bool ran = false;
  Loop::TimerId doomed = 0;
  loop.RunAfter(1ms, [&] { loop.CancelTimer(doomed); });
  doomed = loop.RunAfter(1ms, [&] { ran = true; });
  loop.RunAfter(20ms, [&] { loop.Stop(); });
  loop.Run();
  loop.CancelTimer(doomed);
  loop.CancelTimer(123456);
  EXPECT_FALSE(ran);
}

TEST(EventLoop, DoesNotWaitForALaterTimerWhenAnEarlierComes) {
  EventLoop loop;
  loop.RunAfter(std::chrono::hours(1), [] {});
  loop.RunOnce(1ms);
  loop.RunAfter(1ms, [&] { loop.Stop(); });
  loop.Run();
}

TEST(EventLoop, CallsAWatchAsLongAsTheFdIsReadable) {
  EventLoop loop;
  Pipe pipe;
  int calls = 0;
  loop.WatchFd(pipe.read.get(), [&] {
    if (++calls < 3) return;  // leaves the byte where it is
    char byte = 0;
    EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 1);
    loop.RunAfter(10ms, [&] { loop.Stop(); });
  });
  EXPECT_EQ(::write(pipe.write.get(), "x", 1), 1);
  loop.Run();
  EXPECT_EQ(calls, 3);
  loop.UnwatchFd(pipe.read.get());
}

TEST(EventLoop, ReportsAHangUp) {
  EventLoop loop;
  Pipe pipe;
  loop.WatchFd(pipe.read.get(), [&] { loop.Stop(); });
  pipe.write.Reset();
  loop.Run();
  loop.UnwatchFd(pipe.read.get());
}

TEST(EventLoop, LeavesTheFdToTheCaller) {
  Pipe pipe;
  {
    EventLoop loop;
    loop.WatchFd(pipe.read.get(), [] {});
    loop.UnwatchFd(pipe.read.get());
    loop.WatchFd(pipe.read.get(), [] {});
    loop.RunOnce();
  }
  EXPECT_GE(::fcntl(pipe.read.get(), F_GETFD), 0);
}

TEST(EventLoop, StopsWatchingFromWithinTheCallback) {
  EventLoop loop;
  Pipe pipe;
  int calls = 0;
  loop.WatchFd(pipe.read.get(), [&] {
    ++calls;
    loop.UnwatchFd(pipe.read.get());
    loop.RunAfter(10ms, [&] { loop.Stop(); });
  });
  EXPECT_EQ(::write(pipe.write.get(), "x", 1), 1);
  loop.Run();
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, RunsHooksOnceForAllThatWasReady) {
  EventLoop loop;
  Pipe pipes[3];
  int handled = 0;
  std::vector<int> handled_at_hook;
  for (Pipe& pipe : pipes) {
    EXPECT_EQ(::write(pipe.write.get(), "x", 1), 1);
    loop.WatchFd(pipe.read.get(), [&] {
      ++handled;
      loop.UnwatchFd(pipe.read.get());
    });
  }
  loop.Post([&] { ++handled; });
  loop.OnPassEnd([&] { handled_at_hook.push_back(handled); });
  loop.RunOnce(1s);
  EXPECT_EQ(handled_at_hook, std::vector<int>{4});
}

TEST(EventLoop, GivesHooksATurnUnderEndlessWork) {
  EventLoop loop;
  int hooks = 0;
  std::function<void()> again = [&] { loop.Post(again); };
  loop.Post(again);
  loop.OnPassEnd([&] {
    if (++hooks == 3) loop.Stop();
  });
  loop.Run();
  EXPECT_EQ(hooks, 3);
}

TEST(EventLoop, ReadsSocketsBeforeItCountsTimeouts) {
  EventLoop loop;
  Pipe pipe;
  std::string order;
  loop.WatchFd(pipe.read.get(), [&] {
    order += "socket ";
    loop.UnwatchFd(pipe.read.get());
  });
  loop.RunAfter(1ms, [&] {
    order += "timer";
    loop.Stop();
  });
  loop.Post([&] {
    EXPECT_EQ(::write(pipe.write.get(), "x", 1), 1);
    ::usleep(5000);
  });
  loop.Run();
  EXPECT_EQ(order, "socket timer");
}

TEST(EventLoop, RemembersItsLongestStandstill) {
  EventLoop loop;
  loop.Post([] { ::usleep(30000); });
  loop.RunOnce();
  EXPECT_GE(loop.TakeLongestStandstill(), 30ms);
  loop.RunOnce();
  EXPECT_LT(loop.TakeLongestStandstill(), 30ms);
  // A process that was stopped while it waited comes late to its timers.
  loop.RunAfter(1ms, [] {});
  ::usleep(30000);
  loop.RunOnce(1s);
  EXPECT_GE(loop.TakeLongestStandstill(), 25ms);
}

TEST(EventLoop, ReadsTheClockItWasGiven) {
  test::ManualClock clock;
  EventLoop loop(clock);
  clock.Advance(5s);
  EXPECT_EQ(loop.ReadClock().boot, clock.Read().boot);
}

TEST(EventLoop, ReportsSignals) {
  EventLoop loop;
  std::vector<int> seen;
  loop.WatchSignals({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 2) loop.Stop();
    if (seen.size() == 1) ::kill(::getpid(), SIGUSR2);
  });
  ::kill(::getpid(), SIGUSR1);
  loop.Run();
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

TEST(EventLoop, CanBeStoppedFromAnotherThreadAndRunAgain) {
  EventLoop loop;
  for (int i = 0; i < 3; ++i) {
    std::thread stopper([&] { loop.Stop(); });
    loop.Run();
    stopper.join();
  }
}

TEST(EventLoop, DropsWhatWaitsWhenItGoes) {
  auto held = std::make_shared<int>(1);
  {
    EventLoop loop;
    loop.Post([held] {});
    loop.RunAfter(1h, [held] {});
    loop.OnPassEnd([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace muster
