// Real executor processes that run real programs for a fake controller.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "executor/attempt_record.h"
#include "executor/executor_fixture.h"

namespace muster::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ExecutorProcessTest : public ExecutorFixture {};

TEST_F(ExecutorProcessTest, RunsAThousandProgramsOnceEach) {
  StartController();
  pid_t pid = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  EXPECT_EQ(controller_->hellos[0].token(), "secret");
  EXPECT_EQ(controller_->hellos[0].pid(), pid);
  v1::FromController message = controller_->Message();
  v1::Template& added = AddTemplate(message, "");
  added.mutable_exec()->add_arg("/bin/true");
  for (uint32_t task = 1; task <= 1000; ++task) AddRun(message, task);
  controller_->Send(message);
  ASSERT_TRUE(WaitEnded(1000));
  for (const auto& [task, ends] : controller_->ended) {
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].how(), v1::Ended::EXITED);
    EXPECT_EQ(ends[0].code(), 0);
    EXPECT_GT(ends[0].pid(), 0);
  }
  ::kill(pid, SIGTERM);
  EXPECT_EQ(WaitForExit(pid), 0);
  EXPECT_TRUE(controller_->drained);
  auto record = ReadAttemptRecord(Options().record_path);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->size(), 1000u);
  EXPECT_TRUE(record->back().ended);
}

TEST_F(ExecutorProcessTest, OutputCanBeReadWhenTheEndIsSeen) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  size_t wrong = 0;
  controller_->on_ended = [&](const v1::Ended& end) {
    uint32_t task = end.attempt().task();
    std::string expected = "task " + std::to_string(task) + "\n";
    if (ReadOutput(Options().output_dir, task) != expected) ++wrong;
    EXPECT_EQ(end.output_bytes(), expected.size());
  };
  RunShell("echo task {index}", 1, 100);
  ASSERT_TRUE(WaitEnded(100));
  EXPECT_EQ(wrong, 0u);
}

TEST_F(ExecutorProcessTest, OutputOfARunningTaskCanBeReadSoon) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  RunShell("echo early; exec sleep 30", 1);
  EXPECT_TRUE(Wait([&] { return ReadOutput(Options().output_dir, 1) == "early\n"; }));
  EXPECT_TRUE(controller_->ended.empty());
  EXPECT_TRUE(Wait([&] { return controller_->started.contains(1); }));
}

TEST_F(ExecutorProcessTest, LosesAndDoublesNothingWhenConnectionsAreCut) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  RunShell("echo $MUSTER_TASK >> ran", 1, 200);
  for (int cut = 0; cut < 5; ++cut) {
    size_t before = controller_->ended.size();
    ASSERT_TRUE(
        Wait([&] { return controller_->ended.size() >= std::min<size_t>(before + 10, 200); }));
    controller_->CutConnection();
    size_t hellos = controller_->hellos.size();
    ASSERT_TRUE(Wait([&] { return controller_->hellos.size() > hellos; }));
  }
  ASSERT_TRUE(WaitEnded(200));
  std::string ran = ReadFile(dir_ / "ran");
  EXPECT_EQ(std::count(ran.begin(), ran.end(), '\n'), 200);
}

TEST_F(ExecutorProcessTest, ANewControllerFindsWhatRuns) {
  StartController(1);
  pid_t executor = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  controller_->acknowledges = false;
  RunShell("echo done", 1);
  ASSERT_TRUE(WaitEnded(1));
  RunShell("while [ ! -e go ]; do sleep 0.02; done; exit 7", 2);
  ASSERT_TRUE(Wait([&] { return controller_->started.contains(2); }));
  int64_t pid = controller_->started[2].pid();
  KillController();
  StartController(2);
  ASSERT_TRUE(WaitConnected());
  const v1::Hello& hello = controller_->hellos[0];
  EXPECT_EQ(hello.highest_epoch(), 1u);
  ASSERT_EQ(hello.held_size(), 1);
  EXPECT_EQ(hello.held(0).phase(), v1::Held::RUNNING);
  EXPECT_EQ(hello.held(0).pid(), pid);
  EXPECT_EQ(hello.finished_size(), 1);
  std::ofstream(dir_ / "go") << "";
  ASSERT_TRUE(WaitEnded(2));
  EXPECT_EQ(End(2).code(), 7);
  EXPECT_EQ(End(2).pid(), pid);
  ::kill(executor, SIGTERM);
  EXPECT_EQ(WaitForExit(executor), 0);
}

TEST_F(ExecutorProcessTest, LeavesNoProcessWhenItIsKilled) {
  StartController();
  pid_t executor = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  std::string mark = "98765." + std::to_string(::getpid());
  RunShell("setsid sleep " + mark + " & sleep " + mark, 1, 3);
  ASSERT_TRUE(Wait([&] { return CountProcesses("sleep\0" + mark) + CountProcesses(mark) >= 9; }));
  ::kill(executor, SIGKILL);
  EXPECT_EQ(WaitForExit(executor), -SIGKILL);
  EXPECT_TRUE(test::Eventually([&] { return CountProcesses(mark) == 0; }));
  auto record = ReadAttemptRecord(Options().record_path);
  ASSERT_TRUE(record.ok());
  ASSERT_EQ(record->size(), 3u);
  EXPECT_FALSE(record->front().ended);
}

TEST_F(ExecutorProcessTest, AnOrphanEndsWithAllItRuns) {
  StartController();
  controller_->stop_orphaned = milliseconds(300);
  pid_t executor = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  std::string mark = "98766." + std::to_string(::getpid());
  RunShell("trap '' TERM; sleep " + mark, 1, 2);
  ASSERT_TRUE(Wait([&] { return CountProcesses(mark) >= 4; }));
  KillController();
  EXPECT_EQ(WaitForExit(executor), 0);
  EXPECT_EQ(CountProcesses(mark), 0u);
}

TEST_F(ExecutorProcessTest, ASignalGivesBackWhatWaitsAndEndsWhatRuns) {
  StartController();
  ExecutorOptions options = Options();
  options.drain_grace = milliseconds(400);
  pid_t executor = StartExecutor(options);
  ASSERT_TRUE(WaitConnected());
  RunShell("exec sleep 1000", 1, 6);
  ASSERT_TRUE(Wait([&] { return controller_->started.size() == 4; }));
  ::kill(executor, SIGTERM);
  EXPECT_EQ(WaitForExit(executor), 0);
  EXPECT_EQ(controller_->dropped.size(), 2u);
  ASSERT_EQ(controller_->ended.size(), 4u);
  EXPECT_EQ(End(1).how(), v1::Ended::SIGNALLED);
  EXPECT_EQ(End(1).stop_cause(), v1::Ended::DRAINING);
  EXPECT_TRUE(controller_->drained);
}

TEST_F(ExecutorProcessTest, SaysWhyAProgramCouldNotStart) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  v1::FromController message = controller_->Message();
  AddTemplate(message, "").mutable_exec()->add_arg("/no/such/program");
  AddTemplate(message, "true", 2).set_cwd(dir_ / "gone");
  AddRun(message, 1);
  AddRun(message, 2, 2);
  controller_->Send(message);
  ASSERT_TRUE(WaitEnded(2));
  EXPECT_EQ(End(1).how(), v1::Ended::NOT_STARTED);
  EXPECT_EQ(End(1).code(), ENOENT);
  EXPECT_EQ(End(1).what_failed(), "exec /no/such/program");
  EXPECT_EQ(ReadOutput(Options().output_dir, 1),
            "muster: exec /no/such/program: No such file or directory\n");
  EXPECT_THAT(End(2).what_failed(), HasSubstr("chdir"));
}

TEST_F(ExecutorProcessTest, StopsAtTheTimeLimit) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  v1::FromController message = controller_->Message();
  AddTemplate(message, "exec sleep 1000").set_time_limit_us(100'000);
  AddRun(message, 1);
  controller_->Send(message);
  ASSERT_TRUE(WaitEnded(1));
  EXPECT_EQ(End(1).stop_cause(), v1::Ended::TIME_LIMIT);
  EXPECT_EQ(End(1).how(), v1::Ended::SIGNALLED);
  EXPECT_GE(End(1).wall_us(), 100'000);
}

TEST_F(ExecutorProcessTest, PublishesAcceptedOutputAndRemovesTheRest) {
  StartController();
  StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  v1::FromController message = controller_->Message();
  AddTemplate(message, "echo $MUSTER_OUT > {out}; [ {index} != 2 ]").set_out_dir("out/t");
  AddTemplate(message, "echo all > {out}", 2).set_out_dir("out/total");
  AddTemplate(message, "true", 3).set_out_dir("out/nothing");
  for (uint32_t task : {1, 2, 3}) {
    AddRun(message, task);
    message.mutable_runs()->rbegin()->set_out_name(std::to_string(task));
  }
  AddRun(message, 4, 2);
  AddRun(message, 5, 3);
  controller_->Send(message);
  ASSERT_TRUE(WaitEnded(5));
  ASSERT_TRUE(Wait([&] {
    return controller_->published.size() == 3 && controller_->publish_failed.size() == 1;
  }));
  EXPECT_THAT(ReadFile(dir_ / "out/t/1"), HasSubstr("/out/t/.j1.1-1-1f0e9d8c.1.part"));
  EXPECT_EQ(ReadFile(dir_ / "out/total"), "all\n");
  EXPECT_EQ(controller_->publish_failed[0].error_number(), ENOENT);
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ / "out")) {
    if (!entry.is_directory()) ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(ExecutorProcessTest, AnotherExecutorPublishesForOneThatWasKilled) {
  StartController();
  controller_->publishes = false;
  pid_t first = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  v1::FromController message = controller_->Message();
  AddTemplate(message, "echo precious > {out}").set_out_dir("out/t");
  AddRun(message, 1);
  message.mutable_runs()->rbegin()->set_out_name("one");
  controller_->Send(message);
  ASSERT_TRUE(WaitEnded(1));
  ::kill(first, SIGKILL);
  WaitForExit(first);
  StartController(2);
  StartExecutor(Options(9));
  ASSERT_TRUE(WaitConnected());
  v1::FromController publish = controller_->Message();
  AddTemplate(publish, "echo precious > {out}").set_out_dir("out/t");
  ToRef({{{1}, 1}, 1}, 1, publish.add_publishes());
  controller_->Send(publish);
  ASSERT_TRUE(Wait([&] { return !controller_->published.empty(); }));
  EXPECT_EQ(ReadFile(dir_ / "out/t/one"), "precious\n");
}

TEST_F(ExecutorProcessTest, GivesEachTaskItsNamesAndAnEmptyScratchFolder) {
  StartController();
  ExecutorOptions options = Options();
  options.added_env = {{"MUSTER_LAUNCH", "cookie"}};
  StartExecutor(options);
  ASSERT_TRUE(WaitConnected());
  RunShell(
      "ls -A $MUSTER_SCRATCH; touch $MUSTER_SCRATCH/junk; echo $MUSTER_JOB $MUSTER_TASK "
      "$MUSTER_ATTEMPT $MUSTER_EXECUTOR $MUSTER_TASK_NAME $MUSTER_LAUNCH $MUSTER_INDEX",
      1, 20);
  ASSERT_TRUE(WaitEnded(20));
  for (uint32_t task = 1; task <= 20; ++task) {
    EXPECT_EQ(ReadOutput(options.output_dir, task),
              fmt::format("j1 j1.{} 1 x3 t cookie {}\n", task, task));
  }
}

TEST_F(ExecutorProcessTest, WorksWithFewDescriptors) {
  StartController();
  ExecutorOptions options = Options();
  options.launch.size.cpus = {200'000};
  StartExecutor(options, [] {
    rlimit few{100, 100};
    ::setrlimit(RLIMIT_NOFILE, &few);
  });
  ASSERT_TRUE(WaitConnected());
  EXPECT_EQ(controller_->hellos[0].capacity().max_attempts(), 9u);
  RunShell("sleep 0.05", 1, 40);
  ASSERT_TRUE(WaitEnded(40));
  for (const auto& [task, ends] : controller_->ended) EXPECT_EQ(ends[0].how(), v1::Ended::EXITED);
}

TEST_F(ExecutorProcessTest, CountsTheOutputThatAFullDiskDidNotTake) {
  StartController();
  StartExecutor(Options(), [] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit small{20'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &small);
  });
  ASSERT_TRUE(WaitConnected());
  RunShell("yes 0123456789 | head -c 1000000; exit 3", 1);
  ASSERT_TRUE(WaitEnded(1));
  EXPECT_EQ(End(1).code(), 3);
  EXPECT_EQ(End(1).output_bytes(), 1'000'000u);
  EXPECT_GT(End(1).output_dropped(), 0u);
}

TEST_F(ExecutorProcessTest, LeavesWhenItsSpawnerIsKilled) {
  StartController();
  pid_t executor = StartExecutor(Options());
  ASSERT_TRUE(WaitConnected());
  RunShell("exec sleep 1000", 1, 2);
  ASSERT_TRUE(Wait([&] { return controller_->started.size() == 2; }));
  std::string children = ReadFile(fmt::format("/proc/{0}/task/{0}/children", executor));
  pid_t zygote = std::atoi(children.c_str());
  ASSERT_GT(zygote, 0);
  ::kill(zygote, SIGKILL);
  EXPECT_EQ(WaitForExit(executor), 0);
  EXPECT_EQ(controller_->ended.size(), 2u);
  EXPECT_TRUE(End(1).how() == v1::Ended::LOST || End(1).stop_cause() == v1::Ended::DRAINING)
      << End(1).DebugString();
}

TEST_F(ExecutorProcessTest, FailsWithAWordWhenItsFoldersCannotBeMade) {
  StartController();
  ExecutorOptions options = Options();
  options.record_path = dir_ / "no/such/folder/record";
  EXPECT_EQ(WaitForExit(StartExecutor(options)), 1);
  options = Options();
  options.take_token = [] {
    return Result<std::string>(OperatorError(ErrorCode::kNotFound, "read the token: gone"));
  };
  EXPECT_EQ(WaitForExit(StartExecutor(options)), 1);
}

}  // namespace
}  // namespace muster::executor
