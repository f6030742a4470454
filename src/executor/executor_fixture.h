// For tests: a controller as small as can be, in this process, and real executors as children of
// it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/executor.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "process/segment_reader.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "wire/executor_frames.h"

namespace muster::executor {

// Welcomes, echoes heartbeats, acknowledges ends, notes everything.
class FakeController {
 public:
  FakeController(EventLoop& loop, const std::string& path, uint64_t epoch)
      : loop_(loop), epoch_(epoch), server_(loop) {
    server_.UpgradeRoute("/v1/executor",
                         [this](const HttpRequest&, std::shared_ptr<WebSocket> socket) {
                           socket_ = std::move(socket);
                           socket_->OnClosed([this](const Error&) { socket_.reset(); });
                           socket_->OnMessage([this](std::string_view bytes) { OnMessage(bytes); });
                         });
    Status listening = server_.ListenUnix(path);
    EXPECT_TRUE(listening.ok());
  }

  v1::FromController Message() const {
    v1::FromController message;
    message.set_epoch(epoch_);
    return message;
  }
  void Send(const v1::FromController& message) {
    std::string bytes;
    EXPECT_TRUE(AppendFrame(message, bytes).ok());
    if (socket_ != nullptr) socket_->Send(bytes);
  }
  void CutConnection() { socket_.reset(); }
  bool connected() const { return socket_ != nullptr && welcomed_; }

  // Settings of the next welcome.
  Duration stop_orphaned{0};
  Duration heartbeat{std::chrono::milliseconds(200)};
  bool acknowledges = true;
  bool publishes = true;
  // What was heard.
  std::vector<v1::Hello> hellos;
  std::map<uint32_t, std::vector<v1::Ended>> ended;  // by task number
  std::map<uint32_t, v1::Started> started;
  std::vector<uint32_t> dropped;
  std::vector<uint32_t> published;
  std::vector<v1::PublishFailed> publish_failed;
  bool drained = false;
  size_t messages = 0;
  // Called for each end as it is heard.
  std::function<void(const v1::Ended&)> on_ended;

 private:
  void OnMessage(std::string_view bytes) {
    ++messages;
    auto parsed = parser_.Parse(bytes);
    ASSERT_TRUE(parsed.ok());
    const v1::FromExecutor& batch = **parsed;
    v1::FromController answer = Message();
    if (batch.has_hello()) {
      hellos.push_back(batch.hello());
      v1::Welcome& welcome = *answer.mutable_welcome();
      welcome.set_epoch(epoch_);
      welcome.set_lease_us(30'000'000);
      welcome.set_heartbeat_us(heartbeat.count());
      welcome.set_leave_idle_us(60'000'000);
      welcome.set_leave_holding_us(60'000'000);
      welcome.set_stop_orphaned_us(stop_orphaned.count());
      welcomed_ = true;
    }
    for (const v1::Ended& end : batch.hello().finished()) HearEnd(end, answer);
    for (const v1::Ended& end : batch.ended()) HearEnd(end, answer);
    for (const v1::Started& start : batch.started()) started[start.attempt().task()] = start;
    for (const auto& ref : batch.dropped()) dropped.push_back(ref.task());
    for (const auto& ref : batch.published()) published.push_back(ref.task());
    for (const auto& failed : batch.publish_failed()) publish_failed.push_back(failed);
    drained = drained || batch.drained();
    if (batch.has_heartbeat()) answer.set_heartbeat_echo_us(batch.heartbeat().sent_boot_us());
    if (answer.ByteSizeLong() > Message().ByteSizeLong()) Send(answer);
  }
  void HearEnd(const v1::Ended& end, v1::FromController& answer) {
    ended[end.attempt().task()].push_back(end);
    if (on_ended) on_ended(end);
    if (acknowledges) *answer.add_acks() = end.attempt();
    if (acknowledges && publishes && end.how() == v1::Ended::EXITED && end.code() == 0) {
      *answer.add_publishes() = end.attempt();
    }
  }

  EventLoop& loop_;
  const uint64_t epoch_;
  bool welcomed_ = false;
  FrameParser<v1::FromExecutor> parser_;
  std::shared_ptr<WebSocket> socket_;
  HttpServer server_;
};

class ExecutorFixture : public testing::Test {
 protected:
  ~ExecutorFixture() override {
    for (pid_t pid : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  FakeController& StartController(uint64_t epoch = 1) {
    KillController();
    controller_ = std::make_unique<FakeController>(loop_, dir_ / "socket", epoch);
    return *controller_;
  }
  // Gone as if killed: no word to anybody.
  void KillController() { controller_.reset(); }

  ExecutorOptions Options(uint64_t number = 3) const {
    ExecutorOptions options;
    options.version = "test";
    options.launch.id = {number + 4};
    options.launch.executor = {number};
    options.launch.owner = {"1f0e9d8c-0000", 1};
    options.launch.size.cpus = {4000};
    options.launch.size.memory = GiB(4);
    options.controller = Endpoint::Unix(dir_ / "socket");
    std::string folder = dir_ / ("x" + std::to_string(number));
    options.output_dir = folder + "-output";
    options.record_path = folder + "-record";
    options.scratch_dir = folder + "-scratch";
    options.take_token = [] { return Result<std::string>("secret"); };
    return options;
  }
  // `before` runs in the child first.
  pid_t StartExecutor(const ExecutorOptions& options,
                      const std::function<void()>& before = nullptr) {
    pid_t pid = ::fork();
    if (pid != 0) {
      children_.push_back(pid);
      return pid;
    }
    // Nothing of this process: not its listening socket, not its epoll.
    ::close_range(3, ~0U, 0);
    if (before) before();
    ::_exit(RunExecutor(options));
  }
  // The exit code, or minus the signal; waits 20 s at most.
  int WaitForExit(pid_t pid) {
    int status = 0;
    bool ended = Wait([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
    EXPECT_TRUE(ended) << "executor " << pid << " does not end";
    if (!ended) return -1000;
    std::erase(children_, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Runs the loop until `done`, 60 s at most.
  bool Wait(const std::function<bool()>& done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop_.RunOnce(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool WaitConnected() {
    return Wait([&] { return controller_->connected(); });
  }

  v1::Template& AddTemplate(v1::FromController& message, const std::string& shell,
                            uint64_t id = 1) {
    v1::Template& added = *message.add_templates();
    added.set_id(id);
    added.set_shell(shell);
    added.set_cwd(dir_.path());
    added.set_milli_cpus(1000);
    added.set_grace_us(1'000'000);
    added.set_task_name("t");
    v1::Label& path = *added.add_env();
    path.set_key("PATH");
    path.set_value("/usr/bin:/bin");
    return added;
  }
  static void AddRun(v1::FromController& message, uint32_t task, uint64_t id = 1) {
    v1::Run& run = *message.add_runs();
    ToRef({{{1}, task}, 1}, 1, run.mutable_attempt());
    run.set_template_id(id);
    run.set_index(task);
  }
  void RunShell(const std::string& shell, uint32_t first, uint32_t count = 1) {
    v1::FromController message = controller_->Message();
    AddTemplate(message, shell);
    for (uint32_t i = 0; i < count; ++i) AddRun(message, first + i);
    controller_->Send(message);
  }
  bool WaitEnded(size_t count) {
    return Wait([&] { return controller_->ended.size() >= count; });
  }
  const v1::Ended& End(uint32_t task) { return controller_->ended.at(task).front(); }

  // All that the task has printed by now.
  static std::string ReadOutput(const std::string& folder, uint32_t task) {
    auto reader = SegmentReader::Open(folder);
    if (!reader.ok() || !reader->Refresh().ok()) return "(cannot be read)";
    auto chunk = reader->Read({{{1}, task}, 1}, std::nullopt, 0, 1 << 20);
    if (!chunk.ok()) return "(cannot be read)";
    return chunk->bytes;
  }
  // Processes whose command line holds `mark`.
  static size_t CountProcesses(const std::string& mark);

  test::TempDir dir_;
  EventLoop loop_;
  std::unique_ptr<FakeController> controller_;
  std::vector<pid_t> children_;
};

inline size_t ExecutorFixture::CountProcesses(const std::string& mark) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::FILE* file = std::fopen((entry.path().string() + "/cmdline").c_str(), "r");
    if (file == nullptr) continue;
    char line[4096];
    size_t n = std::fread(line, 1, sizeof line, file);
    std::fclose(file);
    if (std::string(line, n).find(mark) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace muster::executor
