#include "server/log_follow.h"

#include <utility>

namespace muster::server {
namespace {

constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kPendingBytes = 1 << 20;
constexpr Duration kLookAgain = std::chrono::milliseconds(50);

}  // namespace

LogFollow::LogFollow(Loop& loop, control::Service& service, OutputSource& source,
                     std::shared_ptr<HttpExchange> exchange, LogRequest request)
    : loop_(loop),
      service_(service),
      source_(source),
      exchange_(std::move(exchange)),
      request_(request),
      offset_(request.offset) {}

void LogFollow::Begin() {
  auto place = service_.FindOutput(request_.task, request_.attempt);
  if (!place.ok() && !(request_.follow && place.error().code == ErrorCode::kUnavailable)) {
    exchange_->RespondError(place.error());
    return;
  }
  exchange_->StartStream(200, "application/octet-stream");
  // Whoever holds the exchange holds this: until the answer is complete or the client is gone.
  exchange_->OnClosed([self = shared_from_this()] {});
  Look();
}

void LogFollow::Look() {
  if (exchange_->closed()) return;
  auto place = service_.FindOutput(request_.task, request_.attempt);
  if (!place.ok()) {
    auto task = service_.GetTask(request_.task);
    if (!request_.follow || !task.ok() || task->task.state == TaskState::kEnded) {
      exchange_->Finish();
      return;
    }
    LookAgain();
    return;
  }
  // A new attempt's output begins at 0.
  if (place_.attempt.n != 0 && place->attempt != place_.attempt) offset_ = 0;
  place_ = *place;
  Read();
}

void LogFollow::LookAgain() {
  loop_.RunAfter(kLookAgain, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Look();
  });
}

void LogFollow::Read() {
  if (exchange_->closed()) return;
  if (exchange_->pending_bytes() > kPendingBytes) {
    loop_.RunAfter(kLookAgain, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->Read();
    });
    return;
  }
  source_.Read(place_, request_.stream, offset_, kPieceBytes,
               [weak = weak_from_this()](Result<OutputChunk> chunk) {
                 if (auto self = weak.lock()) self->OnChunk(std::move(chunk));
               });
}

void LogFollow::OnChunk(Result<OutputChunk> chunk) {
  if (exchange_->closed()) return;
  if (!chunk.ok()) {
    exchange_->Abort();
    return;
  }
  offset_ = chunk->next_offset;
  if (!chunk->bytes.empty()) {
    exchange_->Write(chunk->bytes);
    return Read();
  }
  if (chunk->gone) {
    exchange_->Write("\n[muster: output that stood here is not kept any more]\n");
    return Read();
  }
  bool ended = request_.attempt ? place_.attempt_ended : place_.task_ended;
  if (!request_.follow || ended) {
    exchange_->Finish();
    return;
  }
  LookAgain();
}

}  // namespace muster::server
