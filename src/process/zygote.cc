#include "process/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <span>

#include "base/clock.h"
#include "process/cgroup_leaf.h"
#include "process/packet_socket.h"
#include "process/process_tree.h"
#include "process/slot_process.h"
#include "process/spawn_protocol.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace muster {
namespace {

constexpr std::chrono::seconds kSlotsEndWithin{10};

void CloseOthersOneByOne(int kept) {
  DIR* dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != kept && fd != ::dirfd(dir)) ::close(fd);
  }
  ::closedir(dir);
}

// Whoever started the executor may have left descriptors open: no program gets them from us.
void CloseAllBut(int kept) {
  bool closed = ::syscall(SYS_close_range, kept + 1, ~0U, 0) == 0;
  if (closed && kept > 3) closed = ::syscall(SYS_close_range, 3, kept - 1, 0) == 0;
  if (!closed) CloseOthersOneByOne(kept);
}

// Programs get default dispositions: caught signals are reset by exec, ignored ones only here.
void ResetIgnoredSignals() {
  for (int number = 1; number < 65; ++number) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) continue;
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
  struct sigaction child{};
  child.sa_handler = SIG_DFL;
  child.sa_flags = SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &child, nullptr);
}

void UseNullDevice() {
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  // Standard error stays, for crashes of our own; but it must be open, or a socket gets its number.
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(null, STDERR_FILENO);
  if (null > 2) ::close(null);
}

class Zygote {
 public:
  Zygote(UniqueFd socket, pid_t executor)
      : socket_(std::move(socket)),
        signals_(OpenSignals()),
        executor_(executor),
        cgroups_(CgroupFolder::Make(::getpid())) {}
  [[noreturn]] void Run();

 private:
  void OnPacket();
  void OnSignals();
  void OpenOne(uint32_t slot, UniqueFd slot_socket);
  void Reap();
  void OnSlotEnded(pid_t pid);
  void Report(const ZygoteReport& report);
  [[noreturn]] void EndEverything();

  UniqueFd socket_;
  UniqueFd signals_;
  const pid_t executor_;
  CgroupFolder cgroups_;
  std::map<pid_t, uint32_t> slots_;
};

void Zygote::Run() {
  for (;;) {
    pollfd fds[2] = {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) EndEverything();
    if (fds[1].revents != 0) OnSignals();
    if (fds[0].revents != 0) OnPacket();
  }
}

void Zygote::OnSignals() {
  signalfd_siginfo infos[2];
  while (::read(signals_.get(), infos, sizeof infos) > 0) {
  }
  // The signal of a parent's death comes already at the end of the thread that forked us.
  if (::getppid() != executor_) EndEverything();
  Reap();
}

void Zygote::OnPacket() {
  OpenSlot request{};
  ReceivedPacket packet =
      ReceivePacket(socket_.get(), {reinterpret_cast<char*>(&request), sizeof request});
  if (packet.hung_up) EndEverything();
  if (packet.size == sizeof request) OpenOne(request.slot, std::move(packet.fds[0]));
}

void Zygote::OpenOne(uint32_t slot, UniqueFd slot_socket) {
  const pid_t self = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return Report({ZygoteReport::kForkFailed, slot, errno, 0});
  if (pid > 0) {
    slots_[pid] = slot;
    return;
  }
  socket_.Reset();
  signals_.Reset();
  CgroupLeaf leaf = cgroups_.MakeLeaf(slot);
  cgroups_ = CgroupFolder();
  RunSlotProcess(std::move(slot_socket), self, std::move(leaf));
}

void Zygote::Reap() {
  for (;;) {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    if (slots_.contains(pid)) OnSlotEnded(pid);
  }
}

// Our only children are slot processes, so every other one is an orphan of a slot that has ended.
void Zygote::OnSlotEnded(pid_t pid) {
  std::map<pid_t, uint32_t> ended;
  ended.insert(slots_.extract(pid));
  uint32_t left_behind = 0;
  for (auto [gone, slot] : ended) cgroups_.KillLeaf(slot);
  EndDescendants([this](pid_t child) { return slots_.contains(child); },
                 [&](const ReapedProcess& reaped) {
                   if (auto slot = slots_.extract(reaped.pid)) {
                     ended.insert(std::move(slot));
                   } else if (WIFSIGNALED(reaped.status)) {
                     ++left_behind;
                   }
                 });
  for (auto [gone, slot] : ended) {
    cgroups_.RemoveLeaf(slot);
    Report({ZygoteReport::kSlotGone, slot, 0, left_behind});
  }
}

void Zygote::Report(const ZygoteReport& report) {
  iovec part{const_cast<ZygoteReport*>(&report), sizeof report};
  SendPacket(socket_.get(), {&part, 1});  // a hang-up is seen by the next receive
}

void Zygote::EndEverything() {
  const BootTime limit = SystemClock().Read().boot + kSlotsEndWithin;
  const std::map<pid_t, uint32_t> all = slots_;
  for (const auto& [pid, slot] : slots_) ::kill(pid, EndYourselfSignal());
  while (!slots_.empty() && SystemClock().Read().boot < limit) {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0) break;
    slots_.erase(pid);
    if (pid == 0) {
      pollfd changed{signals_.get(), POLLIN, 0};
      ::poll(&changed, 1, 20);
      signalfd_siginfo infos[2];
      while (::read(signals_.get(), infos, sizeof infos) > 0) {
      }
    }
  }
  EndDescendants([](pid_t) { return false; }, [](const ReapedProcess&) {});
  for (const auto& [pid, slot] : all) cgroups_.RemoveLeaf(slot);
  cgroups_.Remove();
  ::_exit(0);
}

}  // namespace

void RunZygote(UniqueFd socket, pid_t executor) {
  ::prctl(PR_SET_PDEATHSIG, EndYourselfSignal());
  if (::getppid() != executor) ::_exit(0);
  ::setsid();
  ::prctl(PR_SET_NAME, "muster-spawner");
  BecomeSubreaper();
  UseNullDevice();
  CloseAllBut(socket.get());
  ResetIgnoredSignals();
  Zygote(std::move(socket), executor).Run();
}

}  // namespace muster
