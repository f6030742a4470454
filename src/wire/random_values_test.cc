#include "wire/random_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace muster::test {
namespace {

// Small, large and boundary numbers alike.
template <typename T>
T Number(Random& random) {
  switch (random.Below(5)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<T>::max();
    case 2:
      return std::numeric_limits<T>::min();
    case 3:
      return static_cast<T>(random.Below(1000));
    default:
      return static_cast<T>(random.Next());
  }
}

template <typename T, typename F>
std::optional<T> Maybe(Random& random, F&& make) {
  if (random.Percent(50)) return std::nullopt;
  return make();
}

WallTime Time(Random& random) {
  if (random.Percent(20)) return WallTime{Number<int64_t>(random)};
  return WallTime{static_cast<int64_t>(random.Below(4'000'000'000'000'000))};
}
Duration Span(Random& random) { return Duration(Number<int64_t>(random)); }
bool Coin(Random& random) { return random.Percent(50); }

template <typename E>
E Any(Random& random, E last) {
  return static_cast<E>(random.Below(static_cast<uint64_t>(last) + 1));
}

TaskId Task(Random& random) { return {{Number<uint64_t>(random)}, Number<uint32_t>(random)}; }

EndReason Reason(Random& random) {
  return {Any(random, EndKind::kUnknown), Number<int32_t>(random), RandomText(random),
          Coin(random)};
}

Resources Size(Random& random) {
  Resources size{
      {Number<uint64_t>(random)}, {Number<uint64_t>(random)}, Number<uint32_t>(random), {}};
  for (uint64_t n = random.Below(3); n > 0; --n) {
    size.named.emplace_back(RandomText(random), Number<uint64_t>(random));
  }
  return size;
}

TaskCounts Counts(Random& random) {
  TaskCounts counts;
  counts.waiting = random.Below(1000);
  counts.ready = Number<uint32_t>(random);
  counts.held = random.Below(2);
  counts.active = random.Below(9);
  counts.running = random.Below(9);
  for (uint64_t& n : counts.ended) n = random.Percent(70) ? 0 : Number<uint64_t>(random);
  return counts;
}

std::vector<std::pair<std::string, std::string>> Env(Random& random) {
  std::vector<std::pair<std::string, std::string>> env;
  for (uint64_t n = random.Below(4); n > 0; --n) {
    std::string name = RandomText(random);
    std::erase(name, '=');
    env.emplace_back(name + fmt::format("{}", n), RandomText(random));
  }
  return env;
}

std::string NonEmpty(Random& random) {
  std::string text = RandomText(random);
  return text.empty() ? "x" : text;
}

TaskSpec RandomTask(Random& random, size_t position) {
  TaskSpec task;
  task.name = fmt::format("{}{}", RandomText(random), position);
  if (Coin(random)) {
    task.command = ShellCommand{NonEmpty(random)};
  } else {
    ExecCommand exec{{NonEmpty(random)}};
    for (uint64_t n = random.Below(4); n > 0; --n) exec.argv.push_back(RandomText(random));
    task.command = exec;
  }
  task.env = Env(random);
  if (Coin(random)) task.cwd = NonEmpty(random);
  if (random.Percent(30)) {
    auto first = static_cast<int64_t>(random.Below(2000)) - 1000;
    task.each = IndexRange{first, first + static_cast<int64_t>(random.Below(50)),
                           1 + static_cast<int64_t>(random.Below(5))};
  } else if (random.Percent(40)) {
    ItemList items;
    for (uint64_t n = 1 + random.Below(20); n > 0; --n) (void)items.Add(RandomText(random));
    items.ShrinkToFit();
    task.each = std::move(items);
  }
  if (task.is_array() && Coin(random)) task.array_cap = 1 + static_cast<uint32_t>(random.Below(99));
  task.request.cpus = MilliCpu{1 + random.Below(100'000)};
  if (Coin(random)) task.request.memory = Bytes{random.Below(1ULL << 40)};
  if (Coin(random)) {
    task.memory_limit = Bytes{task.request.memory.value + 1 + random.Below(1ULL << 30)};
  }
  if (Coin(random)) task.time_limit = Duration(1 + random.Below(1'000'000'000'000));
  if (Coin(random)) task.needs_time = Duration(random.Below(2));
  if (Coin(random)) task.grace = Duration(random.Below(10'000'000));
  if (Coin(random)) {
    task.retries = {static_cast<uint32_t>(random.Below(4)), static_cast<uint32_t>(random.Below(4)),
                    static_cast<uint32_t>(random.Below(4))};
  }
  if (Coin(random)) task.lane = Lane::kPooled;
  task.once = random.Percent(20);
  if (Coin(random)) task.category = RandomText(random);
  if (Coin(random)) task.priority = Number<int32_t>(random);
  for (uint32_t need = 0; need < position; ++need) {
    if (random.Percent(30)) task.needs.push_back(need);
  }
  for (uint64_t n = random.Below(3); n > 0; --n) task.inputs.push_back(NonEmpty(random));
  return task;
}

}  // namespace

std::string RandomText(Random& random) {
  static constexpr std::array<std::string_view, 16> kPieces = {
      "a",    "Z9", " ",  "\"", "\\",     "\n", "\t",   "\x01",
      "\x7f", "é",  "🚀", "/",  "{item}", "'",  "null", "12"};
  std::string text;
  for (uint64_t n = random.Below(8); n > 0; --n) text += kPieces[random.Below(kPieces.size())];
  if (random.Percent(5)) text += '\xff';
  if (random.Percent(3)) text += "\xed\xa0\x80";
  if (random.Percent(2)) text += std::string(300, 'n');
  return text;
}

JobSpec RandomJobSpec(Random& random) {
  JobSpec job;
  job.name = RandomText(random);
  job.cwd = "/" + RandomText(random);
  job.env = Env(random);
  if (Coin(random)) job.cluster = RandomText(random);
  if (Coin(random)) job.priority = Number<int32_t>(random);
  for (uint64_t n = 1 + random.Below(6); n > 0; --n) {
    job.tasks.push_back(RandomTask(random, job.tasks.size()));
  }
  return job;
}

ExitFacts RandomExitFacts(Random& random) {
  ExitFacts facts;
  facts.how = Any(random, ExitFacts::How::kLost);
  facts.code = Number<int32_t>(random);
  facts.what_failed = RandomText(random);
  facts.stop_cause = Any(random, StopCause::kDraining);
  facts.started = Time(random);
  facts.wall = Span(random);
  facts.user_cpu = Span(random);
  facts.system_cpu = Span(random);
  facts.max_rss = Bytes{Number<uint64_t>(random)};
  facts.left_behind = Number<uint32_t>(random);
  facts.output_bytes = Number<uint64_t>(random);
  facts.output_dropped = Number<uint64_t>(random);
  return facts;
}

AttemptView RandomAttemptView(Random& random) {
  AttemptView view;
  view.id = {Task(random), Number<uint32_t>(random)};
  view.state = Any(random, AttemptState::kEnded);
  view.executor = {Number<uint64_t>(random)};
  view.host = RandomText(random);
  view.send = Number<uint32_t>(random);
  view.planned = Time(random);
  view.started = Maybe<WallTime>(random, [&] { return Time(random); });
  view.ended = Maybe<WallTime>(random, [&] { return Time(random); });
  view.reason = Maybe<EndReason>(random, [&] { return Reason(random); });
  view.facts = Maybe<ExitFacts>(random, [&] { return RandomExitFacts(random); });
  view.pid = Number<int64_t>(random);
  view.accepted = Coin(random);
  view.may_overlap = Coin(random);
  return view;
}

WhyView RandomWhyView(Random& random) {
  WhyView why{Task(random), Any(random, WhyCause::kEnded), RandomText(random), {}};
  for (uint64_t n = random.Below(4); n > 0; --n) {
    why.figures.emplace_back(RandomText(random), RandomText(random));
  }
  return why;
}

TaskView RandomTaskView(Random& random) {
  TaskView view;
  view.id = Task(random);
  view.name = RandomText(random);
  view.position = Number<uint32_t>(random);
  view.index = Maybe<int64_t>(random, [&] { return Number<int64_t>(random); });
  view.item = Maybe<std::string>(random, [&] { return RandomText(random); });
  view.state = Any(random, TaskState::kEnded);
  view.reason = Maybe<EndReason>(random, [&] { return Reason(random); });
  view.attempts = Number<uint32_t>(random);
  view.retry_at = Maybe<WallTime>(random, [&] { return Time(random); });
  view.last_attempt = Maybe<AttemptView>(random, [&] { return RandomAttemptView(random); });
  return view;
}

TaskDetail RandomTaskDetail(Random& random) {
  TaskDetail detail;
  detail.task = RandomTaskView(random);
  detail.command = RandomText(random);
  detail.cwd = RandomText(random);
  detail.request = Size(random);
  detail.memory_limit = Maybe<Bytes>(random, [&] { return Bytes{Number<uint64_t>(random)}; });
  detail.time_limit = Maybe<Duration>(random, [&] { return Span(random); });
  detail.retries = {Number<uint32_t>(random), Number<uint32_t>(random), Number<uint32_t>(random)};
  for (uint64_t n = random.Below(4); n > 0; --n) {
    detail.attempts.push_back(RandomAttemptView(random));
  }
  detail.why = RandomWhyView(random);
  return detail;
}

JobView RandomJobView(Random& random) {
  JobView view;
  view.id = {Number<uint64_t>(random)};
  view.name = RandomText(random);
  view.owner = RandomText(random);
  view.cwd = RandomText(random);
  view.cluster = RandomText(random);
  view.priority = Number<int32_t>(random);
  view.submitted = Time(random);
  view.first_started = Maybe<WallTime>(random, [&] { return Time(random); });
  view.ended = Maybe<WallTime>(random, [&] { return Time(random); });
  view.cancel_requested = Coin(random);
  view.counts = Counts(random);
  view.attempts = Number<uint64_t>(random);
  view.first_failure = Maybe<TaskId>(random, [&] { return Task(random); });
  for (uint64_t n = random.Below(4); n > 0; --n) {
    view.specs.push_back({RandomText(random), Number<uint32_t>(random), Number<uint64_t>(random),
                          Counts(random), Coin(random)});
  }
  return view;
}

ExecutorView RandomExecutorView(Random& random) {
  ExecutorView view;
  view.id = {Number<uint64_t>(random)};
  view.launch = {Number<uint64_t>(random)};
  view.cluster = RandomText(random);
  view.host = RandomText(random);
  view.pid = Number<int64_t>(random);
  view.state = Any(random, ExecutorState::kGone);
  view.in_contact = Coin(random);
  view.registered = Time(random);
  view.capacity = Size(random);
  view.free = Size(random);
  view.held = Number<uint64_t>(random);
  view.running = Number<uint64_t>(random);
  view.gone_why = RandomText(random);
  return view;
}

ServerView RandomServerView(Random& random) {
  return {RandomText(random),      RandomText(random), Number<uint64_t>(random),
          Number<int64_t>(random), Time(random),       Number<uint64_t>(random),
          RandomText(random)};
}

ApiError RandomApiError(Random& random) {
  ApiError failed;
  failed.error = {Any(random, ErrorCode::kOutcomeUnknown), Any(random, ErrorOwner::kUs),
                  RandomText(random), RandomText(random)};
  for (uint64_t n = random.Below(4); n > 0; --n) {
    failed.problems.push_back({RandomText(random), RandomText(random), RandomText(random),
                               Number<int32_t>(random), Number<int32_t>(random)});
  }
  return failed;
}

}  // namespace muster::test
