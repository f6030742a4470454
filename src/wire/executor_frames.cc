#include "wire/executor_frames.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

// A message larger than this gives its memory back.
constexpr size_t kKeepBytes = 256 << 10;

Error Bad(std::string_view what) {
  return InternalError(fmt::format("read a message of the executor protocol: {}", what));
}

template <typename T>
Status Append(const T& frame, std::string& out) {
  size_t size = frame.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return Error{ErrorCode::kResourceExhausted, ErrorOwner::kUs,
                 fmt::format("write a message of the executor protocol: {} bytes, the limit is {}",
                             size, kMaxFrameBytes),
                 ""};
  }
  if (!frame.AppendToString(&out)) return Bad("it cannot be written");
  return Status::Ok();
}

}  // namespace

void ToRef(AttemptId id, uint32_t send, pb::AttemptRef* ref) {
  ref->set_job(id.task.job.number);
  ref->set_task(id.task.number);
  ref->set_n(id.n);
  ref->set_send(send);
}

Result<AttemptSend> FromRef(const pb::AttemptRef& ref) {
  if (ref.job() == 0 || ref.task() == 0 || ref.n() == 0) {
    return Bad(
        fmt::format("j{}.{}#{} send {} is no attempt", ref.job(), ref.task(), ref.n(), ref.send()));
  }
  return AttemptSend{{{{ref.job()}, ref.task()}, ref.n()}, ref.send()};
}

pb::Ended::Cause ToCause(StopCause cause) {
  switch (cause) {
    case StopCause::kNone:
      return pb::Ended::NONE;
    case StopCause::kTimeLimit:
      return pb::Ended::TIME_LIMIT;
    case StopCause::kCancelled:
      return pb::Ended::CANCELLED;
    case StopCause::kDraining:
      return pb::Ended::DRAINING;
  }
  return pb::Ended::NONE;
}

Result<StopCause> FromCause(pb::Ended::Cause cause) {
  switch (cause) {
    case pb::Ended::NONE:
      return StopCause::kNone;
    case pb::Ended::TIME_LIMIT:
      return StopCause::kTimeLimit;
    case pb::Ended::CANCELLED:
      return StopCause::kCancelled;
    case pb::Ended::DRAINING:
      return StopCause::kDraining;
    default:
      return Bad(fmt::format("stop cause {} is not known", static_cast<int>(cause)));
  }
}

void ToEnded(AttemptId id, uint32_t send, const ExitFacts& facts, int64_t pid, pb::Ended* ended) {
  ToRef(id, send, ended->mutable_attempt());
  switch (facts.how) {
    case ExitFacts::How::kExited:
      ended->set_how(pb::Ended::EXITED);
      break;
    case ExitFacts::How::kSignalled:
      ended->set_how(pb::Ended::SIGNALLED);
      break;
    case ExitFacts::How::kNotStarted:
      ended->set_how(pb::Ended::NOT_STARTED);
      break;
    case ExitFacts::How::kLost:
      ended->set_how(pb::Ended::LOST);
      break;
  }
  ended->set_code(facts.code);
  ended->set_what_failed(facts.what_failed);
  ended->set_stop_cause(ToCause(facts.stop_cause));
  ended->set_started_us(facts.started.us);
  ended->set_wall_us(facts.wall.count());
  ended->set_user_us(facts.user_cpu.count());
  ended->set_system_us(facts.system_cpu.count());
  ended->set_max_rss(facts.max_rss.value);
  ended->set_left_behind(facts.left_behind);
  ended->set_output_bytes(facts.output_bytes);
  ended->set_output_dropped(facts.output_dropped);
  ended->set_pid(pid);
}

Result<ExitFacts> FromEnded(const pb::Ended& ended) {
  ExitFacts facts;
  switch (ended.how()) {
    case pb::Ended::EXITED:
      facts.how = ExitFacts::How::kExited;
      break;
    case pb::Ended::SIGNALLED:
      facts.how = ExitFacts::How::kSignalled;
      break;
    case pb::Ended::NOT_STARTED:
      facts.how = ExitFacts::How::kNotStarted;
      break;
    case pb::Ended::LOST:
      facts.how = ExitFacts::How::kLost;
      break;
    default:
      return Bad(fmt::format("an end of kind {} is not known", static_cast<int>(ended.how())));
  }
  facts.code = ended.code();
  facts.what_failed = ended.what_failed();
  ASSIGN_OR_RETURN(facts.stop_cause, FromCause(ended.stop_cause()));
  if (ended.wall_us() < 0 || ended.user_us() < 0 || ended.system_us() < 0) {
    return Bad("a measured time is below zero");
  }
  facts.started = WallTime{ended.started_us()};
  facts.wall = Duration(ended.wall_us());
  facts.user_cpu = Duration(ended.user_us());
  facts.system_cpu = Duration(ended.system_us());
  facts.max_rss = Bytes{ended.max_rss()};
  facts.left_behind = ended.left_behind();
  facts.output_bytes = ended.output_bytes();
  facts.output_dropped = ended.output_dropped();
  return facts;
}

void ToCapacity(const Resources& resources, uint32_t max_attempts, pb::Capacity* capacity) {
  capacity->set_milli_cpus(resources.cpus.value);
  capacity->set_memory(resources.memory.value);
  capacity->set_gpus(resources.gpus);
  capacity->clear_named();
  for (const auto& [name, amount] : resources.named) {
    pb::NamedResource* named = capacity->add_named();
    named->set_name(name);
    named->set_amount(amount);
  }
  capacity->set_max_attempts(max_attempts);
}

Resources FromCapacity(const pb::Capacity& capacity) {
  Resources resources;
  resources.cpus = MilliCpu{capacity.milli_cpus()};
  resources.memory = Bytes{capacity.memory()};
  resources.gpus = capacity.gpus();
  for (const pb::NamedResource& named : capacity.named()) {
    resources.named.emplace_back(named.name(), named.amount());
  }
  std::sort(resources.named.begin(), resources.named.end());
  return resources;
}

void ToTemplateCommand(const Command& command, pb::Template* into) {
  if (const auto* shell = std::get_if<ShellCommand>(&command)) {
    into->set_shell(shell->text);
    return;
  }
  pb::Argv* argv = into->mutable_exec();
  argv->clear_arg();
  for (const std::string& arg : std::get<ExecCommand>(command).argv) argv->add_arg(arg);
}

Result<Command> FromTemplateCommand(const pb::Template& from) {
  switch (from.command_case()) {
    case pb::Template::kShell:
      return Command(ShellCommand{from.shell()});
    case pb::Template::kExec:
      return Command(ExecCommand{{from.exec().arg().begin(), from.exec().arg().end()}});
    case pb::Template::COMMAND_NOT_SET:
      break;
  }
  return Bad(fmt::format("template {} has no command", from.id()));
}

template <typename T>
Result<const T*> FrameParser<T>::Parse(std::string_view bytes) {
  if (bytes.size() > kMaxFrameBytes) {
    return Bad(fmt::format("{} bytes, the limit is {}", bytes.size(), kMaxFrameBytes));
  }
  // One large message must not hold its memory for ever.
  if (large_ || message_ == nullptr) message_ = std::make_unique<T>();
  large_ = bytes.size() > kKeepBytes;
  bool good = message_->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!good) {
    message_.reset();
    return Bad(fmt::format("{} bytes that are not one", bytes.size()));
  }
  const T* parsed = message_.get();
  return parsed;
}

template class FrameParser<pb::FromExecutor>;
template class FrameParser<pb::FromController>;

Status AppendFrame(const pb::FromExecutor& frame, std::string& out) { return Append(frame, out); }
Status AppendFrame(const pb::FromController& frame, std::string& out) { return Append(frame, out); }

}  // namespace muster
