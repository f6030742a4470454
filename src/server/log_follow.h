// Sends the output of one task as plain bytes, and goes on while it runs if asked to. Loop's thread; keeps
// itself alive through the exchange.
#pragma once

#include <memory>
#include <optional>

#include "control/service.h"
#include "net/http_exchange.h"
#include "base/loop.h"
#include "server/output_source.h"

namespace muster::server {

struct LogRequest {
  TaskId task;
  std::optional<uint32_t> attempt;
  // Nothing: the executor's words, standard output and standard error, one behind the other.
  std::optional<OutputStream> stream;
  uint64_t offset = 0;  // only with one stream
  bool follow = false;
};

class LogFollow : public std::enable_shared_from_this<LogFollow> {
 public:
  LogFollow(Loop& loop, control::Service& service, OutputSource& source,
            std::shared_ptr<HttpExchange> exchange, LogRequest request);
  void Begin();

 private:
  void Look();
  void Read();
  void OnChunk(Result<OutputChunk> chunk);
  void LookAgain();

  Loop& loop_;
  control::Service& service_;
  OutputSource& source_;
  std::shared_ptr<HttpExchange> exchange_;
  const LogRequest request_;
  std::vector<OutputStream> streams_;
  std::vector<uint64_t> offsets_;
  size_t at_ = 0;
  control::OutputPlace place_;
  bool started_ = false;
};

}  // namespace muster::server
