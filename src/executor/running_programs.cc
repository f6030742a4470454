#include "executor/running_programs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace muster::executor {
namespace {

constexpr Duration kFlushEvery = std::chrono::milliseconds(100);
constexpr uint64_t kSmallRecord = 4 << 20;

ExitFacts NotStarted(const Error& error) {
  ExitFacts facts;
  facts.how = ExitFacts::How::kNotStarted;
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      facts.code = EINVAL;
      break;
    case ErrorCode::kResourceExhausted:
      facts.code = EMFILE;
      break;
    default:
      facts.code = EAGAIN;
      break;
  }
  facts.what_failed = error.message;
  return facts;
}

}  // namespace

Result<std::unique_ptr<RunningPrograms>> RunningPrograms::Make(Loop& loop, Spawner spawner,
                                                               Settings settings, Events events) {
  ASSIGN_OR_RETURN(SegmentWriter writer,
                   SegmentWriter::Open(settings.output_dir, {}, SystemClock()));
  ASSIGN_OR_RETURN(AttemptRecord record, AttemptRecord::Open(settings.record_path));
  return std::unique_ptr<RunningPrograms>(
      new RunningPrograms(loop, std::move(spawner), std::move(settings), std::move(events),
                          std::move(writer), std::move(record)));
}

RunningPrograms::RunningPrograms(Loop& loop, Spawner spawner, Settings settings, Events events,
                                 SegmentWriter writer, AttemptRecord record)
    : loop_(loop),
      settings_(std::move(settings)),
      events_(std::move(events)),
      cleaners_("cleaners", 1, 1000),
      scratch_(settings_.scratch_dir, cleaners_),
      builder_(settings_.executor, settings_.added_env),
      writer_(std::move(writer)),
      record_(std::move(record)),
      runner_(loop, std::move(spawner), RunnerEvents()) {}

TaskRunner::Events RunningPrograms::RunnerEvents() {
  TaskRunner::Events events;
  events.on_started = [this](uint64_t token, pid_t pid, WallTime started) {
    Running& running = running_.at(token);
    running.pid = pid;
    events_.on_started(running.attempt, pid, started);
  };
  events.on_output = [this](uint64_t token, OutputStream stream, std::string_view bytes) {
    OnOutput(token, stream, bytes);
  };
  events.on_ended = [this](uint64_t token, const ExitFacts& facts) { OnEnded(token, facts); };
  return events;
}

void RunningPrograms::Start(std::span<const StartAttempt> starts, std::span<const uint32_t> sends) {
  WallTime now = loop_.ReadClock().wall;
  for (size_t i = 0; i < starts.size(); ++i) record_.AddStart(starts[i].attempt, sends[i], now);
  Settle();
  for (size_t i = 0; i < starts.size(); ++i) StartOne(starts[i], sends[i]);
}

void RunningPrograms::StartOne(const StartAttempt& start, uint32_t send) {
  uint64_t token = ++last_token_;
  Running& running = running_[token];
  running.attempt = start.attempt;
  running.send = send;
  running.scratch = scratch_.Take();
  tokens_[start.attempt] = token;
  std::string out;
  if (!start.what->out_dir.empty()) {
    OutputPlace place = PlaceOutput(*start.what, start.out_name, start.attempt, settings_.store_id);
    FileFailure failure = MakeOutputFolder(place);
    if (!failure.ok()) {
      ExitFacts facts;
      facts.how = ExitFacts::How::kNotStarted;
      facts.code = failure.error_number;
      facts.what_failed = std::move(failure.what_failed);
      return OnEnded(token, std::move(facts));
    }
    out = std::move(place.part);
  }
  Status started = runner_.Start(token, builder_.Build(start, out, scratch_.path(running.scratch)));
  if (!started.ok()) OnEnded(token, NotStarted(started.error()));
}

void RunningPrograms::Stop(const StopRunning& stop) {
  auto token = tokens_.find(stop.attempt);
  if (token != tokens_.end()) runner_.Stop(token->second, stop.cause, stop.grace);
}

void RunningPrograms::Append(Running& running, OutputStream stream, std::string_view bytes) {
  writer_.Append(running.attempt, stream, bytes);
  if (flush_planned_) return;
  flush_planned_ = true;
  loop_.RunAfter(kFlushEvery, [this] {
    flush_planned_ = false;
    FlushOutput();
  });
}

void RunningPrograms::OnOutput(uint64_t token, OutputStream stream, std::string_view bytes) {
  Running& running = running_.at(token);
  running.output_bytes += bytes.size();
  Append(running, stream, bytes);
}

void RunningPrograms::OnEnded(uint64_t token, ExitFacts facts) {
  auto found = running_.find(token);
  Running running = found->second;
  running_.erase(found);
  tokens_.erase(running.attempt);
  if (facts.how == ExitFacts::How::kNotStarted) {
    Append(running, OutputStream::kExecutor,
           fmt::format("muster: {}: {}\n", facts.what_failed, std::strerror(facts.code)));
  }
  scratch_.GiveBack(running.scratch);
  facts.output_bytes = running.output_bytes;
  facts.output_dropped = writer_.Finish(running.attempt);
  RecordedAttempt ended{running.attempt, running.send, facts.started, true, running.pid, facts};
  record_.AddEnd(ended);
  events_.on_ended(running.attempt, facts, running.pid);
}

void RunningPrograms::FlushOutput() {
  if (!writer_.has_unwritten()) return;
  Status written = writer_.Flush();
  if (!written.ok() && !output_failing_) {
    LogError("output of tasks is being dropped: {}", written.error().ToString());
  }
  if (written.ok() && output_failing_) LogInfo("output of tasks is kept again");
  output_failing_ = !written.ok();
}

void RunningPrograms::Settle() {
  FlushOutput();
  Status written = record_.Write();
  if (!written.ok() && !record_failing_) LogError("{}", written.error().ToString());
  record_failing_ = !written.ok();
}

void RunningPrograms::ShrinkRecord(const std::function<std::vector<RecordedAttempt>()>& live) {
  if (record_.size() < kSmallRecord || record_.size() < 2 * record_floor_) return;
  Status rewritten = record_.Rewrite(live());
  if (!rewritten.ok()) LogWarning("{}", rewritten.error().ToString());
  record_floor_ = record_.size();
}

FileFailure RunningPrograms::Move(const OutputPlace& place) {
  std::string left_over;
  FileFailure failure = executor::Publish(place, left_over);
  if (!left_over.empty()) scratch_.RemoveLater(std::move(left_over));
  return failure;
}

FileFailure RunningPrograms::Publish(const PublishOutput& order) {
  return Move(PlaceOutput(*order.what, order.out_name, order.attempt, settings_.store_id));
}

FileFailure RunningPrograms::Publish(const PublishFound& order) {
  for (const auto& what : order.candidates) {
    if (auto place = FindOutput(*what, order.attempt, settings_.store_id)) return Move(*place);
  }
  // Not ENOENT: that would say that the command wrote nothing.
  return {ESTALE,
          fmt::format("find the output of {}, which another executor ran", Render(order.attempt))};
}

void RunningPrograms::Discard(const DiscardOutput& order) {
  std::string left_over;
  executor::Discard(PlaceOutput(*order.what, order.out_name, order.attempt, settings_.store_id),
                    left_over);
  if (!left_over.empty()) scratch_.RemoveLater(std::move(left_over));
}

}  // namespace muster::executor
