#include <gtest/gtest.h>

#include <chrono>

#include "core/testing/fake_world.h"

namespace muster::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Numbers, RunThroughTheWholeJobInFileOrder) {
  FakeWorld world;
  JobSpec spec = JobOf({OneTaskSpec("a"), ArraySpec("b", 3), OneTaskSpec("c")});
  spec.tasks[1].each = IndexRange{10, 30, 10};
  JobId job = world.Submit(spec);
  EXPECT_EQ(world.state.FirstTaskOf(job, 1), 2u);
  EXPECT_EQ(world.state.FirstTaskOf(job, 2), 5u);
  EXPECT_EQ(world.state.PlaceOf({job, 4})->spec, 1u);
  EXPECT_EQ(world.state.PlaceOf({job, 4})->position, 2u);
  EXPECT_EQ(world.state.ViewTask({job, 4})->index, 30);
  EXPECT_EQ(world.state.ViewTask({job, 4})->position, 3u);
  EXPECT_EQ(world.state.ViewTask({job, 5})->name, "c");
  EXPECT_FALSE(world.state.ViewTask({job, 6}));
  EXPECT_FALSE(world.state.ViewTask({job, 0}));
}

TEST(Views, ShowItems) {
  FakeWorld world;
  JobSpec spec = OneTask();
  ItemList items;
  ASSERT_TRUE(items.Add("one") && items.Add("two words"));
  spec.tasks[0].each = items;
  JobId job = world.Submit(spec);
  EXPECT_EQ(world.state.ViewTask({job, 2})->item, "two words");
}

TEST(Views, ListTasksByStateAndPage) {
  FakeWorld world;
  JobSpec spec = JobOf({ArraySpec("a", 10), ArraySpec("b", 4)});
  spec.tasks[1].needs = {0};
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1});
  world.executor().FinishTask({job, 2}, Exited(1));
  State& state = world.state;
  EXPECT_EQ(state.ListTasks(job, {TaskState::kActive}, 0, 10), (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(state.ListTasks(job, {TaskState::kReady}, 1, 3), (std::vector<uint32_t>{5, 6, 7}));
  EXPECT_EQ(state.ListTasks(job, {TaskState::kReady}, 8, 9), (std::vector<uint32_t>{8, 9, 10}));
  EXPECT_EQ(state.ListTasks(job, {std::nullopt, EndKind::kFailed}, 0, 9), (std::vector<uint32_t>{2}));
  State::TaskFilter failed;
  failed.failed_only = true;
  EXPECT_EQ(state.CountTasks(job, failed), 5u) << "one failed, four needed it";
  State::TaskFilter of_b;
  of_b.spec = 1;
  EXPECT_EQ(state.CountTasks(job, of_b), 4u);
  EXPECT_EQ(state.ListTasks(job, of_b, 0, 2), (std::vector<uint32_t>{11, 12}));
  EXPECT_EQ(state.CountTasks(job, {}), 14u);
}

TEST(Views, TellWaitingFromReady) {
  FakeWorld world;
  JobSpec spec = JobOf({ArraySpec("a", 5), ArraySpec("b", 4)});
  spec.tasks[1].needs = {0};
  JobId job = world.Submit(spec);
  EXPECT_EQ(world.state.CountTasks(job, {TaskState::kWaiting}), 4u);
  EXPECT_EQ(world.state.ListTasks(job, {TaskState::kWaiting}, 0, 1), (std::vector<uint32_t>{6}));
  EXPECT_EQ(world.state.CountTasks(job, {TaskState::kReady}), 3u);
  TaskCounts counts = world.state.ViewJob(job)->counts;
  EXPECT_EQ(counts.waiting, 4u);
  EXPECT_EQ(counts.ready, 3u);
  EXPECT_EQ(counts.total(), 9u);
  EXPECT_FALSE(world.state.ViewJob(job)->specs[0].leaf);
  EXPECT_TRUE(world.state.ViewJob(job)->specs[1].leaf);
}

TEST(Views, ListJobsNewestFirstWithThoseEndedLately) {
  FakeWorld world;
  JobId first = world.Submit(OneTask());
  JobId second = world.Submit(OneTask());
  JobId third = world.Submit(OneTask());
  world.executor().FinishTask({first, 1});
  WallTime before = world.now.wall - seconds(1);
  EXPECT_EQ(world.state.ListJobs(std::nullopt, std::nullopt, 9), (std::vector<JobId>{third, second}));
  EXPECT_EQ(world.state.ListJobs(before, std::nullopt, 2), (std::vector<JobId>{third, second}));
  EXPECT_EQ(world.state.ListJobs(before, second, 9), (std::vector<JobId>{first}));
  EXPECT_EQ(world.state.CountJobs(before), 3u);
  EXPECT_EQ(world.state.CountJobs(std::nullopt), 2u);
  EXPECT_EQ(world.state.jobs_active(), 2u);
}

TEST(Views, ShowExecutorsWithTheirRoom) {
  FakeWorld world;
  JobSpec spec = OneTask();
  spec.tasks[0].request.memory = GiB(1);
  JobId job = world.Submit(spec);
  world.executor().Start({{job, 1}, 1});
  ExecutorView view = world.state.ViewExecutors().at(0);
  EXPECT_EQ(view.state, ExecutorState::kServing);
  EXPECT_TRUE(view.in_contact);
  EXPECT_EQ(view.free.cpus, MilliCpu{1000});
  EXPECT_EQ(view.free.memory, GiB(3));
  EXPECT_EQ(view.held, 1u);
  EXPECT_EQ(view.running, 1u);
  EXPECT_EQ(world.state.OutputDirOf(view.id), "/out/x1");
}

TEST(Memory, OfUntouchedTasksIsNothing) {
  State state = NewState();
  Facts facts;
  Effects effects;
  Now now{{1'000'000}, {1'000'000}};
  JobSpec spec = JobOf({ArraySpec("a", 10'000'000)});
  spec.cluster = "here";
  auto begin = std::chrono::steady_clock::now();
  Apply(state, JobAccepted{JobId{1}, std::make_shared<const JobSpec>(spec), "me", "", now.wall});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(50));
  EXPECT_LT(state.MemoryBytes(), size_t{1} << 20);
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(state.CountTasks(JobId{1}, {TaskState::kReady}), 10'000'000u);
  EXPECT_EQ(state.ListTasks(JobId{1}, {TaskState::kReady}, 9'999'000, 50).size(), 50u);
  EXPECT_TRUE(state.ListTasks(JobId{1}, {TaskState::kEnded}, 0, 50).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(50));
}

TEST(Memory, OfATouchedQueuedTaskIsAByte) {
  StateColumn column(1'000'000);
  CodeCounts replaced{};
  for (uint32_t at = 0; at < 1'000'000; at += 100) column.SetRange(at, 1, kRunning, replaced);
  EXPECT_LT(column.MemoryBytes(), 1'100'000u);
}

TEST(Memory, OfAnEndedAttemptIsBelow64Bytes) {
  constexpr uint32_t kTasks = 100'000;
  WallTime base{1'700'000'000'000'000};
  EndedColumn column(kTasks, base);
  for (uint32_t at = 0; at < kTasks; ++at) {
    EndedAttempt row;
    row.n = row.send = 1;
    row.executor = ExecutorId{300};
    row.accepted = true;
    row.planned = base + seconds(at);
    row.ended = row.planned + milliseconds(1200);
    row.reason.kind = EndKind::kOk;
    row.facts.started = row.planned + milliseconds(2);
    row.facts.wall = milliseconds(1190);
    row.facts.user_cpu = milliseconds(900);
    row.facts.system_cpu = milliseconds(90);
    row.facts.max_rss = MiB(123);
    row.facts.output_bytes = 12345;
    column.Append(at, row);
    if (at % 999 == 0) {
      EXPECT_EQ(*column.Newest(at), row);
    }
  }
  EXPECT_LT(column.MemoryBytes() / kTasks, 64u);
}

TEST(EndedColumn, GivesBackEveryFieldOfEveryAttempt) {
  EndedColumn column(10, WallTime{5'000});
  EndedAttempt first;
  first.n = 1;
  first.send = 3;
  first.executor = ExecutorId{1ULL << 40};
  first.may_overlap = true;
  first.planned = WallTime{-7};
  first.ended = WallTime{INT64_MAX / 2};
  first.reason = {EndKind::kStartFailed, 2, "exec /x", true};
  first.facts.how = ExitFacts::How::kNotStarted;
  first.facts.code = -5;
  first.facts.what_failed = std::string("a\0b", 3);
  first.facts.stop_cause = StopCause::kDraining;
  first.facts.left_behind = 7;
  first.facts.output_dropped = 1ULL << 50;
  EndedAttempt second = first;
  second.n = 2;
  second.accepted = true;
  second.facts = {};
  column.Append(9, first);
  column.Append(9, second);
  EXPECT_EQ(column.Read(9), (std::vector<EndedAttempt>{first, second}));
  EXPECT_TRUE(column.Read(8).empty());
}

TEST(StateColumn, AgreesWithAPlainVector) {
  constexpr uint32_t kSize = 10'000;
  StateColumn column(kSize);
  std::vector<uint8_t> plain(kSize, kFresh);
  uint64_t seed = 7;
  for (int round = 0; round < 2000; ++round) {
    seed = Mix64(seed);
    uint32_t first = seed % kSize;
    uint32_t count = std::min<uint32_t>(kSize - first, 1 + (seed >> 20) % (round % 7 == 0 ? 9000 : 40));
    auto code = static_cast<uint8_t>((seed >> 40) % kTaskCodes);
    CodeCounts replaced{};
    CodeCounts expected{};
    for (uint32_t i = first; i < first + count; ++i) {
      ++expected[plain[i]];
      plain[i] = code;
    }
    column.SetRange(first, count, code, replaced);
    ASSERT_EQ(replaced, expected);
    CodeMask mask = static_cast<CodeMask>(seed >> 13) & kAllCodes;
    uint32_t from = (seed >> 7) % kSize;
    StateColumn::Run run = column.NextRun(from, kSize, mask, 5000);
    uint32_t at = from;
    while (at < kSize && (mask & MaskOf(plain[at])) == 0) ++at;
    uint32_t length = 0;
    while (at + length < kSize && length < 5000 && (mask & MaskOf(plain[at + length])) != 0) ++length;
    ASSERT_EQ(run.count, length);
    if (length > 0) {
      ASSERT_EQ(run.first, at);
    }
    CodeCounts counts{};
    CodeCounts sum{};
    column.AddCounts(first, first + count, counts);
    for (uint32_t i = first; i < first + count; ++i) ++sum[plain[i]];
    ASSERT_EQ(counts, sum);
  }
}

TEST(TaskMap, AgreesWithAStandardMap) {
  TaskMap<uint64_t> map;
  std::map<uint32_t, uint64_t> plain;
  uint64_t seed = 3;
  for (int round = 0; round < 50'000; ++round) {
    seed = Mix64(seed);
    uint32_t key = 1 + seed % 3000;
    if (seed % 3 == 0 || (round > 40'000 && seed % 8 != 1)) {
      map.Erase(key);
      plain.erase(key);
    } else {
      map.At(key) = seed;
      plain[key] = seed;
    }
    uint32_t other = 1 + (seed >> 30) % 3000;
    auto it = plain.find(other);
    ASSERT_EQ(map.Find(other) != nullptr, it != plain.end());
    if (it != plain.end()) {
      ASSERT_EQ(*map.Find(other), it->second);
    }
  }
  EXPECT_EQ(map.size(), plain.size());
}

TEST(Dump, OfOneJobHoldsAllThatIsShownOfIt) {
  FakeWorld world({Here(2)});
  JobSpec spec = JobOf({ArraySpec("a", 6), OneTaskSpec("b")});
  spec.tasks[0].retries.user = 1;
  spec.tasks[1].needs = {0};
  JobId job = world.Submit(spec);
  world.executor().FinishTask({job, 1}, Exited(9));
  for (int i = 0; i < 10; ++i) {
    world.Advance(seconds(2));
    for (auto& executor : world.executors) executor->FinishAll();
  }
  ASSERT_TRUE(world.state.ViewJob(job)->ended);
  State archive = NewState();
  DumpJob(world.state, job, [&](Facts&& facts) {
    for (const Fact& fact : facts) Apply(archive, fact);
  });
  EXPECT_EQ(archive.ViewJob(job), world.state.ViewJob(job));
  for (uint32_t task = 1; task <= 7; ++task) {
    EXPECT_EQ(archive.ViewTask({job, task}), world.state.ViewTask({job, task}));
    EXPECT_EQ(archive.ViewAttempts({job, task}), world.state.ViewAttempts({job, task}));
  }
  EXPECT_EQ(archive.CheckInvariants(), "");
}

TEST(Dump, ComesInPiecesOfBoundedSize) {
  FakeWorld world;
  world.check_dumps = false;
  JobId job = world.Submit(JobOf({ArraySpec("a", 20'000)}));
  world.Cancel(job, {{job, 15'000, 5001}});
  Facts plan;
  for (uint32_t task = 3; task < 15'000; ++task) {
    Apply(world.state, AttemptsPlanned{ExecutorId{1}, {job, task, 1}, 1, 1, false, world.now.wall});
    AttemptEnded end;
    end.attempt = {{job, task}, 1};
    end.executor = ExecutorId{1};
    end.reason.kind = EndKind::kOk;
    end.at = world.now.wall;
    Apply(world.state, end);
    Apply(world.state, TasksEnded{{job, task, 1}, {EndKind::kOk}, world.now.wall});
  }
  size_t total = 0;
  DumpFacts(world.state, [&](Facts&& facts) {
    EXPECT_LE(facts.size(), 5000u);
    total += facts.size();
  });
  EXPECT_LT(total, 15'100u) << "plans and ends of tasks go as ranges";
  world.CheckDump();
}

}  // namespace
}  // namespace muster::core::testing
