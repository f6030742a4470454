#include "net/endpoint.h"

#include <fcntl.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace muster {

std::string Render(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty()) return endpoint.unix_path;
  if (endpoint.host.find(':') != std::string::npos) {
    return fmt::format("[{}]:{}", endpoint.host, endpoint.port);
  }
  return fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("unix://"))
    rest.remove_prefix(7);
  else if (rest.starts_with("unix:"))
    rest.remove_prefix(5);
  if (rest.starts_with("/")) return Endpoint::Unix(std::string(rest));
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  while (rest.ends_with("/")) rest.remove_suffix(1);
  size_t colon = rest.rfind(':');
  uint16_t port = 0;
  if (colon != std::string_view::npos) {
    std::string_view digits = rest.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size())
      colon = std::string_view::npos;
  }
  std::string_view host = rest.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.starts_with("[") && host.ends_with("]")) host = host.substr(1, host.size() - 2);
  if (host.empty()) {
    return UserError(
        ErrorCode::kInvalidArgument,
        fmt::format("address \"{}\" is neither /path/of/a/socket nor host:port", text));
  }
  return Endpoint::Tcp(std::string(host), port);
}

std::optional<PeerCredentials> ReadPeerCredentials(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  sockaddr_storage name{};
  socklen_t name_size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &name_size) != 0 ||
      name.ss_family != AF_UNIX ||
      ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  return PeerCredentials{credentials.uid, credentials.gid, credentials.pid};
}

Result<UnixAddress> UnixAddress::Make(const std::string& path) {
  UnixAddress made;
  std::string name = path;
  if (path.empty()) return UserError(ErrorCode::kInvalidArgument, "path of a unix socket is empty");
  if (path.size() >= sizeof made.address_.sun_path) {
    size_t slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    made.folder_.Reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!made.folder_.valid()) return ErrnoError("open folder " + folder, errno);
    name = fmt::format("/proc/self/fd/{}/{}", made.folder_.get(), path.substr(slash + 1));
    if (name.size() >= sizeof made.address_.sun_path) {
      return UserError(ErrorCode::kInvalidArgument,
                       fmt::format("name of the unix socket {} is too long", path));
    }
  }
  made.address_.sun_family = AF_UNIX;
  std::memcpy(made.address_.sun_path, name.data(), name.size());
  made.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  return made;
}

}  // namespace muster
