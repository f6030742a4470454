#include "backends/local/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "backends/local/launch_folder.h"
#include "backends/local/launch_lock.h"
#include "base/clock.h"
#include "base/log.h"
#include "process/proc_stat.h"
#include "process/process_tree.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

namespace muster::local {
namespace {

constexpr int kStatusDescriptor = STDOUT_FILENO;
constexpr int kNeverBegan = 125;  // exit code of an executor that did nothing

// Carries the grace. A real-time signal, because they queue: of several SIGTERM only the first
// would be kept, and with it the longer grace.
int StopRequestSignal() { return SIGRTMIN; }

void Say(std::string_view line) {
  std::string text(line);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  [[maybe_unused]] ssize_t written = ::write(kStatusDescriptor, text.data(), text.size());
}

// From here on standard output is the log too, and the backend sees the end of what was said.
void EndSaying() { ::dup2(STDERR_FILENO, kStatusDescriptor); }

sigset_t KeeperSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, StopRequestSignal()})
    sigaddset(&set, signal);
  return set;
}

class Keeper {
 public:
  Keeper(LaunchFolder folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  // Returns when nothing of the launch is left.
  Status Run(const std::function<int()>& run);

 private:
  Status Start(const std::function<int()>& run);
  [[noreturn]] void RunExecutor(int go, pid_t keeper, const std::function<int()>& run);
  Status WriteIdentity();
  void WaitForExecutor();
  void OnStopSignal(const siginfo_t& signal);
  void KillIfDue();
  void Reap();
  void WriteOutcome(uint64_t left_behind);

  LaunchFolder folder_;
  UniqueFd lock_;
  sigset_t outer_mask_{};
  pid_t executor_ = 0;
  std::optional<int> executor_status_;
  bool told_to_stop_ = false;
  std::optional<BootTime> kill_at_;
};

Status Keeper::Run(const std::function<int()>& run) {
  RETURN_IF_ERROR(Start(run));
  ::prctl(PR_SET_NAME, "muster-keeper");
  WaitForExecutor();
  uint64_t left_behind = 0;
  EndDescendants([](pid_t) { return false; }, [&](const ReapedProcess&) { ++left_behind; });
  WriteOutcome(left_behind);
  return Status::Ok();
}

Status Keeper::Start(const std::function<int()>& run) {
  BecomeSubreaper();
  sigset_t signals = KeeperSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, &outer_mask_);
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> go{};
  if (::pipe2(go.data(), O_CLOEXEC) != 0) return ErrnoError("make a pipe", errno);
  UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  const pid_t keeper = ::getpid();
  executor_ = ::fork();
  if (executor_ < 0) return ErrnoError("fork the executor", errno);
  if (executor_ == 0) {
    go_write.Reset();
    RunExecutor(go_read.Release(), keeper, run);
  }
  // Nothing of the executor runs before it is on record. If that fails, the closed pipe ends it.
  RETURN_IF_ERROR(WriteIdentity());
  Say("started");
  EndSaying();
  if (::write(go_write.get(), "g", 1) != 1) LogError("executor: it was gone before it could begin");
  return Status::Ok();
}

void Keeper::RunExecutor(int go, pid_t keeper, const std::function<int()>& run) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(kNeverBegan);
  lock_.Reset();
  EndSaying();
  char byte = 0;
  ssize_t size = 0;
  do {
    size = ::read(go, &byte, 1);
  } while (size < 0 && errno == EINTR);
  if (size != 1) ::_exit(kNeverBegan);
  ::close(go);
  ::signal(SIGPIPE, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &outer_mask_, nullptr);
  std::exit(run());
}

Status Keeper::WriteIdentity() {
  LaunchIdentity identity;
  ASSIGN_OR_RETURN(identity.keeper, IdentityOf(::getpid()));
  ASSIGN_OR_RETURN(identity.executor, IdentityOf(executor_));
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  identity.host = host.data();
  identity.started = SystemClock().Read().wall;
  return folder_.WriteIdentity(identity);
}

void Keeper::WaitForExecutor() {
  const sigset_t signals = KeeperSignals();
  for (Reap(); !executor_status_; Reap()) {
    siginfo_t signal{};
    int number = 0;
    if (kill_at_) {
      const Duration left = std::max(*kill_at_ - SystemClock().Read().boot, Duration{0});
      timespec wait{left.count() / 1'000'000, left.count() % 1'000'000 * 1000};
      number = ::sigtimedwait(&signals, &signal, &wait);
    } else {
      number = ::sigwaitinfo(&signals, &signal);
    }
    if (number > 0 && number != SIGCHLD) OnStopSignal(signal);
    KillIfDue();
  }
}

void Keeper::OnStopSignal(const siginfo_t& signal) {
  const bool says_grace = signal.si_signo == StopRequestSignal() && signal.si_code == SI_QUEUE;
  const Duration grace = says_grace ? Duration(std::chrono::milliseconds(signal.si_value.sival_int))
                                    : kDefaultStopGrace;
  if (!told_to_stop_) {
    told_to_stop_ = true;
    LogInfo("executor: told to stop within {}", Render(grace));
    ::kill(executor_, SIGTERM);
  }
  const BootTime end = SystemClock().Read().boot + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, end) : end;
}

void Keeper::KillIfDue() {
  if (!kill_at_ || SystemClock().Read().boot < *kill_at_) return;
  ::kill(executor_, SIGKILL);  // not waited for yet, so the pid cannot be somebody else's
  kill_at_.reset();
}

// Orphans of the tree, and the executor. After it the rest is left to EndDescendants, which counts.
void Keeper::Reap() {
  while (!executor_status_) {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (pid == executor_) executor_status_ = status;
  }
}

void Keeper::WriteOutcome(uint64_t left_behind) {
  LaunchOutcome outcome;
  if (WIFEXITED(*executor_status_)) outcome.exit_code = WEXITSTATUS(*executor_status_);
  if (WIFSIGNALED(*executor_status_)) outcome.exit_signal = WTERMSIG(*executor_status_);
  outcome.left_behind = left_behind;
  outcome.ended = SystemClock().Read().wall;
  Status written = folder_.WriteOutcome(outcome);
  if (!written.ok()) LogError("executor: keep its outcome: {}", written.error().ToString());
}

Result<UniqueFd> TakeOverLock(const LaunchFolder& folder) {
  if (IsOpenOn(kLockDescriptor, folder.lock_path())) {
    ::fcntl(kLockDescriptor, F_SETFD, FD_CLOEXEC);
    return UniqueFd(kLockDescriptor);
  }
  ASSIGN_OR_RETURN(UniqueFd lock, TakeLock(folder.lock_path()));
  if (!lock.valid()) {
    return OperatorError(ErrorCode::kAlreadyExists,
                         fmt::format("run launch {}: it runs already", folder.path()));
  }
  ASSIGN_OR_RETURN(LaunchEvidence seen, folder.Look());
  if (seen.identity_written) {
    return OperatorError(ErrorCode::kAlreadyExists,
                         fmt::format("run launch {}: it has run already", folder.path()));
  }
  RETURN_IF_ERROR(folder.ReserveOutcome());
  return lock;
}

}  // namespace

int RunLaunch(const std::string& path, const std::function<int()>& run) {
  LaunchFolder folder(path);
  auto lock = TakeOverLock(folder);
  Status kept = lock.ok() ? Keeper(std::move(folder), std::move(*lock)).Run(run)
                          : Status(std::move(lock).error());
  if (kept.ok()) ::_exit(0);
  Say("failed: " + kept.error().ToString());
  return 1;
}

Status RequestStop(const ProcessIdentity& keeper, Duration grace) {
  siginfo_t signal{};
  signal.si_signo = StopRequestSignal();
  signal.si_code = SI_QUEUE;
  signal.si_pid = ::getpid();
  signal.si_uid = ::getuid();
  auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(grace).count();
  signal.si_value.sival_int = static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 86'400'000));
  auto process = OpenProcess(keeper);
  long sent = -1;
  if (process.ok()) {
    sent = ::syscall(SYS_pidfd_send_signal, process->get(), signal.si_signo, &signal, 0);
  } else if (!StillRuns(keeper)) {
    return std::move(process).error();
  } else {
    sent =
        ::syscall(SYS_rt_sigqueueinfo, keeper.pid, signal.si_signo, &signal);  // kernels before 5.3
  }
  if (sent != 0) return ErrnoError(fmt::format("signal keeper {}", keeper.pid), errno);
  return Status::Ok();
}

void ReapKeeper(const ProcessIdentity& keeper) {
  static std::mutex
      mutex;  // or another thread reaps it, and the pid is given to another child of ours
  std::lock_guard lock(mutex);
  auto stat = ReadProcStat(keeper.pid);
  if (!stat || stat->state != 'Z' || stat->parent != ::getpid() ||
      stat->start_ticks != keeper.start_ticks) {
    return;
  }
  ::waitpid(keeper.pid, nullptr, WNOHANG);
}

}  // namespace muster::local
