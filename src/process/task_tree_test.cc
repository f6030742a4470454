// What becomes of whole process trees: left behind, stopped, and under the death of our own
// processes.
#include <errno.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "process/proc_stat.h"
#include "process/process_identity.h"
#include "process/runner_fixture.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace muster {
namespace {

using test::Eventually;
using test::RunnerFixture;
using How = ExitFacts::How;
using namespace std::chrono_literals;

bool IsAlive(pid_t pid) {
  auto stat = ReadProcStat(pid);
  return stat && stat->state != 'Z';
}

std::vector<pid_t> ReadPids(const std::string& text) {
  std::istringstream words(text);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ExpectGone(const std::vector<pid_t>& pids) {
  for (pid_t pid : pids) EXPECT_FALSE(IsAlive(pid)) << pid;
}

TEST(TaskTree, EndsBackgroundChildrenBeforeItReportsTheEnd) {
  RunnerFixture fixture;
  auto run = fixture.RunShell("sleep 1000 & echo $!; sleep 1000 & echo $!; exit 5");
  EXPECT_EQ(run.facts.code, 5);
  EXPECT_EQ(run.facts.left_behind, 2U);
  ASSERT_EQ(ReadPids(run.out).size(), 2U);
  ExpectGone(ReadPids(run.out));
}

TEST(TaskTree, EndsDaemonsThatLeftSessionPipesAndSignalsBehind) {
  test::TempDir dir;
  RunnerFixture fixture;
  std::string pids = dir / "pids";
  auto run = fixture.RunShell(
      "(setsid sh -c 'trap \"\" TERM HUP INT; exec >/dev/null 2>&1 </dev/null; "
      "(sleep 1000 & echo $! >>" +
      pids + "); echo $$ >>" + pids + "; echo ready >" + dir / "ready" +
      "; sleep 1000' &) &"
      "while [ ! -e " +
      dir / "ready" + " ]; do sleep 0.01; done; exit 0");
  EXPECT_EQ(run.facts.how, How::kExited);
  auto left = ReadPids(ReadFile(pids));
  ASSERT_EQ(left.size(), 2U);
  ExpectGone(left);
  EXPECT_GE(run.facts.left_behind, 2U);
}

TEST(TaskTree, EndsStoppedProcesses) {
  RunnerFixture fixture;
  auto run = fixture.RunShell("sleep 1000 & echo $!; kill -STOP $!");
  ExpectGone(ReadPids(run.out));
  EXPECT_EQ(run.facts.left_behind, 1U);
}

TEST(TaskTree, DoesNotCountProcessesThatEndedByThemselves) {
  RunnerFixture fixture;
  auto run = fixture.RunShell("(sleep 0.05 &); sleep 0.3");
  EXPECT_EQ(run.facts.left_behind, 0U);
}

TEST(TaskTree, OutputOfAKilledBackgroundWriterDoesNotReachTheNextProgram) {
  RunnerFixture fixture;
  for (int i = 0; i < 5; ++i) {
    auto noisy = fixture.RunShell("yes intruder & sleep 0.02");
    EXPECT_EQ(noisy.facts.left_behind, 1U);
    EXPECT_EQ(fixture.RunShell("echo clean").out, "clean\n");
  }
}

TEST(TaskTree, TermIsHonouredWithinTheGrace) {
  RunnerFixture fixture;
  ASSERT_TRUE(
      fixture.StartShell(1, "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done")
          .ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].out == "up\n"; }));
  fixture.runner->Stop(1, StopCause::kTimeLimit, 30s);
  ASSERT_TRUE(fixture.WaitEnded(1));
  const auto& run = fixture.runs[1];
  EXPECT_EQ(run.facts.how, How::kExited);
  EXPECT_EQ(run.facts.code, 9);
  EXPECT_EQ(run.facts.stop_cause, StopCause::kTimeLimit);
  EXPECT_EQ(run.out, "up\nbye\n");
}

TEST(TaskTree, WhatAShellStartedHasTheGraceThoughTheShellEndsAtOnce) {
  RunnerFixture fixture;
  ASSERT_TRUE(fixture
                  .StartShell(1,
                              "sh -c 'trap \"sleep 0.2; echo cleaned; exit 0\" TERM; echo up; "
                              "while :; do sleep 0.01; done'; true")
                  .ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].out == "up\n"; }));
  fixture.runner->Stop(1, StopCause::kCancelled, 30s);
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].out, "up\ncleaned\n");
  EXPECT_EQ(fixture.runs[1].facts.how, How::kSignalled);
  EXPECT_EQ(fixture.runs[1].facts.code, SIGTERM);
}

TEST(TaskTree, IgnoredTermIsFollowedByKillOfTheWholeTree) {
  RunnerFixture fixture;
  ASSERT_TRUE(fixture.StartShell(1, "trap '' TERM; sleep 1000 & echo $! $$; wait").ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].out.ends_with('\n'); }));
  fixture.runner->Stop(1, StopCause::kCancelled, 100ms);
  ASSERT_TRUE(fixture.WaitEnded(1));
  const auto& run = fixture.runs[1];
  EXPECT_EQ(run.facts.how, How::kSignalled);
  EXPECT_EQ(run.facts.code, SIGKILL);
  EXPECT_EQ(run.facts.stop_cause, StopCause::kCancelled);
  EXPECT_GE(run.facts.wall, 100ms);
  ASSERT_EQ(ReadPids(run.out).size(), 2U);
  ExpectGone(ReadPids(run.out));
}

TEST(TaskTree, ALaterStopCanShortenTheGraceButNotChangeTheCause) {
  RunnerFixture fixture;
  ASSERT_TRUE(fixture.StartShell(1, "trap '' TERM; echo up; while :; do sleep 0.1; done").ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return !fixture.runs[1].out.empty(); }));
  fixture.runner->Stop(1, StopCause::kTimeLimit, 1h);
  fixture.runner->Stop(1, StopCause::kCancelled, 2h);
  fixture.runner->Stop(1, StopCause::kCancelled, 0s);
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].facts.stop_cause, StopCause::kTimeLimit);
}

TEST(TaskTree, AStopSentWithTheStartReachesTheProgram) {
  RunnerFixture fixture;
  ASSERT_TRUE(fixture.StartShell(1, "sleep 1000").ok());
  fixture.runner->Stop(1, StopCause::kDraining, 0s);
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].facts.stop_cause, StopCause::kDraining);
  EXPECT_EQ(fixture.runs[1].facts.code, SIGKILL);
}

TEST(TaskTree, StopsTwoHundredAtOnce) {
  RunnerFixture fixture;
  for (uint64_t token = 0; token < 200; ++token) {
    ASSERT_TRUE(fixture.Start(token, {"/bin/sleep", "1000"}).ok());
  }
  ASSERT_TRUE(fixture.loop.RunUntil([&] {
    return fixture.runs.size() == 200 &&
           std::all_of(fixture.runs.begin(), fixture.runs.end(),
                       [](const auto& run) { return run.second.pid != 0; });
  }));
  EXPECT_EQ(fixture.runner->running(), 200U);
  fixture.runner->StopAll(StopCause::kDraining, 30s);
  ASSERT_TRUE(fixture.WaitEnded(200));
  EXPECT_EQ(fixture.runner->running(), 0U);
  for (const auto& [token, run] : fixture.runs) {
    EXPECT_EQ(run.facts.code, SIGTERM);
    EXPECT_FALSE(IsAlive(run.pid));
  }
}

// A program that forks and lets the parent end, again and again: every look at the tree is out of
// date. Never more than a few processes at once, and an end of its own, so that a failure does not
// hurt the machine.
std::string Runaway(const std::string& in_each) {
  return "use POSIX; fork; fork; for (my $i = 0; $i < 20000; $i++) {" + in_each +
         " my $pid = fork; exit 0 if $pid; }";
}

TEST(TaskTree, EndsProgramsThatKeepForkingAway) {
  RunnerFixture fixture;
  uint64_t token = 1;
  for (const std::string& in_each : {std::string(), std::string("POSIX::setsid();")}) {
    ASSERT_TRUE(fixture.StartShell(token, "exec /usr/bin/perl -e '" + Runaway(in_each) + "'").ok());
    ASSERT_TRUE(fixture.WaitEnded(token)) << "its first process ends, the rest is left behind";
    EXPECT_GE(fixture.runs[token].facts.left_behind, 1U);
    pid_t slot = ListChildren(fixture.zygote).at(0);
    EXPECT_TRUE(ListChildren(slot).empty());
    ++token;
  }
}

// Where a v2 tree can be used; where not, everything else here runs without.
TEST(TaskTree, ProgramsLieInACgroupThatIsRemovedAgain) {
  std::string path;
  {
    RunnerFixture fixture;
    auto run = fixture.RunShell("grep ^0:: /proc/self/cgroup");
    if (run.out.find("/muster-") == std::string::npos) GTEST_SKIP() << "no v2 tree to write to";
    ASSERT_TRUE(run.out.ends_with("/slot-1\n")) << run.out;
    path = run.out.substr(3, run.out.size() - 4);
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      if (::access((mount + path).c_str(), F_OK) == 0) path = mount + path;
    }
    ASSERT_EQ(::access(path.c_str(), F_OK), 0) << path;
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_NE(::access(path.substr(0, path.rfind('/')).c_str(), F_OK), 0);
}

TEST(TaskTree, AKilledSlotProcessEndsItsTreeAndIsReportedLost) {
  RunnerFixture fixture;
  ASSERT_TRUE(
      fixture.StartShell(1, "sleep 1000 & (setsid sleep 1000 & echo $!); echo $! $$; sleep 1000")
          .ok());
  ASSERT_TRUE(fixture.StartShell(2, "sleep 0.2; echo untouched").ok());
  ASSERT_TRUE(fixture.loop.RunUntil(
      [&] { return ReadPids(fixture.runs[1].out).size() == 3 && fixture.runs[1].pid != 0; }));
  pid_t slot = ReadProcStat(fixture.runs[1].pid)->parent;
  ASSERT_EQ(ReadProcStat(slot)->parent, fixture.zygote);
  ::kill(slot, SIGKILL);
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].ended; }));
  EXPECT_EQ(fixture.runs[1].facts.how, How::kLost);
  ExpectGone(ReadPids(fixture.runs[1].out));
  ASSERT_TRUE(fixture.WaitEnded(2));
  EXPECT_EQ(fixture.runs[2].out, "untouched\n");
  EXPECT_EQ(fixture.RunShell("echo next").out, "next\n");
}

TEST(TaskTree, AnIdleSlotProcessThatWasKilledIsReplacedUnnoticed) {
  RunnerFixture fixture;
  EXPECT_EQ(fixture.RunShell("echo one").out, "one\n");
  pid_t slot = ListChildren(fixture.zygote).at(0);
  ::kill(slot, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return ListChildren(fixture.zygote).empty(); }));
  auto run = fixture.RunShell("echo two");
  EXPECT_EQ(run.facts.how, How::kExited);
  EXPECT_EQ(run.out, "two\n");
  EXPECT_TRUE(fixture.loop.RunUntil([&] { return fixture.runner->slots() == 1; }));
}

TEST(TaskTree, AKilledZygoteEndsAllTreesAndNothingMoreIsStarted) {
  RunnerFixture fixture;
  for (uint64_t token = 1; token <= 3; ++token) {
    ASSERT_TRUE(fixture.StartShell(token, "(setsid sleep 1000 & echo $!); sleep 1000").ok());
  }
  std::vector<pid_t> pids;
  ASSERT_TRUE(fixture.loop.RunUntil([&] {
    pids.clear();
    for (uint64_t token = 1; token <= 3; ++token) {
      auto more = ReadPids(fixture.runs[token].out);
      pids.insert(pids.end(), more.begin(), more.end());
      if (fixture.runs[token].pid != 0) pids.push_back(fixture.runs[token].pid);
    }
    return pids.size() == 6;
  }));
  ::kill(fixture.zygote, SIGKILL);
  ASSERT_TRUE(fixture.WaitEnded(3));
  for (const auto& [token, run] : fixture.runs) EXPECT_EQ(run.facts.how, How::kLost);
  ExpectGone(pids);
  EXPECT_FALSE(fixture.runner->alive());
  EXPECT_EQ(fixture.StartShell(9, "true").error().code, ErrorCode::kUnavailable);
}

TEST(TaskTree, DestructionEndsWhatStillRuns) {
  std::vector<pid_t> pids;
  {
    RunnerFixture fixture;
    ASSERT_TRUE(fixture.StartShell(1, "(setsid sleep 1000 & echo $!); sleep 1000").ok());
    ASSERT_TRUE(fixture.loop.RunUntil(
        [&] { return fixture.runs[1].pid != 0 && !fixture.runs[1].out.empty(); }));
    pids = ReadPids(fixture.runs[1].out);
    pids.push_back(fixture.runs[1].pid);
  }
  ExpectGone(pids);
  EXPECT_TRUE(ListChildren(::getpid()).empty());
}

// An executor of its own: reports its programs' pids through a pipe, then waits to be killed.
struct ExecutorProcess {
  pid_t pid = 0;
  std::vector<pid_t> programs;
};

ExecutorProcess ForkExecutor() {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  pid_t pid = ::fork();
  if (pid == 0) {
    ::close(pipe[0]);
    RunnerFixture fixture;
    fixture.runner->StopAll(StopCause::kNone, 0s);
    for (uint64_t token = 1; token <= 4; ++token) {
      if (!fixture
               .StartShell(token,
                           "trap '' TERM; (setsid sleep 1000 & echo $!); echo $$; sleep 1000")
               .ok())
        _exit(1);
    }
    fixture.loop.RunUntil([&] {
      size_t known = 0;
      for (auto& [token, run] : fixture.runs) known += ReadPids(run.out).size();
      return known == 8;
    });
    std::string text;
    for (auto& [token, run] : fixture.runs) text += run.out;
    if (::write(pipe[1], text.data(), text.size()) < 0) _exit(1);
    ::close(pipe[1]);
    for (;;) ::pause();
  }
  ::close(pipe[1]);
  std::string text;
  char part[256];
  for (ssize_t size; (size = ::read(pipe[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(size));
  }
  ::close(pipe[0]);
  return {pid, ReadPids(text)};
}

bool AllGone(const std::vector<pid_t>& pids) {
  return std::none_of(pids.begin(), pids.end(), IsAlive);
}

TEST(TaskTree, NothingOutlivesAKilledExecutor) {
  ExecutorProcess executor = ForkExecutor();
  ASSERT_EQ(executor.programs.size(), 8U);
  pid_t zygote = ListChildren(executor.pid).at(0);
  std::vector<pid_t> ours = ListChildren(zygote);
  ours.push_back(zygote);
  ::kill(executor.pid, SIGKILL);
  ::waitpid(executor.pid, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return AllGone(executor.programs); }, 2s));
  EXPECT_TRUE(Eventually([&] { return AllGone(ours); }, 2s));
}

TEST(TaskTree, KillTreeEndsAnExecutorWithAllItsProcesses) {
  ExecutorProcess executor = ForkExecutor();
  ASSERT_EQ(executor.programs.size(), 8U);
  auto identity = IdentityOf(executor.pid);
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(KillTree(*identity, 10s).ok());
  EXPECT_TRUE(AllGone(executor.programs));
  EXPECT_FALSE(StillRuns(*identity));
  ::waitpid(executor.pid, nullptr, 0);
  EXPECT_TRUE(KillTree(*identity, 10s).ok()) << "gone already is success";
}

TEST(ProcessIdentity, TellsAProcessFromALaterOneWithItsPid) {
  auto own = IdentityOf(::getpid());
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(StillRuns(*own));
  EXPECT_TRUE(OpenProcess(*own).ok());
  ProcessIdentity earlier = *own;
  earlier.start_ticks -= 1;
  EXPECT_FALSE(StillRuns(earlier));
  EXPECT_EQ(OpenProcess(earlier).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(KillTree(earlier, 1s).ok());
  ProcessIdentity other_boot = *own;
  other_boot.boot_id = "00000000-0000-0000-0000-000000000000";
  EXPECT_FALSE(StillRuns(other_boot));
}

TEST(ProcessIdentity, AZombieHasEnded) {
  pid_t pid = ::fork();
  if (pid == 0) _exit(0);
  EXPECT_TRUE(Eventually([&] { return !IdentityOf(pid).ok(); }));
  ::waitpid(pid, nullptr, 0);
}

TEST(ProcessIdentity, SurvivesRenderingAndParsing) {
  ProcessIdentity identity{"6f1c5b7e-0000-4000-8000-000000000001", 4242, 987654321};
  auto parsed = ParseProcessIdentity(Render(identity));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, identity);
  for (const char* bad : {"", ":", "a:b:c", "a:1", "a:1:", "a:-1:2", "a:1:2x", "a::2"}) {
    EXPECT_FALSE(ParseProcessIdentity(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace muster
