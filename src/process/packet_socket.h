// One packet over a SOCK_SEQPACKET socket between our own processes, with descriptors beside it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace muster {

constexpr size_t kMostPacketFds = 3;

struct PacketSocketPair {
  UniqueFd ours;    // non-blocking
  UniqueFd theirs;  // blocking
};
Result<PacketSocketPair> MakePacketSocketPair();

// Sends all of `parts` as one packet. 0, or errno: EAGAIN if it would block, EPIPE if the other
// side is gone. Never raises SIGPIPE.
int SendPacket(int socket, std::span<const iovec> parts, std::span<const int> fds = {});

struct ReceivedPacket {
  size_t size = 0;
  int error_number = 0;  // not 0: nothing was received; EAGAIN: nothing is there now
  bool hung_up = false;  // the other side has closed; nothing was received
  std::array<UniqueFd, kMostPacketFds> fds;
};
// Receives one packet into `buffer`; what does not fit is lost. Descriptors get close-on-exec.
ReceivedPacket ReceivePacket(int socket, std::span<char> buffer);

}  // namespace muster
