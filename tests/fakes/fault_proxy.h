// A proxy for unix sockets and loopback TCP that spoils connections as told: delay, cut, drop the
// answer after the request went through, answer with an HTTP code of its own, stop reading
// (half-open). Knows nothing of what passes, except for the HTTP answers it makes up.
//
//     auto proxy = FaultProxy::Start(TcpEndpoint{0}, UnixEndpoint{server_path},
//                                    Scripted({{.drop_answer = true}}));   // then all pass
//     client.Dial((*proxy)->port());
//
// A plan is drawn for each connection when it is accepted. Own thread; all methods from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace muster::test {

// What happens to one connection. Bytes count from its start, in each direction.
struct ConnectionPlan {
  bool refuse = false;       // closed as soon as it is accepted
  bool drop_answer = false;  // cut at the first byte of an answer: the request went through
  std::optional<uint64_t> cut_after_request_bytes;
  std::optional<uint64_t> cut_after_answer_bytes;
  // From there on nothing is read any more in that direction, and the connection stays open.
  std::optional<uint64_t> stall_after_request_bytes;
  std::optional<uint64_t> stall_after_answer_bytes;
  // Every piece comes this much later.
  Duration request_delay{0};
  Duration answer_delay{0};
  // Answers each request itself with this status; the server hears nothing.
  std::optional<int> http_status;
};
using PlanSource = std::function<ConnectionPlan(uint64_t connection)>;  // numbered from 1

PlanSource PassThrough();
// One plan for each connection in turn; later ones pass.
PlanSource Scripted(std::vector<ConnectionPlan> plans);
// `percent` of the connections suffer one thing each, cuts within the first `longest_cut` bytes.
PlanSource SeededPlans(uint64_t seed, unsigned percent, uint64_t longest_cut = 4096);

struct UnixEndpoint {
  std::string path;
};
struct TcpEndpoint {
  uint16_t port = 0;  // on 127.0.0.1; 0 to listen on one that the system chooses
};
using ProxyEndpoint = std::variant<UnixEndpoint, TcpEndpoint>;

class FaultProxy {
 public:
  static Result<std::unique_ptr<FaultProxy>> Start(ProxyEndpoint listen, ProxyEndpoint server,
                                                   PlanSource plans = PassThrough());
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;

  // Of a TCP listener.
  uint16_t port() const { return port_; }
  void SetPlans(PlanSource plans);
  // Cuts all connections there are.
  void CutAll();

  struct Counts {
    uint64_t connections = 0;
    uint64_t request_bytes = 0;  // handed on
    uint64_t answer_bytes = 0;
    uint64_t refused = 0;
    uint64_t cut = 0;
    uint64_t stalled = 0;
    uint64_t http_answers = 0;
  };
  Counts counts() const;

 private:
  class Connection;
  FaultProxy(UniqueFd listener, ProxyEndpoint server, uint16_t port, UniqueFd wake);

  void Run();
  void Accept();
  void CutAllNow();

  const UniqueFd listener_;
  const ProxyEndpoint server_;
  const uint16_t port_;
  const UniqueFd wake_;
  mutable std::mutex mutex_;
  PlanSource plans_;                                      // under mutex_
  Counts counts_;                                         // under mutex_
  bool stopping_ = false;                                 // under mutex_
  bool cut_all_ = false;                                  // under mutex_
  std::vector<std::unique_ptr<Connection>> connections_;  // proxy's thread
  std::thread thread_;
};

}  // namespace muster::test
