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
  // Nothing: standard output, standard error and the executor's words in the order in which they came.
  std::optional<OutputStream> stream;
  uint64_t offset = 0;
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
  uint64_t offset_ = 0;
  control::OutputPlace place_;
};

}  // namespace muster::server
