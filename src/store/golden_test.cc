// Stores that released versions wrote replay to what they meant then. testdata/v1 was written by
//     MUSTER_WRITE_GOLDEN=1 store_test --gtest_filter='Golden.*'
// and is never written again; a new format version gets a folder of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/testing/fake_world.h"
#include "store/fact_codec.h"
#include "store/store.h"
#include "store/system_disk.h"
#include "store/testing/random_facts.h"
#include "store/testing/step_loop.h"
#include "support/temp_dir.h"

namespace muster::store {
namespace {

namespace fs = std::filesystem;
using core::testing::FakeWorld;

fs::path Golden() { return fs::path(__FILE__).parent_path() / "testdata" / "v1"; }
bool Writing() { return std::getenv("MUSTER_WRITE_GOLDEN") != nullptr; }

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
void WriteText(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// -- facts in words

struct FieldPrinter {
  std::string text;
  template <typename T>
  void operator()(uint32_t number, const T& field) {
    text += fmt::format(" {}=", number);
    Print(field);
  }
  template <typename T>
  void Print(const T& field) {
    if constexpr (std::is_same_v<T, std::string>) {
      for (char c : field) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    } else if constexpr (std::is_same_v<T, WallTime>) {
      text += fmt::format("{}", field.us);
    } else if constexpr (std::is_same_v<T, Duration>) {
      text += fmt::format("{}", field.count());
    } else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, MilliCpu>) {
      text += fmt::format("{}", field.value);
    } else if constexpr (std::is_enum_v<T>) {
      text += fmt::format("{}", static_cast<int>(field));
    } else if constexpr (std::is_integral_v<T>) {
      text += fmt::format("{}", field);
    } else if constexpr (std::is_same_v<T, std::shared_ptr<const JobSpec>>) {
      text += fmt::format("[{} {} {}]", field->name, field->cwd, field->task_count());
    } else if constexpr (requires { field.number; }) {
      text += fmt::format("{}", field.number);
    } else {
      for (const auto& [name, value] : field) {
        text += '(';
        Print(name);
        text += ',';
        Print(value);
        text += ')';
      }
    }
  }
};

std::string InWords(const core::Fact& fact) {
  return std::visit(
      [](const auto& body) {
        FieldPrinter printer{fmt::format("{}:", kFactKind<std::remove_cvref_t<decltype(body)>>)};
        VisitFields(body, printer);
        return printer.text + "\n";
      },
      fact);
}

TEST(Golden, FactsOfVersionOneMeanWhatTheyMeant) {
  if (Writing()) {
    Random random(20);
    RandomFacts make(random);
    std::string bytes;
    FactEncoder encoder(bytes);
    for (int round = 0; round < 3; ++round) {
      for (uint32_t kind = 0; kind < kLastFactKind; ++kind) encoder.Add(make.Make(kind));
    }
    fs::create_directories(Golden());
    WriteText(Golden() / "facts.bin", bytes);
  }
  std::string words;
  Status decoded = DecodeFacts(ReadText(Golden() / "facts.bin"), [&words](core::Fact&& fact) {
    words += InWords(fact);
    return Status::Ok();
  });
  ASSERT_TRUE(decoded.ok()) << decoded.error();
  if (Writing()) WriteText(Golden() / "facts.txt", words);
  EXPECT_EQ(words, ReadText(Golden() / "facts.txt"));
}

// -- a whole store

void PlayHalf(FakeWorld& world) {
  core::testing::FakeExecutor* executor = nullptr;
  JobSpec job = core::testing::JobOf(
      {core::testing::ArraySpec("count", 6), core::testing::OneTaskSpec("total")});
  job.tasks[0].retries.user = 1;
  job.tasks[1].needs = {0};
  JobId first = world.Submit(job, "request-1");
  executor = &world.executor();
  executor->FinishTask({first, 1});
  executor->FinishTask({first, 2}, core::testing::Exited(3));
  world.Advance(std::chrono::seconds(90));
  executor->FinishTask({first, 3});
  JobId second = world.Submit(core::testing::JobOf({core::testing::ArraySpec("sleep", 1000)}));
  world.Cancel(second, {{second, 500, 100}});
}
void PlayRest(FakeWorld& world) {
  world.executor().FinishAll();
  world.executor().FinishAll(core::testing::Exited(7));
  world.Submit(core::testing::OneTask("echo three"), "request-3");
}

std::string InWords(const core::State& state) {
  std::string words = fmt::format("epoch {} jobs {}\n", state.epoch(), state.jobs_active());
  for (JobId id : state.ListJobs(WallTime{0}, std::nullopt, 100)) {
    JobView job = *state.ViewJob(id);
    words += fmt::format("{} {} {} submitted {} cancelled {} attempts {}:", Render(id), job.name,
                         job.owner, job.submitted.us, job.cancel_requested, job.attempts);
    words += fmt::format(" waiting {} ready {} active {}", job.counts.waiting, job.counts.ready,
                         job.counts.active);
    for (int kind = 0; kind < kEndKinds; ++kind) {
      uint64_t n = job.counts.ended[static_cast<size_t>(kind)];
      if (n != 0) words += fmt::format(" {} {}", ToString(static_cast<EndKind>(kind)), n);
    }
    words += '\n';
    for (uint32_t number = 1; number <= std::min<uint64_t>(job.counts.total(), 8); ++number) {
      TaskView task = *state.ViewTask({id, number});
      words += fmt::format("  {} {} {} attempts {}{}\n", Render(task.id), task.name,
                           ToString(task.state), task.attempts,
                           task.reason ? " " + Render(*task.reason) : "");
    }
  }
  for (const auto& launch : state.ViewLaunches()) {
    words += fmt::format("{} {} {} {}\n", Render(launch.id), launch.cluster, ToString(launch.state),
                         launch.external_id);
  }
  return words;
}

void WriteStore(const fs::path& folder) {
  StepLoop loop;
  Random random(1);
  LoopBackground syncing(loop, random, Duration{100});
  LoopBackground writing(loop, random, Duration{100});
  fs::remove_all(folder);
  auto opened = Store::Open({SystemDisk(), loop, syncing, writing, random}, folder, {KiB(4)});
  ASSERT_TRUE(opened.ok()) << opened.error();
  FakeWorld world;
  size_t appended = 0;
  auto append = [&] {
    while (appended < world.journal.size()) {
      size_t batch = std::min<size_t>(world.journal.size() - appended, 7);
      core::Facts facts(world.journal.begin() + static_cast<std::ptrdiff_t>(appended),
                        world.journal.begin() + static_cast<std::ptrdiff_t>(appended + batch));
      ASSERT_TRUE(opened->store->Append(facts).ok());
      appended += batch;
    }
  };
  PlayHalf(world);
  append();
  ASSERT_TRUE(opened->store->TakeSnapshot(world.state).ok());
  loop.RunFor(std::chrono::seconds(1));
  PlayRest(world);
  append();
  loop.RunFor(std::chrono::seconds(1));
  opened->store.reset();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("spare-")) fs::remove(entry.path());
  }
  fs::remove(folder / "lock");
}

TEST(Golden, StoreOfVersionOneReplaysToAKnownState) {
  fs::path folder = Golden() / "store";
  if (Writing()) WriteStore(folder);
  auto contents = ReadStore(SystemDisk(), folder);
  ASSERT_TRUE(contents.ok()) << contents.error();
  EXPECT_EQ(contents->replay.torn, "");
  EXPECT_GT(contents->replay.snapshot, 0U);
  EXPECT_GT(contents->replay.records, 0U);
  EXPECT_EQ(contents->state.CheckInvariants(), "");
  std::string words = InWords(contents->state);
  if (Writing()) WriteText(Golden() / "state.txt", words);
  EXPECT_EQ(words, ReadText(Golden() / "state.txt"));
}

TEST(Golden, StoreOfVersionOneCanBeOwnedAndGoesOn) {
  test::TempDir dir;
  fs::copy(Golden() / "store", dir.path() / "s");
  StepLoop loop;
  Random random(1);
  LoopBackground syncing(loop, random, Duration{100});
  LoopBackground writing(loop, random, Duration{100});
  auto opened = Store::Open({SystemDisk(), loop, syncing, writing, random}, dir / "s", {KiB(64)});
  ASSERT_TRUE(opened.ok()) << opened.error();
  EXPECT_GT(opened->store->epoch(), opened->state.epoch());
  EXPECT_TRUE(
      opened->store->Append({core::ControllerStarted{opened->store->epoch(), {1}, "boot"}}).ok());
}

}  // namespace
}  // namespace muster::store
