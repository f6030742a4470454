// muster run: submits, shows what happens, returns how it ended.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/unique_fd.h"
#include "cli/progress_line.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "wire/api_json.h"

namespace muster::cli {
namespace {

constexpr size_t kFailureTail = 2000;
constexpr int kFailureLines = 10;

// Ctrl-C and kill as a descriptor, so that a call under way ends and we decide what it means. Must be made
// before any thread: the mask is inherited.
class Interrupts {
 public:
  Interrupts() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  int fd() const { return fd_.get(); }
  // Takes one; false if there was none.
  bool Take() {
    signalfd_siginfo seen{};
    return ::read(fd_.get(), &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen);
  }

 private:
  UniqueFd fd_;
};

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

std::string LastLines(std::string_view text, int lines) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  size_t at = text.size();
  for (int i = 0; i < lines && at != std::string_view::npos && at > 0; ++i) {
    at = text.rfind('\n', at - 1);
  }
  return std::string(at == std::string_view::npos || at == 0 ? text : text.substr(at + 1));
}

class Runner {
 public:
  Runner(Session& session, bool single)
      : session_(session),
        single_(single),
        progress_(stderr, StyleOf(session, single)) {}

  int Go(const RunWords& words, const MadeJob* made);

 private:
  static ProgressLine::Style StyleOf(const Session& session, bool single) {
    if (single || session.quiet) return ProgressLine::Style::kNone;
    return ::isatty(STDERR_FILENO) ? ProgressLine::Style::kTerminal : ProgressLine::Style::kPlain;
  }
  Status Connect(const RunWords& words);
  WatchEvents Events();
  Result<std::optional<JobView>> WatchToEnd(const MadeJob* made);
  // Reacts to a signal; the watch goes on afterwards unless this returns a code.
  std::optional<int> OnInterrupt();
  void ShowFailure(const TaskView& task);
  int Finish(const JobView& job);
  int CodeOfSingle(const JobView& job);

  Session& session_;
  const bool single_;
  Interrupts interrupts_;
  std::unique_ptr<HostedController> hosted_;
  std::optional<Endpoint> endpoint_;
  std::unique_ptr<Client> client_;
  ProgressLine progress_;
  std::optional<JobId> job_;
  bool failure_shown_ = false;
  bool cancelled_ = false;
};

Status Runner::Connect(const RunWords& words) {
  if (session_.has_configured_controller() && words.resume.empty()) {
    ASSIGN_OR_RETURN(endpoint_, session_.ConfiguredEndpoint());
  } else {
    PrivateRun run;
    if (!words.resume.empty()) {
      ASSIGN_OR_RETURN(JobAddress address, ParseJobAddress(words.resume));
      ASSIGN_OR_RETURN(run.resume, ParseJobNumber(address.job));
    }
    ASSIGN_OR_RETURN(hosted_, session_.hooks().start_private(session_.config(), run));
    endpoint_ = hosted_->endpoint();
    if (run.resume) job_ = run.resume;
  }
  client_ = std::make_unique<Client>(*endpoint_);
  client_->CancelBy(interrupts_.fd());
  return Status::Ok();
}

WatchEvents Runner::Events() {
  WatchEvents events;
  events.output = single_ ? WatchOutput::kLive : WatchOutput::kLeaves;
  if (session_.json) events.output = WatchOutput::kNone;
  events.on_accepted = [this](const SubmitMessage& message) {
    job_ = message.job;
    return true;
  };
  events.on_job = [this](const JobView& job) {
    progress_.Show(job, SystemClock().Read().wall);
    return true;
  };
  events.on_output = [this](const OutputEvent& event) {
    progress_.Clear();
    WriteAll(event.stream == "stdout" ? STDOUT_FILENO : STDERR_FILENO, event.data);
    return true;
  };
  events.on_failed_task = [this](const TaskView& task) {
    if (!single_) ShowFailure(task);
    return true;
  };
  return events;
}

// The first failure with its last lines, at once; the others are counted in the end.
void Runner::ShowFailure(const TaskView& task) {
  if (failure_shown_ || session_.json) return;
  if (task.reason && task.reason->kind == EndKind::kDependency) return;
  failure_shown_ = true;
  progress_.Clear();
  fmt::print(stderr, "muster: {} ({}{}) ended: {}\n", Render(task.id), Printable(task.name),
             task.item ? " " + Printable(*task.item) : "",
             task.reason ? Render(*task.reason) : "unknown");
  Client reader(*endpoint_);
  std::string tail;
  auto read = reader.ReadLog(Render(task.id.job), fmt::format("{}", task.id.number), {},
                             [&](std::string_view bytes) {
                               tail.append(bytes);
                               if (tail.size() > 2 * kFailureTail) tail.erase(0, tail.size() - kFailureTail);
                               return true;
                             });
  if (!read.ok() || tail.empty()) return;
  std::string_view rest = tail;
  std::string lines = LastLines(rest, kFailureLines);
  for (rest = lines; !rest.empty();) {
    size_t end = rest.find('\n');
    fmt::print(stderr, "  | {}\n", Printable(rest.substr(0, end)));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
}

Result<std::optional<JobView>> Runner::WatchToEnd(const MadeJob* made) {
  WatchEvents events = Events();
  const std::string request_id = MakeRequestId();
  while (true) {
    Result<std::optional<JobView>> end =
        job_ ? client_->Watch(*job_, events)
             : client_->SubmitAndWatch(made->spec, request_id, events);
    // A cut before the answer: the same request id asks again what became of it.
    if (!end.ok() && end.error().code == ErrorCode::kOutcomeUnknown && !job_) continue;
    return end;
  }
}

std::optional<int> Runner::OnInterrupt() {
  interrupts_.Take();
  progress_.Clear();
  if (!job_) {
    fmt::print(stderr, "muster: interrupted before the job was accepted\n");
    return kExitCancelled;
  }
  if (hosted_ == nullptr && cancelled_) {
    fmt::print(stderr, "muster: stopped watching {}; it goes on being cancelled\n", Render(*job_));
    return kExitCancelled;
  }
  if (cancelled_) {
    fmt::print(stderr, "muster: killing what is left of {}\n", Render(*job_));
    hosted_->Kill();
    return kExitCancelled;
  }
  cancelled_ = true;
  fmt::print(stderr, "muster: cancelling {} (again: {})\n", Render(*job_),
             hosted_ == nullptr ? "stop watching" : "kill");
  Client canceller(*endpoint_);
  if (auto told = canceller.Cancel(*job_, {}); !told.ok()) return Complain(told.error());
  return std::nullopt;
}

int Runner::CodeOfSingle(const JobView& job) {
  auto task = client_->GetTask(Render(job.id), "1");
  if (!task.ok() || !task->task.reason) return kExitNotTheCommand;
  const EndReason& reason = *task->task.reason;
  switch (reason.kind) {
    case EndKind::kOk: return 0;
    case EndKind::kFailed:
      if (reason.detail.empty()) return reason.number;
      break;
    case EndKind::kSignal:
      fmt::print(stderr, "muster: {} was ended by signal {}\n", Render(task->task.id), reason.number);
      return 128 + reason.number;
    case EndKind::kStartFailed:
      if (reason.number == ENOENT || reason.number == ENOTDIR) return kExitNotFound;
      if (reason.number == EACCES || reason.number == ENOEXEC || reason.number == EISDIR) {
        return kExitNotExecutable;
      }
      break;
    default: break;
  }
  fmt::print(stderr, "muster: {} ended: {}\n", Render(task->task.id), Render(reason));
  return kExitNotTheCommand;
}

int Runner::Finish(const JobView& job) {
  progress_.Clear();
  if (session_.json) fmt::print("{}\n", ViewToJson(job));
  if (single_) return CodeOfSingle(job);
  if (!session_.quiet && !session_.json) {
    fmt::print(stderr, "muster: {} {}: {} in {}\n", Render(job.id), JobWord(job),
               RenderCounts(job.counts), ShortDuration(*job.ended - job.submitted));
    if (job.counts.failed() > 0) {
      fmt::print(stderr, "muster: see `muster ps {} --failed` and `muster why {}`\n", Render(job.id),
                 job.first_failure ? Render(*job.first_failure) : Render(job.id));
    }
  }
  if (job.counts.failed() > 0) return kExitFailed;
  return job.counts.cancelled() > 0 ? kExitCancelled : kExitOk;
}

int Runner::Go(const RunWords& words, const MadeJob* made) {
  if (auto connected = Connect(words); !connected.ok()) {
    int code = Complain(connected.error());
    return single_ ? kExitNotTheCommand : code;
  }
  while (true) {
    auto end = WatchToEnd(made);
    if (end.ok() && *end) return Finish(**end);
    if (!end.ok() && end.error().code == ErrorCode::kCancelled) {
      if (auto code = OnInterrupt()) return single_ ? kExitNotTheCommand : *code;
      continue;
    }
    progress_.Clear();
    Error error = end.ok() ? InternalError("the watch ended early") : end.error();
    if (!client_->last_problems().empty()) {
      return ComplainOfProblems(client_->last_problems(), made == nullptr ? "" : made->file_name);
    }
    int code = Complain(error);
    return single_ ? kExitNotTheCommand : code;
  }
}

}  // namespace

int Run(Session& session, const RunWords& words) {
  if (!words.resume.empty()) {
    if (!words.job.file.empty() || !words.job.command.empty()) {
      return Complain(UserError(ErrorCode::kInvalidArgument,
                                "--resume goes on with a job as it is; it takes no command or file"));
    }
    return Runner(session, false).Go(words, nullptr);
  }
  auto made = MakeJob(words.job, ReadSurroundings(session));
  if (!made.ok()) return Complain(made.error());
  if (!made->problems.empty()) return ComplainOfProblems(made->problems, made->file_name);
  return Runner(session, made->single).Go(words, &*made);
}

}  // namespace muster::cli
