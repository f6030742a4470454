#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr int kBacklog = 1024;
constexpr int kAcceptsPerPass = 64;
constexpr Duration kAcceptPause = 100ms;

// True if somebody accepts connections at `address`.
bool Answers(const UnixAddress& address) {
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return true;
  if (::connect(probe.get(), address.address(), address.length()) == 0) return true;
  return errno == EAGAIN;  // its queue is full
}

// Two servers that start at once must not remove each other's file: a lock on the folder.
Result<UniqueFd> LockFolderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError("open folder " + folder, errno);
  if (::flock(fd.get(), LOCK_EX) != 0) return ErrnoError("lock folder " + folder, errno);
  return fd;
}

Status RemoveStale(const std::string& path, const UnixAddress& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return Status::Ok();
  if (!S_ISSOCK(found.st_mode)) {
    return OperatorError(ErrorCode::kAlreadyExists,
                         fmt::format("listen on {}: there is a file that is not a socket", path));
  }
  if (Answers(address)) {
    return OperatorError(ErrorCode::kAlreadyExists,
                         fmt::format("listen on {}: another server answers there", path));
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoError(fmt::format("remove {}, left by a server that is gone", path), errno);
  }
  return Status::Ok();
}

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Result<TcpAddress> ToTcpAddress(const std::string& host, uint16_t port) {
  TcpAddress made;
  auto* four = reinterpret_cast<sockaddr_in*>(&made.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&made.storage);
  if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    made.length = sizeof *four;
  } else if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    made.length = sizeof *six;
  } else {
    return OperatorError(ErrorCode::kInvalidArgument,
                         fmt::format("listen on \"{}\": not an address in numbers", host));
  }
  return made;
}

uint16_t PortOf(int fd) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) return 0;
  if (name.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(name).sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in&>(name).sin_port);
}

}  // namespace

Listener::Listener(EventLoop& loop, UniqueFd fd, Endpoint endpoint, OnAccept on_accept)
    : loop_(loop),
      fd_(std::move(fd)),
      reserve_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      endpoint_(std::move(endpoint)),
      on_accept_(std::move(on_accept)) {
  loop_.WatchFd(fd_.get(), [this] { AcceptReady(); });
}

Listener::~Listener() {
  loop_.CancelTimer(resume_);
  loop_.UnwatchFd(fd_.get());
  struct stat found{};
  if (!endpoint_.unix_path.empty() && ::lstat(endpoint_.unix_path.c_str(), &found) == 0 &&
      found.st_dev == device_ && found.st_ino == inode_) {
    ::unlink(endpoint_.unix_path.c_str());
  }
}

Result<std::unique_ptr<Listener>> Listener::Unix(EventLoop& loop, const std::string& path,
                                                 mode_t mode, OnAccept on_accept) {
  ASSIGN_OR_RETURN(UnixAddress address, UnixAddress::Make(path));
  ASSIGN_OR_RETURN(UniqueFd lock, LockFolderOf(path));
  RETURN_IF_ERROR(RemoveStale(path, address));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError("make a unix socket", errno);
  // On Linux the file gets the mode of the socket, so that it is never open for a moment.
  ::fchmod(fd.get(), mode);
  if (::bind(fd.get(), address.address(), address.length()) != 0) {
    return ErrnoError("listen on " + path, errno);
  }
  struct stat made{};
  if (::chmod(path.c_str(), mode) != 0 || ::listen(fd.get(), kBacklog) != 0 ||
      ::lstat(path.c_str(), &made) != 0) {
    return ErrnoError("listen on " + path, errno);
  }
  std::unique_ptr<Listener> listener(
      new Listener(loop, std::move(fd), Endpoint::Unix(path), std::move(on_accept)));
  listener->device_ = made.st_dev;
  listener->inode_ = made.st_ino;
  return listener;
}

Result<std::unique_ptr<Listener>> Listener::Tcp(EventLoop& loop, const std::string& address,
                                                uint16_t port, OnAccept on_accept) {
  ASSIGN_OR_RETURN(TcpAddress at, ToTcpAddress(address, port));
  UniqueFd fd(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  std::string what = "listen on " + Render(Endpoint::Tcp(address, port));
  if (!fd.valid()) return ErrnoError(what, errno);
  int one = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&at.storage), at.length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return ErrnoError(what, errno);
  }
  Endpoint endpoint = Endpoint::Tcp(address, PortOf(fd.get()));
  return std::unique_ptr<Listener>(
      new Listener(loop, std::move(fd), std::move(endpoint), std::move(on_accept)));
}

void Listener::AcceptReady() {
  for (int i = 0; i < kAcceptsPerPass; ++i) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      on_accept_(std::move(fd));
      continue;
    }
    if (errno == EAGAIN) return;
    if (errno == ECONNABORTED || errno == EINTR) continue;
    LogWarning("accept on {}: {}", Render(endpoint_), std::strerror(errno));
    if (errno == EMFILE || errno == ENFILE) TurnOneAway();
    return PauseAccepting();
  }
}

void Listener::TurnOneAway() {
  if (!reserve_.valid()) return;
  reserve_.Reset();
  UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  fd.Reset();
  reserve_.Reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Listener::PauseAccepting() {
  loop_.UnwatchFd(fd_.get());
  resume_ = loop_.RunAfter(kAcceptPause, [this] {
    if (!reserve_.valid()) reserve_.Reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    loop_.WatchFd(fd_.get(), [this] { AcceptReady(); });
  });
}

}  // namespace muster
