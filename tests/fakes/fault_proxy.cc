#include "fakes/fault_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"

namespace muster::test {
namespace {

// More than this waits in a direction: it is not read for a while.
constexpr size_t kMostQueued = 1 << 20;

BootTime NowBoot() { return SystemClock().Read().boot; }

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<Address> AddressOf(const ProxyEndpoint& endpoint) {
  Address address;
  if (const auto* unix = std::get_if<UnixEndpoint>(&endpoint)) {
    auto* name = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (unix->path.size() >= sizeof name->sun_path) {
      return UserError(ErrorCode::kInvalidArgument, "socket path is too long: " + unix->path);
    }
    name->sun_family = AF_UNIX;
    std::memcpy(name->sun_path, unix->path.c_str(), unix->path.size() + 1);
    address.size = sizeof *name;
  } else {
    auto* name = reinterpret_cast<sockaddr_in*>(&address.storage);
    name->sin_family = AF_INET;
    name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name->sin_port = htons(std::get<TcpEndpoint>(endpoint).port);
    address.size = sizeof *name;
  }
  return address;
}

Result<UniqueFd> Connect(const ProxyEndpoint& endpoint) {
  ASSIGN_OR_RETURN(Address address, AddressOf(endpoint));
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError("make a socket", errno);
  if (::connect(fd.get(), address.get(), address.size) != 0) return ErrnoError("connect", errno);
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

void SendAtOnce(int fd) {
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on unix sockets: no harm
}

// Bytes on their way in one direction.
class Stream {
 public:
  Stream(Duration delay, std::optional<uint64_t> stall_after)
      : delay_(delay), stall_after_(stall_after) {}

  bool wants_to_read() const { return !ended_ && !is_stalled() && queued_ < kMostQueued; }
  bool is_stalled() const { return stall_after_ && read_ >= *stall_after_; }
  bool wants_to_write(BootTime now) const { return !pieces_.empty() && pieces_.front().due <= now; }
  std::optional<BootTime> due() const {
    return pieces_.empty() ? std::nullopt : std::optional(pieces_.front().due);
  }
  bool is_over() const { return ended_ && pieces_.empty(); }
  uint64_t written() const { return written_; }

  // False if the connection is broken.
  bool ReadFrom(int fd) {
    std::array<char, 65536> part;
    size_t most = part.size();
    if (stall_after_) most = std::min<uint64_t>(most, *stall_after_ - read_);
    ssize_t size = ::recv(fd, part.data(), most, 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) {
      ended_ = true;
      return true;
    }
    read_ += static_cast<uint64_t>(size);
    queued_ += static_cast<size_t>(size);
    pieces_.push_back({NowBoot() + delay_, std::string(part.data(), static_cast<size_t>(size))});
    return true;
  }
  // At most up to `limit` bytes of the whole stream. False if the connection is broken.
  bool WriteTo(int fd, std::optional<uint64_t> limit) {
    std::string& bytes = pieces_.front().bytes;
    size_t most = bytes.size();
    if (limit) most = std::min<uint64_t>(most, *limit - std::min(*limit, written_));
    ssize_t size = ::send(fd, bytes.data(), most, MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    written_ += static_cast<uint64_t>(size);
    queued_ -= static_cast<size_t>(size);
    bytes.erase(0, static_cast<size_t>(size));
    if (bytes.empty()) pieces_.pop_front();
    return true;
  }

 private:
  struct Piece {
    BootTime due;
    std::string bytes;
  };
  const Duration delay_;
  const std::optional<uint64_t> stall_after_;
  std::deque<Piece> pieces_;
  size_t queued_ = 0;
  uint64_t read_ = 0;
  uint64_t written_ = 0;
  bool ended_ = false;
};

}  // namespace

class FaultProxy::Connection {
 public:
  Connection(UniqueFd client, UniqueFd server, const ConnectionPlan& plan)
      : plan_(plan),
        client_(std::move(client)),
        server_(std::move(server)),
        request_(plan.request_delay, plan.stall_after_request_bytes),
        answer_(plan.answer_delay, plan.stall_after_answer_bytes) {}

  // Both descriptors; -1 where there is nothing to wait for.
  void AddTo(std::vector<pollfd>& polled, BootTime now) const {
    polled.push_back({client_.get(), Wants(request_, answer_, now), 0});
    polled.push_back({server_.get(), Wants(answer_, request_, now), 0});
    // A closed peer would be reported again and again while a direction is stalled or done.
    for (size_t i = polled.size() - 2; i < polled.size(); ++i) {
      if (polled[i].events == 0) polled[i].fd = -1;
    }
  }
  std::optional<BootTime> due() const {
    auto request = request_.due();
    auto answer = answer_.due();
    if (!request || !answer) return request ? request : answer;
    return std::min(*request, *answer);
  }

  // False once it is over or was cut.
  bool OnEvents(short client_events, short server_events, BootTime now, Counts& counts) {
    if (plan_.http_status) return AnswerHttp(client_events, counts);
    constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
    if ((client_events & kReadable) != 0 && request_.wants_to_read() &&
        !request_.ReadFrom(client_.get())) {
      return false;
    }
    if ((server_events & kReadable) != 0 && answer_.wants_to_read()) {
      if (!answer_.ReadFrom(server_.get())) return false;
      if (plan_.drop_answer && answer_.due()) return Cut(counts);
    }
    const uint64_t requested = request_.written();
    const uint64_t answered = answer_.written();
    const bool well = Forward(request_, server_.get(), plan_.cut_after_request_bytes, now) &&
                      Forward(answer_, client_.get(), plan_.cut_after_answer_bytes, now);
    counts.request_bytes += request_.written() - requested;
    counts.answer_bytes += answer_.written() - answered;
    if (!well) return false;
    if (ReachedCut()) return Cut(counts);
    CountStall(counts);
    PassOnEnds();
    return !(request_.is_over() && answer_.is_over());
  }

  // Reset rather than closed, where the protocol knows the difference.
  bool Cut(Counts& counts) {
    ++counts.cut;
    const linger at_once{1, 0};
    for (int fd : {client_.get(), server_.get()}) {
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    return false;
  }

 private:
  short Wants(const Stream& in, const Stream& out, BootTime now) const {
    short events = 0;
    if (in.wants_to_read()) events |= POLLIN;
    if (out.wants_to_write(now)) events |= POLLOUT;
    return events;
  }
  static bool Forward(Stream& stream, int to, std::optional<uint64_t> limit, BootTime now) {
    if (!stream.wants_to_write(now) || (limit && stream.written() >= *limit)) return true;
    return stream.WriteTo(to, limit);
  }
  bool ReachedCut() const {
    return (plan_.cut_after_request_bytes &&
            request_.written() >= *plan_.cut_after_request_bytes) ||
           (plan_.cut_after_answer_bytes && answer_.written() >= *plan_.cut_after_answer_bytes);
  }
  void CountStall(Counts& counts) {
    if (counted_stall_ || !(request_.is_stalled() || answer_.is_stalled())) return;
    counted_stall_ = true;
    ++counts.stalled;
  }
  void PassOnEnds() {
    if (request_.is_over() && !std::exchange(told_server_, true)) {
      ::shutdown(server_.get(), SHUT_WR);
    }
    if (answer_.is_over() && !std::exchange(told_client_, true)) ::shutdown(client_.get(), SHUT_WR);
  }
  // One answer to each request head; what else the client sends is thrown away.
  bool AnswerHttp(short client_events, Counts& counts) {
    if ((client_events & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
    std::array<char, 4096> part;
    ssize_t size = ::recv(client_.get(), part.data(), part.size(), 0);
    if (size <= 0) return size < 0 && errno == EAGAIN;
    head_.append(part.data(), static_cast<size_t>(size));
    for (size_t end; (end = head_.find("\r\n\r\n")) != std::string::npos;) {
      head_.erase(0, end + 4);
      std::string answer =
          fmt::format("HTTP/1.1 {} Fault\r\nContent-Length: 0\r\n\r\n", *plan_.http_status);
      ++counts.http_answers;
      if (::send(client_.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return false;
    }
    return true;
  }

  const ConnectionPlan plan_;
  UniqueFd client_;
  UniqueFd server_;  // not valid if the proxy answers itself
  Stream request_;
  Stream answer_;
  bool counted_stall_ = false;
  bool told_server_ = false;
  bool told_client_ = false;
  std::string head_;
};

PlanSource PassThrough() {
  return [](uint64_t) { return ConnectionPlan(); };
}

PlanSource Scripted(std::vector<ConnectionPlan> plans) {
  return [plans = std::move(plans)](uint64_t connection) {
    return connection <= plans.size() ? plans[connection - 1] : ConnectionPlan();
  };
}

PlanSource SeededPlans(uint64_t seed, unsigned percent, uint64_t longest_cut) {
  return [seed, percent, longest_cut](uint64_t connection) {
    Random random(HashCombine(seed, connection));
    ConnectionPlan plan;
    if (!random.Percent(percent)) return plan;
    switch (random.Below(6)) {
      case 0:
        plan.refuse = true;
        break;
      case 1:
        plan.drop_answer = true;
        break;
      case 2:
        plan.cut_after_request_bytes = random.Below(longest_cut + 1);
        break;
      case 3:
        plan.cut_after_answer_bytes = random.Below(longest_cut + 1);
        break;
      case 4:
        plan.request_delay = Duration(static_cast<int64_t>(random.Below(50'000)));
        break;
      default:
        plan.answer_delay = Duration(static_cast<int64_t>(random.Below(50'000)));
        break;
    }
    return plan;
  };
}

Result<std::unique_ptr<FaultProxy>> FaultProxy::Start(ProxyEndpoint listen, ProxyEndpoint server,
                                                      PlanSource plans) {
  ASSIGN_OR_RETURN(Address address, AddressOf(listen));
  UniqueFd listener(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return ErrnoError("make a socket", errno);
  if (::bind(listener.get(), address.get(), address.size) != 0) return ErrnoError("bind", errno);
  if (::listen(listener.get(), 128) != 0) return ErrnoError("listen", errno);
  uint16_t port = 0;
  if (std::holds_alternative<TcpEndpoint>(listen)) {
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port = ntohs(bound.sin_port);
  }
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoError("make an eventfd", errno);
  std::unique_ptr<FaultProxy> proxy(
      new FaultProxy(std::move(listener), std::move(server), port, std::move(wake)));
  proxy->plans_ = std::move(plans);
  proxy->thread_ = std::thread([raw = proxy.get()] { raw->Run(); });
  return proxy;
}

FaultProxy::FaultProxy(UniqueFd listener, ProxyEndpoint server, uint16_t port, UniqueFd wake)
    : listener_(std::move(listener)),
      server_(std::move(server)),
      port_(port),
      wake_(std::move(wake)) {}

FaultProxy::~FaultProxy() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void FaultProxy::SetPlans(PlanSource plans) {
  std::lock_guard lock(mutex_);
  plans_ = std::move(plans);
}

void FaultProxy::CutAll() {
  {
    std::lock_guard lock(mutex_);
    cut_all_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
}

FaultProxy::Counts FaultProxy::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void FaultProxy::Accept() {
  for (;;) {
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) return;
    ConnectionPlan plan;
    {
      std::lock_guard lock(mutex_);
      plan = plans_(++counts_.connections);
      if (plan.refuse) ++counts_.refused;
    }
    if (plan.refuse) continue;
    UniqueFd server;
    if (!plan.http_status) {
      auto connected = Connect(server_);
      if (!connected.ok()) continue;  // the client sees what it would see of a dead server
      server = *std::move(connected);
      SendAtOnce(server.get());
    }
    SendAtOnce(client.get());
    connections_.push_back(
        std::make_unique<Connection>(std::move(client), std::move(server), plan));
  }
}

void FaultProxy::CutAllNow() {
  std::lock_guard lock(mutex_);
  cut_all_ = false;
  for (const auto& connection : connections_) connection->Cut(counts_);
  connections_.clear();
}

void FaultProxy::Run() {
  for (;;) {
    const BootTime before = NowBoot();
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    int wait = -1;
    for (const auto& connection : connections_) {
      connection->AddTo(polled, before);
      auto due = connection->due();
      if (!due || *due <= before) continue;
      auto left = static_cast<int>((*due - before).count() / 1000 + 1);
      wait = wait < 0 ? left : std::min(wait, left);
    }
    ::poll(polled.data(), polled.size(), wait);
    bool cut_all = false;
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      cut_all = cut_all_;
    }
    eventfd_t ignored = 0;
    if (polled[0].revents != 0) ::eventfd_read(wake_.get(), &ignored);
    const BootTime now = NowBoot();
    size_t next = 2;
    std::erase_if(connections_, [&](const auto& connection) {
      const short client_events = polled[next].revents;
      const short server_events = polled[next + 1].revents;
      next += 2;
      std::lock_guard lock(mutex_);
      return !connection->OnEvents(client_events, server_events, now, counts_);
    });
    if (cut_all) CutAllNow();
    if (polled[1].revents != 0) Accept();
  }
}

}  // namespace muster::test
