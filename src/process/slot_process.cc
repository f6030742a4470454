#include "process/slot_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/exit_facts.h"
#include "process/packet_socket.h"
#include "process/process_tree.h"
#include "process/program_start.h"
#include "process/spawn_protocol.h"

namespace muster {
namespace {

// A program that ends within this time is reported once, with its end.
constexpr Duration kStartedReportDelay{1000};

int64_t ToMicros(const timeval& time) { return int64_t{time.tv_sec} * 1000000 + time.tv_usec; }

// A program may have made the pipe non-blocking for itself; the next one must not find that.
void ResetFlags(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if ((flags & ~(O_ACCMODE | O_LARGEFILE)) != 0) ::fcntl(fd, F_SETFL, 0);
}

class SlotProcess {
 public:
  SlotProcess(UniqueFd socket, CgroupLeaf leaf)
      : socket_(std::move(socket)), signals_(OpenSignals()), leaf_(std::move(leaf)) {}
  [[noreturn]] void Run();

 private:
  enum class State {
    kIdle,
    kRunning,   // the program runs
    kEmptying,  // it has ended, and what it left has until the deadline of a stop
  };

  void OnPacket();
  void OnSignals();
  void OnStart(ReceivedPacket packet);
  void OnStop(const StopProgram& stop);
  // Points argv_ and env_ into `text`; false if it is not what `start` says.
  bool ParseText(const StartProgram& start, char* text, size_t size);
  void StartParsed(const StartProgram& start);
  void ReapEnded();
  void OnDeadline();
  void KillTree();
  void NoteFirstEnd(int status, const rusage& usage);
  void SendStarted();
  void SendEnded(std::string_view what_failed);
  void Send(std::string_view what_failed);
  [[noreturn]] void EndEverything();
  timespec* NextTimeout(timespec& storage) const;

  UniqueFd socket_;
  UniqueFd signals_;
  CgroupLeaf leaf_;
  UniqueFd stdout_;
  UniqueFd stderr_;
  State state_ = State::kIdle;
  pid_t first_ = 0;
  BootTime started_;
  std::optional<BootTime> report_start_at_;
  std::optional<BootTime> kill_at_;
  SlotReport report_{};
  // Reused from program to program.
  std::array<char, sizeof(StartProgram) + kMostInlineText> buffer_;
  std::vector<char*> argv_;
  std::vector<char*> env_;
  const char* cwd_ = "";
  const char* path_ = nullptr;
};

void SlotProcess::Run() {
  for (;;) {
    pollfd fds[2] = {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    timespec storage{};
    int ready = ::ppoll(fds, 2, NextTimeout(storage), nullptr);
    if (ready < 0 && errno != EINTR) EndEverything();
    // Ends come before requests: a stop must not be taken for the cause of an end before it.
    if (ready > 0 && fds[1].revents != 0) OnSignals();
    if (ready > 0 && fds[0].revents != 0) OnPacket();
    if (report_start_at_ || kill_at_) OnDeadline();
  }
}

timespec* SlotProcess::NextTimeout(timespec& storage) const {
  std::optional<BootTime> at = report_start_at_;
  if (kill_at_ && (!at || *kill_at_ < *at)) at = kill_at_;
  if (!at) return nullptr;
  int64_t left = std::max<int64_t>((*at - SystemClock().Read().boot).count(), 0);
  storage = {left / 1000000, left % 1000000 * 1000};
  return &storage;
}

void SlotProcess::OnDeadline() {
  BootTime now = SystemClock().Read().boot;
  if (report_start_at_ && now >= *report_start_at_) SendStarted();
  if (kill_at_ && now >= *kill_at_) KillTree();
}

void SlotProcess::OnSignals() {
  signalfd_siginfo infos[2];
  ssize_t size = ::read(signals_.get(), infos, sizeof infos);
  for (size_t i = 0; size > 0 && i < static_cast<size_t>(size) / sizeof infos[0]; ++i) {
    if (infos[i].ssi_signo == static_cast<uint32_t>(EndYourselfSignal())) EndEverything();
  }
  ReapEnded();
}

void SlotProcess::NoteFirstEnd(int status, const rusage& usage) {
  first_ = 0;
  report_.wall_us = (SystemClock().Read().boot - started_).count();
  report_.user_us = ToMicros(usage.ru_utime);
  report_.system_us = ToMicros(usage.ru_stime);
  report_.max_rss = static_cast<uint64_t>(usage.ru_maxrss) << 10;
  bool signalled = WIFSIGNALED(status);
  report_.how =
      static_cast<uint32_t>(signalled ? ExitFacts::How::kSignalled : ExitFacts::How::kExited);
  report_.code = signalled ? WTERMSIG(status) : WEXITSTATUS(status);
}

void SlotProcess::ReapEnded() {
  for (;;) {
    int status = 0;
    rusage usage{};
    pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid == 0) break;
    if (pid < 0) {
      if (state_ != State::kIdle && first_ == 0) SendEnded("");
      return;
    }
    if (pid == first_) {
      NoteFirstEnd(status, usage);
      state_ = State::kEmptying;
    }
  }
  // Others are left. After a stop with grace they have until its deadline, as the first one had:
  // the shell of a command line ends at once, what it started may need the time to clean up.
  if (state_ == State::kEmptying && !kill_at_) KillTree();
}

void SlotProcess::KillTree() {
  kill_at_.reset();
  if (state_ == State::kIdle) return;
  auto keep_none = [](pid_t) { return false; };
  EndDescendants(
      keep_none,
      [this](const ReapedProcess& reaped) {
        if (reaped.pid == first_) {
          NoteFirstEnd(reaped.status, reaped.usage);
        } else if (report_.stopped == 0 && WIFSIGNALED(reaped.status) &&
                   WTERMSIG(reaped.status) == SIGKILL) {
          ++report_.left_behind;
        }
      },
      [this] { leaf_.KillOthers(); });
  SendEnded("");
}

void SlotProcess::OnPacket() {
  ReceivedPacket packet = ReceivePacket(socket_.get(), buffer_);
  if (packet.hung_up) EndEverything();
  if (packet.size < sizeof(SlotRequest)) return;
  SlotRequest request{};
  std::memcpy(&request, buffer_.data(), sizeof request);
  if (request == SlotRequest::kStartProgram && packet.size >= sizeof(StartProgram)) {
    OnStart(std::move(packet));
  } else if (request == SlotRequest::kStopProgram && packet.size >= sizeof(StopProgram)) {
    StopProgram stop{};
    std::memcpy(&stop, buffer_.data(), sizeof stop);
    OnStop(stop);
  }
}

void SlotProcess::OnStop(const StopProgram& stop) {
  ReapEnded();  // what has ended by now did not end because of us
  if (state_ == State::kIdle || stop.run != report_.run) return;
  bool repeated = report_.stopped != 0;
  report_.stopped = 1;
  if (stop.grace_us <= 0) return KillTree();
  BootTime at = SystemClock().Read().boot + Duration(stop.grace_us);
  if (!kill_at_ || at < *kill_at_) kill_at_ = at;
  if (repeated) return;
  SignalDescendants(SIGTERM);
  SignalDescendants(SIGCONT);  // a stopped process would see nothing of it
}

void SlotProcess::OnStart(ReceivedPacket packet) {
  StartProgram start{};
  std::memcpy(&start, buffer_.data(), sizeof start);
  size_t next_fd = 0;
  if (start.brings_pipes != 0) {
    stdout_ = std::move(packet.fds[next_fd++]);
    stderr_ = std::move(packet.fds[next_fd++]);
  }
  char* text = buffer_.data() + sizeof start;
  size_t size = packet.size - sizeof start;
  bool in_file = start.text_size > kMostInlineText;
  if (in_file) {
    void* map = ::mmap(nullptr, start.text_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                       packet.fds[next_fd].get(), 0);
    if (map == MAP_FAILED) EndEverything();
    text = static_cast<char*>(map);
    size = start.text_size;
  }
  if (!ParseText(start, text, size)) EndEverything();
  StartParsed(start);
  if (in_file) ::munmap(text, size);
}

bool SlotProcess::ParseText(const StartProgram& start, char* text, size_t size) {
  if (size != start.text_size || size == 0 || text[size - 1] != '\0') return false;
  char* const end = text + size;
  auto take = [&]() -> char* {
    char* word = text;
    if (word >= end) return nullptr;
    text += std::strlen(word) + 1;
    return word;
  };
  cwd_ = take();
  argv_.assign(1, nullptr);  // the place that ProgramPlan wants before the first
  for (uint32_t i = 0; i < start.arguments; ++i) argv_.push_back(take());
  env_.clear();
  path_ = nullptr;
  for (uint32_t i = 0; i < start.variables; ++i) {
    char* variable = take();
    if (variable != nullptr && std::strncmp(variable, "PATH=", 5) == 0) path_ = variable + 5;
    env_.push_back(variable);
  }
  bool whole = text == end && argv_.size() > 1 && argv_.back() != nullptr;
  argv_.push_back(nullptr);
  env_.push_back(nullptr);
  return whole;
}

void SlotProcess::StartParsed(const StartProgram& start) {
  ResetFlags(stdout_.get());
  ResetFlags(stderr_.get());
  report_ = {};
  report_.run = start.run;
  kill_at_.reset();
  ProgramPlan plan;
  plan.argv = argv_.data() + 1;
  plan.env = env_.data();
  plan.cwd = cwd_;
  plan.path = path_;
  plan.stdout_fd = stdout_.get();
  plan.stderr_fd = stderr_.get();
  Now now = SystemClock().Read();
  started_ = now.boot;
  report_.started_us = now.wall.us;
  ProgramStart started = StartChild(plan);
  state_ = State::kRunning;
  if (started.pid == 0) {
    report_.how = static_cast<uint32_t>(ExitFacts::How::kNotStarted);
    report_.code = started.error_number;
    return SendEnded(started.what_failed);
  }
  first_ = started.pid;
  report_.pid = started.pid;
  report_start_at_ = SystemClock().Read().boot + kStartedReportDelay;
}

void SlotProcess::SendStarted() {
  report_start_at_.reset();
  report_.kind = SlotReport::kStarted;
  Send("");
}

void SlotProcess::SendEnded(std::string_view what_failed) {
  state_ = State::kIdle;
  report_start_at_.reset();
  kill_at_.reset();
  report_.kind = SlotReport::kEnded;
  Send(what_failed);
}

void SlotProcess::Send(std::string_view what_failed) {
  iovec parts[2] = {{&report_, sizeof report_},
                    {const_cast<char*>(what_failed.data()), what_failed.size()}};
  if (SendPacket(socket_.get(), {parts, what_failed.empty() ? 1U : 2U}) != 0) EndEverything();
}

void SlotProcess::EndEverything() {
  EndDescendants([](pid_t) { return false; }, [](const ReapedProcess&) {},
                 [this] { leaf_.KillOthers(); });
  ::_exit(0);
}

}  // namespace

int EndYourselfSignal() { return SIGUSR2; }

UniqueFd OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, EndYourselfSignal());
  return UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void RunSlotProcess(UniqueFd socket, pid_t zygote, CgroupLeaf leaf) {
  ::prctl(PR_SET_PDEATHSIG, EndYourselfSignal());
  if (::getppid() != zygote) ::_exit(0);
  ::setsid();
  ::prctl(PR_SET_NAME, "muster-slot");
  BecomeSubreaper();
  leaf.Join();
  // On the heap: it is large, and stacks of sanitizers are not.
  auto* slot = new SlotProcess(std::move(socket), std::move(leaf));
  slot->Run();
}

}  // namespace muster
