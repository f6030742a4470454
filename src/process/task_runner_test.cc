#include "process/task_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "process/runner_fixture.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace muster {
namespace {

using test::RunnerFixture;
using ::testing::AllOf;
using ::testing::HasSubstr;
using How = ExitFacts::How;
using namespace std::chrono_literals;

void WriteFile(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

TEST(TaskRunner, ReportsTheExitCode) {
  RunnerFixture fixture;
  for (int code : {0, 1, 3, 126, 127, 255}) {
    auto run = fixture.RunShell("exit " + std::to_string(code));
    EXPECT_EQ(run.facts.how, How::kExited);
    EXPECT_EQ(run.facts.code, code);
    EXPECT_EQ(run.facts.stop_cause, StopCause::kNone);
    EXPECT_EQ(run.facts.left_behind, 0U);
    EXPECT_GT(run.pid, 0);
  }
  EXPECT_EQ(fixture.runner->slots(), 1U);
}

TEST(TaskRunner, ReportsTheSignalThatEndedAProgram) {
  RunnerFixture fixture;
  for (int signal : {SIGKILL, SIGTERM, SIGHUP, SIGPIPE}) {
    auto run = fixture.RunShell("kill -" + std::to_string(signal) + " $$");
    EXPECT_EQ(run.facts.how, How::kSignalled);
    EXPECT_EQ(run.facts.code, signal);
  }
}

TEST(TaskRunner, KeepsBothStreamsApartByteForByte) {
  RunnerFixture fixture;
  auto run = fixture.RunShell("printf 'out\\000\\377\\n'; printf 'err' >&2; printf tail");
  EXPECT_EQ(run.out, std::string("out\0\xff\ntail", 10));
  EXPECT_EQ(run.err, "err");
  EXPECT_EQ(run.facts.output_bytes, 13U);
}

TEST(TaskRunner, DeliversAllOfTenMegabytes) {
  RunnerFixture fixture;
  auto run = fixture.RunShell("head -c 10000000 /dev/zero | tr '\\000' x");
  EXPECT_EQ(run.out.size(), 10'000'000U);
  EXPECT_EQ(run.out.find_first_not_of('x'), std::string::npos);
  EXPECT_EQ(run.facts.output_bytes, 10'000'000U);
}

TEST(TaskRunner, AFloodOfOneProgramDoesNotHoldUpAnother) {
  RunnerFixture fixture;
  fixture.keep_output = false;
  ASSERT_TRUE(fixture.Start(1, {"cat", "/dev/zero"}).ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].pid != 0; }));
  ASSERT_TRUE(fixture.StartShell(2, "exit 4").ok());
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[2].facts.code, 4);
  fixture.runner->Stop(1, StopCause::kCancelled, 0s);
  ASSERT_TRUE(fixture.WaitEnded(2));
}

TEST(TaskRunner, NamesTheStepAndTheErrorWhenAProgramCannotBeStarted) {
  test::TempDir dir;
  RunnerFixture fixture;
  WriteFile(dir / "plain", "echo\n", 0644);
  WriteFile(dir / "lost", "#!/no/such/interpreter -x\n", 0755);
  WriteFile(dir / "crlf", "#!/bin/sh\r\necho\r\n", 0755);
  WriteFile(dir / "garbage",
            std::string("\x7f"
                        "ELF\0\0",
                        6),
            0755);
  struct Case {
    std::vector<std::string> argv;
    int error_number;
    const char* words;
  };
  for (const Case& c :
       {Case{{"/no/such/file"}, ENOENT, "exec /no/such/file"},
        Case{{"no-such-program"}, ENOENT, "exec no-such-program"}, Case{{""}, ENOENT, "exec "},
        Case{{dir / "plain"}, EACCES, "not executable"},
        Case{{dir.path().string()}, EACCES, "it is a folder"},
        Case{{dir / "plain/x"}, ENOTDIR, "exec "},
        Case{{dir / "lost"}, ENOENT, "interpreter /no/such/interpreter"},
        Case{{dir / "crlf"}, ENOENT, "Windows line ends"}}) {
    auto run = fixture.RunProgram(c.argv);
    EXPECT_EQ(run.facts.how, How::kNotStarted) << c.words;
    EXPECT_EQ(run.facts.code, c.error_number) << c.words;
    EXPECT_THAT(run.facts.what_failed, HasSubstr(c.words));
    EXPECT_EQ(run.pid, 0) << "there was no program to report";
  }
  auto run = fixture.RunProgram({"true"}, "/no/such/folder");
  EXPECT_EQ(run.facts.how, How::kNotStarted);
  EXPECT_EQ(run.facts.code, ENOENT);
  EXPECT_EQ(run.facts.what_failed, "chdir /no/such/folder");
  EXPECT_EQ(fixture.RunShell("echo still works").out, "still works\n");
}

TEST(TaskRunner, RunsAScriptWithoutInterpreterLineByTheShell) {
  test::TempDir dir;
  RunnerFixture fixture;
  WriteFile(dir / "script", "echo $0 $1 $2\n", 0755);
  EXPECT_EQ(fixture.RunProgram({dir / "script", "a", "b"}).out, dir / "script" + " a b\n");
  EXPECT_EQ(fixture.RunProgram({"./script", "c"}, dir.path().string()).out, "./script c\n");
}

TEST(TaskRunner, SearchesThePathOfTheProgramsOwnEnvironment) {
  test::TempDir dir;
  RunnerFixture fixture;
  WriteFile(dir / "mine", "#!/bin/sh\necho found $PATH\n", 0755);
  std::string path = "PATH=/no/such:" + dir.path().string();
  ASSERT_TRUE(fixture.runner->Start(1, {{"mine"}, {path}, ""}).ok());
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].out, "found /no/such:" + dir.path().string() + "\n");
  ASSERT_TRUE(fixture.runner->Start(2, {{"echo", "no PATH"}, {}, ""}).ok());
  ASSERT_TRUE(fixture.WaitEnded(2));
  EXPECT_EQ(fixture.runs[2].out, "no PATH\n");
}

TEST(TaskRunner, GivesExactlyTheEnvironmentAndFolderAskedFor) {
  test::TempDir dir;
  RunnerFixture fixture;
  ASSERT_TRUE(
      fixture.runner->Start(1, {{"/usr/bin/env"}, {"A=1", "B=two words", "C=", "D=x\ny"}, "/"})
          .ok());
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].out, "A=1\nB=two words\nC=\nD=x\ny\n");
  EXPECT_EQ(fixture.RunProgram({"/bin/pwd"}, dir.path().string()).out, dir.path().string() + "\n");
}

TEST(TaskRunner, TakesVeryLargeArgumentsAndEnvironments) {
  RunnerFixture fixture;
  std::vector<std::string> argv = {"/bin/sh", "-c", "echo $#; printf %s \"$1\" | wc -c", "sh"};
  for (int i = 0; i < 10; ++i) argv.push_back(std::string(100'000, 'a'));
  std::vector<std::string> env = RunnerFixture::PlainEnv();
  for (int i = 0; i < 5; ++i)
    env.push_back("V" + std::to_string(i) + "=" + std::string(120'000, 'v'));
  ASSERT_TRUE(fixture.runner->Start(1, {argv, env, ""}).ok());
  ASSERT_TRUE(fixture.WaitEnded(1));
  EXPECT_EQ(fixture.runs[1].out, "10\n100000\n");

  for (int i = 0; i < 100; ++i) argv.push_back(std::string(100'000, 'b'));
  auto run = fixture.RunProgram(argv);
  EXPECT_EQ(run.facts.how, How::kNotStarted);
  EXPECT_EQ(run.facts.code, E2BIG);
  EXPECT_EQ(fixture.RunShell("echo next").out, "next\n");
}

TEST(TaskRunner, GivesProgramsDefaultSignalsNoDescriptorsAndASessionOfTheirOwn) {
  int leaked = ::open("/dev/null", O_RDONLY);  // not close-on-exec: what a careless parent leaves
  ::signal(SIGINT, SIG_IGN);
  RunnerFixture fixture;
  ::signal(SIGINT, SIG_DFL);
  ::close(leaked);
  auto fds = fixture.RunShell("ls /proc/self/fd");
  EXPECT_EQ(fds.out, "0\n1\n2\n3\n");  // 3 is the folder that ls lists
  auto status = fixture.RunShell("grep -E 'SigBlk|SigIgn' /proc/self/status");
  EXPECT_EQ(status.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(fixture.RunShell("cat").out, "") << "standard input is empty";
  auto session =
      fixture.RunShell("set -- $(cut -d' ' -f5,6 /proc/$$/stat); echo $(($$-$1)) $(($$-$2))");
  EXPECT_EQ(session.out, "0 0\n");
}

TEST(TaskRunner, DoesNotHandOnWhatAProgramDidToItsPipes) {
  RunnerFixture fixture;
  auto run = fixture.RunProgram(
      {"/usr/bin/perl", "-e", "use Fcntl; fcntl(STDOUT, F_SETFL, O_NONBLOCK) or die; print 'set'"});
  ASSERT_EQ(run.out, "set") << run.err;
  auto next = fixture.RunShell("grep flags /proc/self/fdinfo/1");
  EXPECT_EQ(next.out, "flags:\t01\n");
}

TEST(TaskRunner, RefusesWhatCannotBeMeant) {
  RunnerFixture fixture;
  EXPECT_EQ(fixture.Start(1, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fixture.Start(1, {std::string("a\0b", 3)}).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(fixture.StartShell(1, "sleep 60").ok());
  EXPECT_EQ(fixture.StartShell(1, "true").error().code, ErrorCode::kInvalidArgument);
  fixture.runner->Stop(99, StopCause::kCancelled, 0s);
  fixture.runner->Stop(1, StopCause::kCancelled, 0s);
  ASSERT_TRUE(fixture.WaitEnded(1));
}

TEST(TaskRunner, MeasuresTimeAndMemory) {
  RunnerFixture fixture;
  auto slept = fixture.RunShell("sleep 0.2");
  EXPECT_GE(slept.facts.wall, 200ms);
  EXPECT_LT(slept.facts.user_cpu + slept.facts.system_cpu, 200ms);
  auto busy = fixture.RunShell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
  EXPECT_GT(busy.facts.user_cpu, 1ms);
  EXPECT_LE(busy.facts.user_cpu, busy.facts.wall * 2);
  // Sanitizers make the slot process large, and nothing below its size can be told.
  uint64_t size = slept.facts.max_rss.value + 50'000'000;
  auto large = fixture.RunProgram(
      {"/usr/bin/perl", "-e", "$x = 'x'; $x x= $ARGV[0]; print length $x", std::to_string(size)});
  EXPECT_EQ(large.out, std::to_string(size));
  EXPECT_GE(large.facts.max_rss.value, size);
  EXPECT_LT(large.facts.max_rss.value, 3 * size);
}

TEST(TaskRunner, ReportsStartsOfLongProgramsAtOnceAndOfShortOnesWithTheirEnd) {
  RunnerFixture fixture;
  ASSERT_TRUE(fixture.StartShell(1, "sleep 60").ok());
  ASSERT_TRUE(fixture.loop.RunUntil([&] { return fixture.runs[1].pid != 0; }));
  EXPECT_GT(fixture.runs[1].started.us, 1'600'000'000'000'000);
  EXPECT_EQ(::kill(fixture.runs[1].pid, 0), 0);
  fixture.runner->Stop(1, StopCause::kCancelled, 0s);
  ASSERT_TRUE(fixture.WaitEnded(1));
}

TEST(TaskRunner, LeavesNoDescriptorAndNoProcessAfterThousandsOfTasks) {
  size_t fds_before = test::CountOpenFds();
  {
    RunnerFixture fixture;
    uint64_t next = 2;
    fixture.then = [&](uint64_t) {
      if (next == 2000) return;
      ASSERT_TRUE(fixture.Start(next++, {"/bin/true"}).ok());
    };
    ASSERT_TRUE(fixture.Start(0, {"/bin/true"}).ok());
    ASSERT_TRUE(fixture.Start(1, {"/bin/true"}).ok());
    size_t fds_with_two = test::CountOpenFds();
    ASSERT_TRUE(fixture.WaitEnded(2000));
    EXPECT_EQ(fixture.runner->slots(), 2U);
    EXPECT_EQ(test::CountOpenFds(), fds_with_two);
    for (const auto& [token, run] : fixture.runs) {
      ASSERT_EQ(run.facts.how, How::kExited);
      ASSERT_EQ(run.facts.code, 0);
      ASSERT_GT(run.pid, 0);
    }
    EXPECT_EQ(ListChildren(fixture.zygote).size(), 2U) << "the two slot processes";
    for (pid_t slot : ListChildren(fixture.zygote)) EXPECT_TRUE(ListChildren(slot).empty());
  }
  EXPECT_EQ(test::CountOpenFds(), fds_before);
  EXPECT_TRUE(ListChildren(::getpid()).empty());
}

}  // namespace
}  // namespace muster
