#include "process/packet_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

namespace muster {
namespace {
constexpr size_t kControlSize = CMSG_SPACE(sizeof(int) * kMostPacketFds);
}  // namespace

Result<PacketSocketPair> MakePacketSocketPair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return ErrnoError("make a socket pair for the spawner", errno);
  }
  PacketSocketPair pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
  if (::fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoError("make the spawner's socket non-blocking", errno);
  }
  return pair;
}

int SendPacket(int socket, std::span<const iovec> parts, std::span<const int> fds) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) char control[kControlSize];
  if (!fds.empty()) {
    std::memset(control, 0, sizeof control);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

ReceivedPacket ReceivePacket(int socket, std::span<char> buffer) {
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[kControlSize];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ReceivedPacket packet;
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    // What was sent to the dead and never read comes back as a reset.
    packet.hung_up = errno == ECONNRESET || errno == EPIPE;
    packet.error_number = errno;
    return packet;
  }
  if (size == 0) {
    packet.hung_up = true;
    packet.error_number = EPIPE;
    return packet;
  }
  packet.size = static_cast<size_t>(size);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      if (i < packet.fds.size()) packet.fds[i].Reset(fd);
    }
  }
  return packet;
}

}  // namespace muster
