#include "process/spawner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/cgroup_leaf.h"
#include "process/packet_socket.h"
#include "process/process_tree.h"
#include "process/zygote.h"

namespace muster {

Result<Spawner> Spawner::Fork() {
  ASSIGN_OR_RETURN(PacketSocketPair pair, MakePacketSocketPair());
  const pid_t self = ::getpid();
  // Blocked across the fork: no handler of ours may run in the zygote.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  pid_t pid = ::fork();
  if (pid == 0) {
    pair.ours.Reset();
    RunZygote(std::move(pair.theirs), self);
  }
  int error_number = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return ErrnoError("fork the spawner", error_number);
  return Spawner(std::move(pair.ours), pid);
}

Spawner::Spawner(Spawner&& other) noexcept
    : socket_(std::move(other.socket_)),
      zygote_(std::exchange(other.zygote_, 0)),
      alive_(other.alive_),
      adopts_(other.adopts_) {}

Spawner::~Spawner() {
  if (zygote_ == 0) return;
  socket_.Reset();
  for (int waited_ms = 0; waited_ms < 5000; ++waited_ms) {
    pid_t pid = ::waitpid(zygote_, nullptr, WNOHANG);
    if (pid == zygote_ || (pid < 0 && errno == ECHILD)) break;
    ::poll(nullptr, 0, 1);
  }
  EndOrphans();
  CgroupFolder::RemoveAllOf(zygote_);
}

void Spawner::AdoptOrphans() {
  BecomeSubreaper();
  adopts_ = true;
}

void Spawner::EndOrphans() {
  if (!adopts_) return;
  EndDescendants([](pid_t) { return false; }, [](const ReapedProcess&) {});
}

Status Spawner::Open(uint32_t slot, UniqueFd slot_socket) {
  OpenSlot request{slot};
  iovec part{&request, sizeof request};
  int fd = slot_socket.get();
  int error_number = SendPacket(socket_.get(), {&part, 1}, {&fd, 1});
  if (error_number != 0) return ErrnoError("ask the spawner for a slot process", error_number);
  return Status::Ok();
}

std::optional<ZygoteReport> Spawner::NextReport() {
  ZygoteReport report{};
  ReceivedPacket packet =
      ReceivePacket(socket_.get(), {reinterpret_cast<char*>(&report), sizeof report});
  if (packet.hung_up) alive_ = false;
  if (packet.size != sizeof report) return std::nullopt;
  return report;
}

}  // namespace muster
