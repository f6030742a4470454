#include "server/job_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/api_json.h"
#include "wire/api_messages.h"

namespace muster::server {
namespace {

constexpr Duration kJobEvery = std::chrono::milliseconds(100);
constexpr Duration kLookAgain = std::chrono::milliseconds(25);
constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kPendingBytes = 512 << 10;
constexpr uint32_t kFailuresShown = 100;
constexpr OutputStream kStreams[] = {OutputStream::kExecutor, OutputStream::kStdout,
                                     OutputStream::kStderr};

}  // namespace

JobStream::JobStream(Loop& loop, control::Service& service, OutputSource& source,
                     std::shared_ptr<HttpExchange> exchange, JobStreamOptions options)
    : loop_(loop),
      service_(service),
      source_(source),
      exchange_(std::move(exchange)),
      options_(options) {}

JobStream::~JobStream() { service_.Unwatch(watch_); }

void JobStream::Begin(JobId job, const std::string& accepted) {
  job_ = job;
  auto spec = service_.GetSpec(job);
  auto view = service_.GetJob(job);
  if (!spec.ok() || !view.ok()) {
    exchange_->RespondError(spec.ok() ? view.error() : spec.error());
    return;
  }
  spec_ = *spec;
  for (const JobView::SpecView& one : view->specs) {
    leaf_.push_back(one.leaf);
    first_of_.push_back(one.first_task);
  }
  live_ = options_.output == JobStreamOptions::Output::kLive;
  exchange_->StartEvents();
  if (!accepted.empty()) exchange_->SendEvent("accepted", "", accepted);
  // The exchange holds the stream, the stream the exchange: until the client is gone or all is sent.
  auto self = shared_from_this();
  exchange_->OnClosed([self] {
    self->finished_ = true;
    self->service_.Unwatch(self->watch_);
  });
  exchange_->OnDrained([self] { self->Pump(); });
  watch_ = service_.Watch(job, [weak = weak_from_this()](const control::JobEvent& event) {
    if (auto stream = weak.lock()) stream->OnEvent(event);
  });
  AddEnded();
  Pump();
}

// What ended before anybody watched.
void JobStream::AddEnded() {
  control::TaskQuery query;
  query.state = TaskState::kEnded;
  query.limit = 10'000;
  while (true) {
    auto page = service_.ListTasks(job_, query);
    if (!page.ok()) return;
    for (const TaskView& task : page->items) AddDone(task.id.number, 1);
    if (page->next.empty()) return;
    query.from = page->items.back().id.number + 1;
  }
}

void JobStream::AddDone(uint32_t first, uint32_t count) {
  SendFailures(first, count);
  if (options_.output == JobStreamOptions::Output::kNone || live_) return;
  if (!pending_.empty() && pending_.back().end == first) {
    pending_.back().end += count;
  } else {
    pending_.push_back({first, first + count});
  }
}

void JobStream::OnEvent(const control::JobEvent& event) {
  if (finished_) return;
  job_dirty_ = true;
  if (event.kind == control::JobEvent::Kind::kTasksDone) AddDone(event.first_task, event.count);
  Pump();
}

void JobStream::SendFailures(uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count && failures_sent_ < kFailuresShown; ++i) {
    control::TaskQuery query;
    query.failed_only = true;
    query.from = first + i;
    query.limit = 1;
    auto page = service_.ListTasks(job_, query);
    if (!page.ok() || page->items.empty()) return;
    uint32_t number = page->items[0].id.number;
    if (number >= first + count) return;
    i = number - first;
    ++failures_sent_;
    exchange_->SendEvent("task", "", ViewToJson(page->items[0]));
  }
}

void JobStream::Schedule(Duration delay) {
  if (timer_set_ || finished_) return;
  timer_set_ = true;
  loop_.RunAfter(delay, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    self->timer_set_ = false;
    self->waiting_ = false;
    self->Pump();
  });
}

void JobStream::Pump() {
  if (finished_) return;
  if (exchange_->pending_bytes() > kPendingBytes) return;  // OnDrained goes on
  SendJob();
  if (!reading_ && !waiting_) StartReading();
  FinishIfDone();
}

void JobStream::SendJob() {
  if (!job_dirty_) return;
  int64_t now = loop_.ReadClock().boot.us;
  auto since = Duration(now - last_job_us_);
  if (last_job_us_ != 0 && since < kJobEvery) {
    Schedule(kJobEvery - since);
    return;
  }
  auto view = service_.GetJob(job_);
  if (!view.ok() || view->ended) return;  // the end has an event of its own
  job_dirty_ = false;
  last_job_us_ = now;
  exchange_->SendEvent("job", "", ViewToJson(*view));
}

bool JobStream::WantsOutputOf(uint32_t task) {
  if (options_.output != JobStreamOptions::Output::kLeaves) return true;
  auto after = std::upper_bound(first_of_.begin(), first_of_.end(), task);
  return leaf_[static_cast<size_t>(after - first_of_.begin()) - 1];
}

bool JobStream::StartReading() {
  if (options_.output == JobStreamOptions::Output::kNone) return false;
  std::optional<uint32_t> task;
  if (live_) {
    task = 1;
  } else {
    while (!pending_.empty() && !task) {
      Pending& front = pending_.front();
      if (front.next == front.end) {
        pending_.pop_front();
        continue;
      }
      uint32_t number = front.next++;
      if (WantsOutputOf(number)) task = number;
    }
  }
  if (!task) return false;
  auto place = service_.FindOutput({job_, *task}, std::nullopt);
  if (!place.ok()) {  // never started, or not yet
    auto view = service_.GetTask({job_, *task});
    bool ended = view.ok() && view->task.state == TaskState::kEnded;
    if (live_ && ended) live_ = false;
    return live_ ? false : StartReading();
  }
  // A new attempt of a live task begins its output anew.
  if (!place_ || place_->attempt != place->attempt) {
    stream_ = 0;
    std::fill(std::begin(offsets_), std::end(offsets_), 0);
  }
  place_ = *place;
  stream_ = 0;
  ReadPiece();
  return true;
}

void JobStream::ReadPiece() {
  reading_ = true;
  source_.Read(*place_, kStreams[stream_], offsets_[stream_], kPieceBytes,
               [weak = weak_from_this()](Result<OutputChunk> chunk) {
                 if (auto self = weak.lock()) self->OnPiece(std::move(chunk));
               });
}

void JobStream::OnPiece(Result<OutputChunk> chunk) {
  reading_ = false;
  if (finished_) return;
  bool more = false;
  if (chunk.ok() && !chunk->bytes.empty()) {
    more = chunk->bytes.size() >= kPieceBytes;
    exchange_->SendEvent("output", "",
                         ToJson(OutputEvent{place_->attempt.task.number, place_->attempt.n,
                                            std::string(ToString(kStreams[stream_])),
                                            offsets_[stream_], std::move(chunk->bytes)}));
    offsets_[stream_] = chunk->next_offset;
  }
  if (!more) ++stream_;
  if (stream_ < 3) {
    if (exchange_->pending_bytes() <= kPendingBytes) return ReadPiece();
    reading_ = true;
    loop_.RunAfter(kLookAgain, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->ReadPiece();
    });
    return;
  }
  if (live_) {
    if (place_->task_ended) {
      live_ = false;
    } else {
      waiting_ = true;
      auto view = service_.GetJob(job_);
      if (view.ok() && view->ended) waiting_ = false;  // one last look
      if (waiting_) Schedule(kLookAgain);
    }
  } else {
    place_.reset();
  }
  Pump();
}

void JobStream::FinishIfDone() {
  if (finished_ || reading_) return;
  auto view = service_.GetJob(job_);
  if (!view.ok() || !view->ended) return;
  if (live_) {  // what was written since the last look
    waiting_ = false;
    if (StartReading()) return;
    if (live_) return;
  }
  if (!pending_.empty()) {
    if (StartReading()) return;
    if (!pending_.empty()) return;
  }
  finished_ = true;
  service_.Unwatch(watch_);
  exchange_->SendEvent("done", "", ViewToJson(*view));
  exchange_->Finish();
}

}  // namespace muster::server
