// muster submit, plan, wait, cancel: what changes or waits.
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "base/unique_fd.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "wire/api_json.h"
#include "wire/api_messages.h"
#include "wire/job_file.h"

namespace muster::cli {
namespace {

// Lines of standard input, read in blocks.
class LineReader {
 public:
  std::optional<std::string> Next() {
    while (true) {
      size_t end = buffer_.find('\n', at_);
      if (end != std::string::npos) {
        std::string line = buffer_.substr(at_, end - at_);
        at_ = end + 1;
        return line;
      }
      if (ended_) {
        if (at_ == buffer_.size()) return std::nullopt;
        std::string line = buffer_.substr(at_);
        at_ = buffer_.size();
        return line;
      }
      buffer_.erase(0, at_);
      at_ = 0;
      Fill();
    }
  }

 private:
  void Fill() {
    std::array<char, 64 << 10> block;
    ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      ended_ = true;
    } else {
      buffer_.append(block.data(), static_cast<size_t>(got));
    }
  }
  std::string buffer_;
  size_t at_ = 0;
  bool ended_ = false;
};

Result<std::string> ReadAllInput() {
  std::string text;
  std::array<char, 64 << 10> block;
  while (true) {
    ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("read standard input", errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
    RETURN_IF_ERROR(CheckJobFileSize(text.size(), "standard input"));
  }
}

// Readable from `deadline` on.
UniqueFd TimerAt(BootTime deadline) {
  UniqueFd fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC));
  itimerspec at{};
  at.it_value.tv_sec = deadline.us / 1'000'000;
  at.it_value.tv_nsec = deadline.us % 1'000'000 * 1000;
  ::timerfd_settime(fd.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  return fd;
}

Result<JobId> ResolveJob(Client& client, const std::string& job) {
  if (job != "last") return ParseJobNumber(job);
  ASSIGN_OR_RETURN(JobView view, client.GetJob(job));
  return view.id;
}

}  // namespace

JobSurroundings ReadSurroundings(const Session& session) {
  JobSurroundings here;
  std::error_code error;
  here.cwd = std::filesystem::current_path(error).string();
  for (char** entry = environ; *entry != nullptr; ++entry) here.environment.emplace_back(*entry);
  if (!session.has_configured_controller()) here.clusters = session.config().ClusterNames();
  here.stdin_is_terminal = ::isatty(STDIN_FILENO) != 0;
  auto lines = std::make_shared<LineReader>();
  here.read_line = [lines] { return lines->Next(); };
  here.read_all = ReadAllInput;
  return here;
}

int ComplainOfProblems(const std::vector<SpecProblem>& problems, const std::string& file) {
  constexpr size_t kShown = 100;
  for (size_t i = 0; i < problems.size() && i < kShown; ++i) {
    fmt::print(stderr, "{}\n", Render(problems[i], file));
  }
  if (problems.size() > kShown) {
    fmt::print(stderr, "... and {} more\n", problems.size() - kShown);
  }
  fmt::print(stderr, "muster: nothing was started: {} {}\n", problems.size(),
             problems.size() == 1 ? "problem" : "problems");
  return kExitUsage;
}

int Submit(Session& session, const SubmitWords& words) {
  auto made = MakeJob(words.job, ReadSurroundings(session));
  if (!made.ok()) return Complain(made.error());
  if (!made->problems.empty()) return ComplainOfProblems(made->problems, made->file_name);
  auto client = session.ConnectLive(std::nullopt);
  if (!client.ok()) return Complain(client.error());
  std::string request_id = words.request_id.empty() ? MakeRequestId() : words.request_id;
  auto job = (*client)->Submit(made->spec, request_id);
  if (!job.ok()) {
    if (!(*client)->last_problems().empty()) {
      return ComplainOfProblems((*client)->last_problems(), made->file_name);
    }
    return Complain(job.error());
  }
  if (session.json) {
    fmt::print("{}\n", ToJson(*job));
  } else {
    fmt::print("{}\n", Render(job->job));
  }
  if (!words.wait) return kExitOk;
  std::fflush(stdout);
  return Wait(session, {.ids = {Render(job->job)}, .timeout = "", .ignore_failures = false});
}

int Plan(Session& session, const JobWords& words) {
  auto made = MakeJob(words, ReadSurroundings(session));
  if (!made.ok()) return Complain(made.error());
  if (!made->problems.empty()) return ComplainOfProblems(made->problems, made->file_name);
  if (session.json) {
    fmt::print("{}\n", JobSpecToJson(made->spec));
    return kExitOk;
  }
  fmt::print("job {}: {} tasks, run in {}\n", Printable(made->spec.name), made->spec.task_count(),
             Printable(made->spec.cwd));
  std::vector<std::vector<std::string>> rows = {{"TASK", "COUNT", "NEEDS", "CPUS", "MEMORY", "TIME", "RETRIES"}};
  for (const TaskSpec& task : made->spec.tasks) {
    std::string needs;
    for (uint32_t need : task.needs) {
      needs += (needs.empty() ? "" : ",") + Printable(made->spec.tasks[need].name);
    }
    rows.push_back({Printable(task.name), fmt::format("{}", task.count()), needs.empty() ? "-" : needs,
                    Render(task.request.cpus),
                    task.request.memory.value == 0 ? "-" : Render(task.request.memory),
                    task.time_limit ? Render(*task.time_limit) : "-",
                    fmt::format("{}", task.retries.user)});
    if (rows.size() > 1000) break;
  }
  fmt::print("{}", RenderTable(rows));
  if (session.hooks().plan) {
    auto lines = session.hooks().plan(session.config(), made->spec);
    if (!lines.ok()) return Complain(lines.error());
    for (const std::string& line : *lines) fmt::print("{}\n", line);
  }
  return kExitOk;
}

int Wait(Session& session, const WaitWords& words) {
  std::optional<BootTime> deadline;
  if (!words.timeout.empty()) {
    auto limit = ParseDuration(words.timeout);
    if (!limit.ok()) return Complain(std::move(limit).error().WithContext("--timeout"));
    deadline = SystemClock().Read().boot + *limit;
  }
  int code = kExitOk;
  for (const std::string& id : words.ids) {
    auto address = ParseJobAddress(id);
    if (!address.ok()) return Complain(address.error());
    if (!address->task.empty()) {
      return Complain(UserError(ErrorCode::kInvalidArgument,
                                fmt::format("'{}' names tasks; wait takes whole jobs", id)));
    }
    auto number = ParseJobNumber(address->job);
    auto client = session.ConnectToRead(number.ok() ? std::optional(*number) : std::nullopt);
    if (!client.ok()) return Complain(client.error());
    auto job = ResolveJob(**client, address->job);
    if (!job.ok()) return Complain(job.error());
    std::optional<JobView> end;
    while (!end) {
      UniqueFd timer;
      if (deadline) {
        timer = TimerAt(*deadline);
        (*client)->CancelBy(timer.get());
      }
      auto watched = (*client)->Watch(*job, {});
      if (watched.ok() && *watched) {
        end = std::move(*watched);
        break;
      }
      bool late = !watched.ok() && watched.error().code == ErrorCode::kCancelled;
      if (!watched.ok() && !late) return Complain(watched.error());
      if (late) {
        fmt::print(stderr, "muster: {} still runs after {}\n", Render(*job), words.timeout);
        return kExitTimeout;
      }
    }
    if (session.json) {
      fmt::print("{}\n", ViewToJson(*end));
    } else if (!session.quiet) {
      fmt::print("{} {}: {}\n", Render(end->id), JobWord(*end), RenderCounts(end->counts));
    }
    std::fflush(stdout);
    if (end->counts.failed() > 0) {
      code = kExitFailed;
    } else if (end->counts.cancelled() > 0 && code == kExitOk) {
      code = kExitCancelled;
    }
  }
  return words.ignore_failures && code == kExitFailed ? kExitOk : code;
}

int Cancel(Session& session, const CancelWords& words) {
  std::vector<std::string> jobs;
  for (const std::string& id : words.ids) {
    auto address = ParseJobAddress(id);
    if (!address.ok()) return Complain(address.error());
    auto number = ParseJobNumber(address->job);
    auto client = session.ConnectLive(number.ok() ? std::optional(*number) : std::nullopt);
    if (!client.ok()) {
      // It may have ended long ago, then there is nothing to cancel.
      auto past = session.ConnectToRead(number.ok() ? std::optional(*number) : std::nullopt);
      if (!past.ok()) return Complain(client.error());
      client = std::move(past);
    }
    auto job = ResolveJob(**client, address->job);
    if (!job.ok()) return Complain(job.error());
    CancelRequestMessage request;
    request.abandon = words.abandon;
    if (!address->task.empty()) {
      if (auto ranges = address->Ranges()) {
        request.tasks = std::move(*ranges);
      } else {
        auto task = (*client)->GetTask(Render(*job), address->task);
        if (!task.ok()) return Complain(task.error());
        request.tasks = {{task->task.id.number, task->task.id.number}};
      }
    }
    auto told = (*client)->Cancel(*job, request);
    if (!told.ok()) return Complain(told.error());
    jobs.push_back(Render(*job));
    if (session.json) {
      fmt::print("{}\n", ToJson(*told));
    } else if (told->ended == 0 && told->stopping == 0) {
      fmt::print("{}: nothing to cancel, it has ended\n", id);
    } else {
      fmt::print("{}: {} cancelled, {} being stopped\n", id, told->ended, told->stopping);
    }
  }
  if (!words.wait) return kExitOk;
  std::fflush(stdout);
  int code = Wait(session, {.ids = jobs, .timeout = "", .ignore_failures = true});
  return code == kExitCancelled ? kExitOk : code;
}

}  // namespace muster::cli
