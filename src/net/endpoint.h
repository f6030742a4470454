// Where somebody listens: a unix socket's path, or host and port.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace muster {

struct Endpoint {
  static Endpoint Unix(std::string path) { return {std::move(path), "", 0}; }
  static Endpoint Tcp(std::string host, uint16_t port) { return {"", std::move(host), port}; }

  // Empty: TCP.
  std::string unix_path;
  std::string host;
  uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "/run/x.sock", "10.0.0.1:8080", "[::1]:8080".
std::string Render(const Endpoint& endpoint);
// The forms of Render, also with "unix:" or "http://" before them.
Result<Endpoint> ParseEndpoint(std::string_view text);

// Who is at the other end of a unix socket, as the kernel knows it (SO_PEERCRED).
struct PeerCredentials {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
};
std::optional<PeerCredentials> ReadPeerCredentials(int socket);

// The address of a unix socket. A path too long for sockaddr_un (107 bytes) is reached through an
// open folder, which lives as long as this.
class UnixAddress {
 public:
  static Result<UnixAddress> Make(const std::string& path);
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_un address_{};
  socklen_t length_ = 0;
  UniqueFd folder_;
};

}  // namespace muster
