// muster ps, info, why, logs: what only reads.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <deque>

#include "cli/text.h"
#include "cli/verbs.h"
#include "wire/api_json.h"

namespace muster::cli {
namespace {

constexpr Duration kRecently = std::chrono::hours(1);

WallTime WallNow() { return SystemClock().Read().wall; }

void PrintBytes(std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stdout); }

std::optional<JobId> NumberOf(const JobAddress& address) {
  auto number = ParseJobNumber(address.job);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

int ListJobs(Session& session, const PsWords& words) {
  auto client = session.ConnectToRead(std::nullopt);
  if (!client.ok()) return Complain(client.error());
  JobListQuery query;
  query.ended_since = words.all ? WallTime{0} : WallNow() - kRecently;
  query.limit = words.limit;
  query.after = words.after;
  auto page = (*client)->ListJobs(query);
  if (!page.ok()) return Complain(page.error());
  if (session.json) {
    fmt::print("{}\n", ViewToJson(*page));
    return kExitOk;
  }
  if (page->items.empty()) {
    fmt::print("no jobs{}\n", words.all ? "" : " active or ended in the last hour (--all shows all)");
    return kExitOk;
  }
  WallTime now = WallNow();
  std::vector<std::vector<std::string>> rows = {{"JOB", "STATE", "DONE", "SUBMITTED", "TOOK", "NAME", "TASKS"}};
  for (const JobView& job : page->items) {
    rows.push_back({Render(job.id), JobWord(job),
                    fmt::format("{}/{}", job.counts.ended_total(), job.counts.total()),
                    ShortTime(job.submitted, now),
                    ShortDuration(job.ended.value_or(now) - job.submitted), Printable(job.name),
                    RenderCounts(job.counts)});
  }
  fmt::print("{}", RenderTable(rows));
  if (!page->next.empty()) {
    fmt::print("{} jobs in all; go on with `muster ps --after {}{}`\n", page->total, page->next,
               words.all ? " --all" : "");
  }
  return kExitOk;
}

int ListExecutors(Session& session) {
  auto client = session.ConnectToRead(std::nullopt);
  if (!client.ok()) return Complain(client.error());
  auto page = (*client)->ListExecutors();
  if (!page.ok()) return Complain(page.error());
  if (session.json) {
    fmt::print("{}\n", ViewToJson(*page));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"EXECUTOR", "STATE", "CONTACT", "CLUSTER", "HOST", "PID", "CPUS", "FREE", "HELD", "RUNNING"}};
  for (const ExecutorView& one : page->items) {
    rows.push_back({Render(one.id), std::string(ToString(one.state)), one.in_contact ? "yes" : "no",
                    Printable(one.cluster), Printable(one.host), fmt::format("{}", one.pid),
                    Render(one.capacity.cpus), Render(one.free.cpus), fmt::format("{}", one.held),
                    fmt::format("{}", one.running)});
  }
  fmt::print("{}", RenderTable(rows));
  return kExitOk;
}

std::vector<std::string> TaskRow(const TaskView& task, WallTime now) {
  std::string state(ToString(task.state));
  if (task.state == TaskState::kEnded && task.reason) state = Render(*task.reason);
  if (task.state == TaskState::kActive && task.last_attempt) {
    state = ToString(task.last_attempt->state);
  }
  std::string took = "-";
  if (task.last_attempt && task.last_attempt->started) {
    took = ShortDuration(task.last_attempt->ended.value_or(now) - *task.last_attempt->started);
  }
  std::string of = task.item ? Printable(*task.item)
                             : (task.index ? fmt::format("{}", *task.index) : std::string("-"));
  return {Render(task.id), state, fmt::format("{}", task.attempts), took,
          task.last_attempt ? Render(task.last_attempt->executor) : "-", Printable(task.name), of};
}

int ListTasks(Session& session, const std::string& id, const PsWords& words) {
  auto address = ParseJobAddress(id);
  if (!address.ok()) return Complain(address.error());
  auto client = session.ConnectToRead(NumberOf(*address));
  if (!client.ok()) return Complain(client.error());
  TaskListQuery query;
  query.state = words.state;
  query.reason = words.reason;
  query.failed_only = words.failed;
  query.name = words.name;
  query.limit = words.limit;
  if (!words.after.empty()) {
    query.from = static_cast<uint32_t>(std::strtoul(words.after.c_str(), nullptr, 10)) + 1;
  }
  uint32_t last = UINT32_MAX;
  if (!address->task.empty()) {
    if (auto ranges = address->Ranges()) {
      query.from = std::max(query.from, ranges->front().first);
      last = ranges->back().second;
      query.limit = std::min<size_t>(query.limit, last - query.from + 1);
    } else {
      query.name = address->task;
    }
  }
  auto page = (*client)->ListTasks(address->job, query);
  if (!page.ok()) return Complain(page.error());
  if (session.json) {
    fmt::print("{}\n", ViewToJson(*page));
    return kExitOk;
  }
  WallTime now = WallNow();
  std::vector<std::vector<std::string>> rows = {{"TASK", "STATE", "TRIES", "TOOK", "ON", "NAME", "ITEM"}};
  for (const TaskView& task : page->items) {
    if (task.id.number <= last) rows.push_back(TaskRow(task, now));
  }
  fmt::print("{}", RenderTable(rows));
  if (!page->next.empty() && !page->items.empty() && page->items.back().id.number < last) {
    fmt::print("{} tasks in all; go on with `muster ps {} --after {}`\n", page->total, id,
               page->items.back().id.number);
  }
  return kExitOk;
}

void PrintJob(const JobView& job) {
  WallTime now = WallNow();
  fmt::print("job        {} {}\n", Render(job.id), Printable(job.name));
  fmt::print("state      {}{}\n", JobWord(job), job.cancel_requested ? ", cancel was asked for" : "");
  fmt::print("tasks      {}: {}\n", job.counts.total(), RenderCounts(job.counts));
  fmt::print("submitted  {} by {}\n", ShortTime(job.submitted, now), Printable(job.owner));
  if (job.first_started) fmt::print("started    {}\n", ShortTime(*job.first_started, now));
  if (job.ended) {
    fmt::print("ended      {} after {}\n", ShortTime(*job.ended, now),
               ShortDuration(*job.ended - job.submitted));
  }
  fmt::print("folder     {}\n", Printable(job.cwd));
  if (job.priority != 0) fmt::print("priority   {}\n", job.priority);
  fmt::print("attempts   {} ended\n", job.attempts);
  if (job.first_failure) fmt::print("failed     {} first\n", Render(*job.first_failure));
  std::vector<std::vector<std::string>> rows = {{"NAME", "NUMBERS", "DONE", "TASKS"}};
  constexpr size_t kShown = 200;
  for (const auto& spec : job.specs) {
    if (rows.size() > kShown) break;
    std::string numbers = spec.count == 1
                              ? fmt::format("{}", spec.first_task)
                              : fmt::format("{}-{}", spec.first_task, spec.first_task + spec.count - 1);
    rows.push_back({Printable(spec.name), numbers,
                    fmt::format("{}/{}", spec.counts.ended_total(), spec.count),
                    RenderCounts(spec.counts)});
  }
  fmt::print("{}", RenderTable(rows));
  if (job.specs.size() >= kShown) fmt::print("({} names in all)\n", job.specs.size());
}

void PrintAttempt(const AttemptView& attempt, WallTime now) {
  std::string line = fmt::format("#{}  {}", attempt.id.n,
                                 attempt.reason ? Render(*attempt.reason)
                                                : std::string(ToString(attempt.state)));
  line += fmt::format("  on {} ({})", Render(attempt.executor), Printable(attempt.host));
  if (attempt.started) line += fmt::format(", started {}", ShortTime(*attempt.started, now));
  if (attempt.pid != 0 && !attempt.ended) line += fmt::format(", pid {}", attempt.pid);
  if (attempt.facts) {
    const ExitFacts& facts = *attempt.facts;
    line += fmt::format(", took {}, cpu {}, max rss {}, output {}", ShortDuration(facts.wall),
                        ShortDuration(facts.user_cpu + facts.system_cpu),
                        ShortBytes(facts.max_rss.value), ShortBytes(facts.output_bytes));
    if (facts.output_dropped != 0) line += fmt::format(" ({} not kept)", ShortBytes(facts.output_dropped));
    if (facts.left_behind != 0) line += fmt::format(", {} processes left behind were killed", facts.left_behind);
  }
  if (attempt.may_overlap) line += ", may overlap the attempt before it";
  if (attempt.ended && !attempt.accepted) line += ", superseded";
  fmt::print("{}\n", line);
}

void PrintTask(const TaskDetail& detail) {
  WallTime now = WallNow();
  const TaskView& task = detail.task;
  fmt::print("task       {} {}{}\n", Render(task.id), Printable(task.name),
             task.item ? " " + Printable(*task.item)
                       : (task.index ? fmt::format(" index {}", *task.index) : ""));
  fmt::print("state      {}{}\n", ToString(task.state),
             task.reason ? ", " + Render(*task.reason) : std::string());
  fmt::print("why        {}\n", Printable(detail.why.sentence));
  fmt::print("command    {}\n", Printable(detail.command));
  fmt::print("folder     {}\n", Printable(detail.cwd));
  fmt::print("asks for   {} cpus{}{}{}\n", Render(detail.request.cpus),
             detail.request.memory.value == 0 ? "" : ", " + Render(detail.request.memory) + " memory",
             detail.memory_limit ? fmt::format(" (limit {})", Render(*detail.memory_limit)) : "",
             detail.time_limit ? ", at most " + Render(*detail.time_limit) : "");
  fmt::print("retries    user {}, oom {}, infrastructure {}\n", detail.retries.user, detail.retries.oom,
             detail.retries.infrastructure);
  if (task.retry_at) fmt::print("next try   {}\n", ShortTime(*task.retry_at, now));
  if (detail.attempts.empty()) {
    fmt::print("attempts   none yet\n");
  } else {
    fmt::print("attempts\n");
    for (const AttemptView& attempt : detail.attempts) PrintAttempt(attempt, now);
  }
}

int InfoOfExecutor(Session& session, const std::string& id) {
  auto client = session.ConnectToRead(std::nullopt);
  if (!client.ok()) return Complain(client.error());
  auto page = (*client)->ListExecutors();
  if (!page.ok()) return Complain(page.error());
  for (const ExecutorView& one : page->items) {
    if (Render(one.id) != id) continue;
    if (session.json) {
      fmt::print("{}\n", ViewToJson(one));
      return kExitOk;
    }
    fmt::print("executor   {} of cluster {}, launch {}\n", id, Printable(one.cluster), Render(one.launch));
    fmt::print("state      {}{}, {}\n", ToString(one.state),
               one.gone_why.empty() ? "" : " (" + Printable(one.gone_why) + ")",
               one.in_contact ? "in contact" : "not in contact");
    fmt::print("process    {} on {}\n", one.pid, Printable(one.host));
    fmt::print("capacity   {} cpus, {} memory\n", Render(one.capacity.cpus), Render(one.capacity.memory));
    fmt::print("free       {} cpus, {} memory\n", Render(one.free.cpus), Render(one.free.memory));
    fmt::print("attempts   {} held, {} running\n", one.held, one.running);
    return kExitOk;
  }
  return Complain(UserError(ErrorCode::kNotFound, fmt::format("there is no executor {}", id)));
}

int InfoOfJobOrTask(Session& session, const std::string& id) {
  auto address = ParseJobAddress(id);
  if (!address.ok()) return Complain(address.error());
  auto client = session.ConnectToRead(NumberOf(*address));
  if (!client.ok()) return Complain(client.error());
  if (address->task.empty()) {
    auto job = (*client)->GetJob(address->job);
    if (!job.ok()) return Complain(job.error());
    if (session.json) {
      fmt::print("{}\n", ViewToJson(*job));
    } else {
      PrintJob(*job);
    }
    return kExitOk;
  }
  auto ranges = address->Ranges();
  if (!ranges || address->IsOneTask()) {
    auto task = (*client)->GetTask(address->job, address->task);
    if (!task.ok()) return Complain(task.error());
    if (session.json) {
      fmt::print("{}\n", ViewToJson(*task));
    } else {
      PrintTask(*task);
    }
    return kExitOk;
  }
  for (auto [first, last] : *ranges) {
    for (uint32_t number = first; number <= last && number >= first; ++number) {
      auto task = (*client)->GetTask(address->job, fmt::format("{}", number));
      if (!task.ok()) return Complain(task.error());
      if (session.json) {
        fmt::print("{}\n", ViewToJson(*task));
      } else {
        PrintTask(*task);
        fmt::print("\n");
      }
    }
  }
  return kExitOk;
}

int WhyOfTask(Session& session, Client& client, const std::string& job, const std::string& task) {
  auto why = client.Why(job, task);
  if (!why.ok()) return Complain(why.error());
  if (session.json) {
    fmt::print("{}\n", ViewToJson(*why));
  } else {
    std::string cause(ToString(why->cause));
    bool named = why->sentence.starts_with(cause);
    fmt::print("{}  {}{}\n", Render(why->task), named ? "" : cause + ": ", Printable(why->sentence));
  }
  return kExitOk;
}

// A whole job: of each state that is not an end, the first task of each name; without any, the failures.
int WhyOfJob(Session& session, Client& client, const std::string& job) {
  auto view = client.GetJob(job);
  if (!view.ok()) return Complain(view.error());
  constexpr size_t kShown = 20;
  size_t shown = 0;
  auto show = [&](const TaskListQuery& query) {
    auto page = client.ListTasks(job, query);
    if (!page.ok()) return;
    for (const TaskView& task : page->items) {
      if (shown++ >= kShown) return;
      WhyOfTask(session, client, job, fmt::format("{}", task.id.number));
    }
  };
  if (view->ended) {
    show({.state = "", .reason = "", .failed_only = true, .name = "", .from = 1, .limit = kShown});
    if (shown == 0) fmt::print("{}: {}\n", Render(view->id), RenderCounts(view->counts));
    return kExitOk;
  }
  for (const auto& spec : view->specs) {
    if (shown >= kShown) break;
    if (spec.counts.waiting > 0) show({.state = "waiting", .reason = "", .failed_only = false, .name = spec.name, .from = 1, .limit = 1});
    if (spec.counts.ready > 0) show({.state = "ready", .reason = "", .failed_only = false, .name = spec.name, .from = 1, .limit = 1});
    if (spec.counts.active > 0) show({.state = "active", .reason = "", .failed_only = false, .name = spec.name, .from = 1, .limit = 1});
  }
  return kExitOk;
}

// The last `lines` lines of what passes through.
class Tail {
 public:
  explicit Tail(size_t lines) : lines_(lines) {}
  void Add(std::string_view bytes) {
    text_.append(bytes);
    size_t at = text_.size();
    if (at > 0 && text_[at - 1] == '\n') --at;
    for (size_t i = 0; i < lines_; ++i) {
      if (at == 0) return;
      at = text_.rfind('\n', at - 1);
      if (at == std::string::npos) return;
    }
    text_.erase(0, at + 1);
  }
  const std::string& text() const { return text_; }

 private:
  const size_t lines_;
  std::string text_;
};

int LogOfTask(Client& client, const JobAddress& address, const std::string& task,
              const LogsWords& words) {
  LogQuery query;
  query.attempt = address.attempt;
  query.stream = words.stream;
  query.follow = words.follow;
  Tail tail(words.tail_lines);
  auto read = client.ReadLog(address.job, task, query, [&](std::string_view bytes) {
    if (words.tail_lines != 0) {
      tail.Add(bytes);
    } else {
      PrintBytes(bytes);
      if (words.follow) std::fflush(stdout);
    }
    return true;
  });
  PrintBytes(tail.text());
  std::fflush(stdout);
  return read.ok() ? kExitOk : Complain(read.error());
}

int LogsOfJob(Client& client, const JobAddress& address, const LogsWords& words) {
  auto job = client.GetJob(address.job);
  if (!job.ok()) return Complain(job.error());
  if (job->counts.total() == 1) return LogOfTask(client, address, "1", words);
  std::optional<uint32_t> shown;
  WatchEvents events;
  events.output = WatchOutput::kAll;
  events.on_output = [&](const OutputEvent& event) {
    if (!words.stream.empty() && event.stream != words.stream) return true;
    if (shown != event.task) {
      fmt::print("{}==> {}.{} <==\n", shown ? "\n" : "", Render(job->id), event.task);
      shown = event.task;
    }
    PrintBytes(event.data);
    return true;
  };
  // Without -f only what has ended by now.
  if (!words.follow && !job->ended) {
    for (uint32_t from = 1;;) {
      auto page = client.ListTasks(address.job, {.state = "", .reason = "", .failed_only = false, .name = "", .from = from, .limit = 1000});
      if (!page.ok()) return Complain(page.error());
      for (const TaskView& task : page->items) {
        if (task.attempts == 0) continue;
        fmt::print("==> {} <==\n", Render(task.id));
        LogOfTask(client, address, fmt::format("{}", task.id.number), words);
      }
      if (page->next.empty()) return kExitOk;
      from = page->items.back().id.number + 1;
    }
  }
  auto end = client.Watch(job->id, events);
  std::fflush(stdout);
  return end.ok() ? kExitOk : Complain(end.error());
}

}  // namespace

int Ps(Session& session, const PsWords& words) {
  if (words.executors) return ListExecutors(session);
  if (words.ids.empty()) return ListJobs(session, words);
  int code = kExitOk;
  for (const std::string& id : words.ids) {
    if (int one = ListTasks(session, id, words); one != kExitOk) code = one;
  }
  return code;
}

int Info(Session& session, const std::vector<std::string>& ids) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    bool executor = id.size() > 1 && id.front() == 'x';
    int one = executor ? InfoOfExecutor(session, id) : InfoOfJobOrTask(session, id);
    if (one != kExitOk) code = one;
  }
  return code;
}

int Why(Session& session, const std::vector<std::string>& ids) {
  int code = kExitOk;
  for (const std::string& id : ids) {
    auto address = ParseJobAddress(id);
    if (!address.ok()) return Complain(address.error());
    auto client = session.ConnectToRead(NumberOf(*address));
    if (!client.ok()) return Complain(client.error());
    int one = address->task.empty() ? WhyOfJob(session, **client, address->job)
                                    : WhyOfTask(session, **client, address->job, address->task);
    if (one != kExitOk) code = one;
  }
  return code;
}

int Logs(Session& session, const LogsWords& words) {
  int code = kExitOk;
  for (const std::string& id : words.ids) {
    auto address = ParseJobAddress(id);
    if (!address.ok()) return Complain(address.error());
    auto client = session.ConnectToRead(NumberOf(*address));
    if (!client.ok()) return Complain(client.error());
    int one = kExitOk;
    auto ranges = address->task.empty() ? std::nullopt : address->Ranges();
    if (address->task.empty()) {
      one = LogsOfJob(**client, *address, words);
    } else if (!ranges) {
      one = LogOfTask(**client, *address, address->task, words);
    } else {
      for (auto [first, last] : *ranges) {
        for (uint32_t number = first; number <= last && one == kExitOk; ++number) {
          one = LogOfTask(**client, *address, fmt::format("{}", number), words);
        }
      }
    }
    if (one != kExitOk) code = one;
  }
  return code;
}

}  // namespace muster::cli
