// For the tests of this room: a TaskRunner with a spawner of its own, and what it reported.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process/process_tree.h"
#include "process/task_runner.h"
#include "process/test_loop.h"

namespace muster::test {

inline size_t CountOpenFds() {
  size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

class RunnerFixture {
 public:
  struct Run {
    pid_t pid = 0;
    WallTime started;
    std::string out;
    std::string err;
    bool ended = false;
    ExitFacts facts;
  };

  RunnerFixture() {
    auto spawner = Spawner::Fork();
    EXPECT_TRUE(spawner.ok());
    zygote = spawner->pid();
    TaskRunner::Events events;
    events.on_started = [this](uint64_t token, pid_t pid, WallTime started) {
      EXPECT_EQ(runs[token].pid, 0);
      EXPECT_FALSE(runs[token].ended);
      runs[token].pid = pid;
      runs[token].started = started;
    };
    events.on_output = [this](uint64_t token, OutputStream stream, std::string_view bytes) {
      EXPECT_FALSE(runs[token].ended);
      if (keep_output) {
        (stream == OutputStream::kStdout ? runs[token].out : runs[token].err).append(bytes);
      }
    };
    events.on_ended = [this](uint64_t token, const ExitFacts& facts) {
      EXPECT_FALSE(runs[token].ended);
      runs[token].ended = true;
      runs[token].facts = facts;
      ++ended;
      if (then) then(token);
    };
    runner = std::make_unique<TaskRunner>(loop, std::move(*spawner), std::move(events));
  }

  static std::vector<std::string> PlainEnv() { return {"PATH=/usr/local/bin:/usr/bin:/bin"}; }

  Status Start(uint64_t token, std::vector<std::string> argv, std::string cwd = "") {
    return runner->Start(token, {std::move(argv), PlainEnv(), std::move(cwd)});
  }
  Status StartShell(uint64_t token, const std::string& script) {
    return Start(token, {"/bin/sh", "-c", script});
  }
  bool WaitEnded(size_t count) {
    return loop.RunUntil([&] { return ended >= count; });
  }
  // Runs one program to its end.
  Run RunProgram(std::vector<std::string> argv, std::string cwd = "") {
    uint64_t token = next_token++;
    size_t before = ended;
    EXPECT_TRUE(Start(token, std::move(argv), std::move(cwd)).ok());
    EXPECT_TRUE(WaitEnded(before + 1));
    return runs[token];
  }
  Run RunShell(const std::string& script) { return RunProgram({"/bin/sh", "-c", script}); }

  TestLoop loop;
  std::map<uint64_t, Run> runs;
  size_t ended = 0;
  uint64_t next_token = 1'000'000;
  bool keep_output = true;
  std::function<void(uint64_t)> then;
  pid_t zygote = 0;
  std::unique_ptr<TaskRunner> runner;
};

}  // namespace muster::test
