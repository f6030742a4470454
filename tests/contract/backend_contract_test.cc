// What every backend promises (backend/backend.h), in every world there is: real processes,
// threads, a cluster in memory, each calm and with faults. A new kind is done when it passes here
// against its fake and, with the same file, against the real cluster.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "backends/registry/registry.h"
#include "contract/contract_fixture.h"
#include "fakes/faulty_backend.h"

namespace muster::test {
namespace {

// ---------------------------------------------------------------------------- submit and find

TEST_P(BackendContract, SubmittedLaunchStartsAndIsFound) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  EXPECT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  EXPECT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) == 1; }));
  EXPECT_EQ(FindSurely(*backend_, {1}), FindAnswer::Kind::kThere);
  LaunchObservation seen = Observe(*backend_, {1});
  EXPECT_TRUE(seen.confirmed);
  EXPECT_FALSE(seen.external_id.empty());
}

TEST_P(BackendContract, SubmittedTwiceStartsOnce) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  Settle(*backend_);
  EXPECT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) > 0; }));
  EXPECT_EQ(world_->StartsOf(kOwner, {1}), 1U);
  EXPECT_EQ(ListAll(*backend_, 100).size(), 1U);
}

TEST_P(BackendContract, SubmittedAgainInALaterEpochIsTheSameLaunch) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  StoreIdentity later = kOwner;
  later.epoch += 1;
  auto restarted = world_->NewBackend(later);
  ASSERT_TRUE(SubmitSurely(*restarted, Spec(1, {{"behave", "wait"}}, later)));
  Settle(*restarted);
  EXPECT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) > 0; }));
  EXPECT_EQ(world_->StartsOf(kOwner, {1}), 1U);
}

TEST_P(BackendContract, LostAnswerIsUnknownAndARepeatIsHarmless) {
  FaultyBackend lossy(world_->NewBackend(kOwner),
                      OnceAt(BackendMethod::kSubmit, CallFault::kAnswerLost));
  LaunchSpec spec = Spec(1);
  SubmitAnswer first = lossy.Submit({&spec, 1}, Call()).front();
  EXPECT_EQ(first.kind, SubmitAnswer::Kind::kUnknown);
  EXPECT_EQ(first.error->code, ErrorCode::kOutcomeUnknown);
  ASSERT_TRUE(SubmitSurely(lossy, spec));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  Settle(*backend_);
  EXPECT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) > 0; }));
  EXPECT_EQ(world_->StartsOf(kOwner, {1}), 1U);
}

TEST_P(BackendContract, RepeatAfterTheEndDoesNotStartItAgain) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "0"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "0"}})));
  Settle(*backend_);
  EXPECT_EQ(world_->StartsOf(kOwner, {1}), 1U);
  EXPECT_EQ(Observe(*backend_, {1}).phase, LaunchPhase::kEnded);
}

TEST_P(BackendContract, WhatWasNeverSubmittedIsAbsentForCertain) {
  EXPECT_EQ(FindSurely(*backend_, {77}), FindAnswer::Kind::kAbsent);
  EXPECT_EQ(Observe(*backend_, {77}).phase, LaunchPhase::kAbsent);
}

// The heart of it: whatever became of the Submits, a launch that was called absent never starts.
TEST_P(BackendContract, AbsentIsNeverSaidWhileALateEffectIsPossible) {
  for (uint64_t number = 1; number <= 30; ++number) {
    LaunchSpec spec = Spec(number, {{"behave", "exit"}, {"code", "0"}});
    (void)backend_->Submit({&spec, 1}, Call());
    const BootTime last_call = world_->clock().Read().boot;
    auto kind = FindAnswer::Kind::kCannotTell;
    ASSERT_TRUE(Within([&] {
      kind = FindOnce(*backend_, {number}, last_call);
      return kind != FindAnswer::Kind::kCannotTell;
    }));
    if (kind == FindAnswer::Kind::kAbsent) {
      EXPECT_EQ(world_->StartsOf(kOwner, {number}), 0U);
      Settle(*backend_);
      Settle(*backend_);
      EXPECT_EQ(world_->StartsOf(kOwner, {number}), 0U) << "called absent, then it started";
    } else {
      EXPECT_TRUE(Within([&] { return world_->StartsOf(kOwner, {number}) == 1; }));
    }
  }
}

TEST_P(BackendContract, HundredLaunchesInOneCallAreAnsweredInOrder) {
  std::vector<LaunchSpec> specs;
  for (uint64_t number = 1; number <= 100; ++number) {
    specs.push_back(Spec(number, {{"behave", "exit"}, {"code", "7"}}));
  }
  auto answers = backend_->Submit(specs, Call(60s));
  ASSERT_EQ(answers.size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) EXPECT_EQ(answers[i].id, specs[i].id);
  ASSERT_TRUE(SubmitSurely(*backend_, specs));
  std::vector<LaunchId> ids;
  for (const LaunchSpec& spec : specs) ids.push_back(spec.id);
  EXPECT_TRUE(Within([&] {
    auto seen = backend_->Observe(ids, Call());
    if (!seen.ok()) return false;
    EXPECT_EQ(seen->size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ((*seen)[i].id, ids[i]);
      if ((*seen)[i].phase != LaunchPhase::kEnded) return false;
      EXPECT_EQ((*seen)[i].exit_code, 7);
    }
    return true;
  }));
  for (LaunchId id : ids) EXPECT_EQ(world_->StartsOf(kOwner, id), 1U) << id;
}

TEST_P(BackendContract, OddAndLongNamesChangeNothing) {
  const std::string long_name(300, 'n');
  Labels labels{{"behave", "exit"},
                {"code", "0"},
                {long_name, long_name},
                {"a/b\\c '\"$(reboot) ; 🦀", "line\nend=%0A"},
                {"user-name", std::string(200, 'x') + "1"},
                {"text", "printed"}};
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(UINT64_MAX / 2, labels)));
  EXPECT_TRUE(Becomes(*backend_, {UINT64_MAX / 2}, LaunchPhase::kEnded));
  EXPECT_EQ(Observe(*backend_, {UINT64_MAX / 2}).exit_code, 0);
}

// ---------------------------------------------------------------------------- observe and watch

TEST_P(BackendContract, EndsAreReportedWithCodeOrSignal) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "0"}})));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(2, {{"behave", "exit"}, {"code", "41"}})));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(3, {{"behave", "signal"}, {"signal", "9"}})));
  for (uint64_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(Becomes(*backend_, {number}, LaunchPhase::kEnded));
    EXPECT_TRUE(Observe(*backend_, {number}).confirmed);
  }
  EXPECT_EQ(Observe(*backend_, {1}).exit_code, 0);
  EXPECT_EQ(Observe(*backend_, {2}).exit_code, 41);
  EXPECT_FALSE(Observe(*backend_, {2}).exit_signal);
  EXPECT_EQ(Observe(*backend_, {3}).exit_signal, SIGKILL);
  EXPECT_FALSE(Observe(*backend_, {3}).exit_code);
}

TEST_P(BackendContract, AnEndStaysAnEnd) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "5"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  for (int look = 0; look < 20; ++look) {
    EXPECT_EQ(Observe(*backend_, {1}).phase, LaunchPhase::kEnded);
    EXPECT_EQ(Observe(*backend_, {1}).exit_code, 5);
    world_->Tick();
  }
}

TEST_P(BackendContract, WatchTellsOfEveryEndOrAsksForAResync) {
  struct Heard {
    std::mutex mutex;
    std::set<uint64_t> ended;
    bool resync = false;
  };
  auto heard = std::make_shared<Heard>();
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  std::unique_ptr<LaunchWatch> watch;
  ASSERT_TRUE(Within([&] {
    auto made = backend_->Watch([heard](const WatchEvent& event) {
      std::lock_guard lock(heard->mutex);
      if (const auto* seen = std::get_if<LaunchObservation>(&event)) {
        if (seen->phase == LaunchPhase::kEnded && seen->confirmed)
          heard->ended.insert(seen->id.number);
      } else {
        heard->resync = true;
      }
    });
    if (!made.ok() && made.error().code == ErrorCode::kUnimplemented) return true;
    if (made.ok()) watch = *std::move(made);
    return made.ok();
  }));
  EXPECT_EQ(watch != nullptr, backend_->Describe().streams);
  if (watch == nullptr) return;
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(2, {{"behave", "exit"}, {"code", "1"}})));
  ASSERT_TRUE(StopSurely(*backend_, {1}, 10s));
  for (uint64_t number : {1, 2}) {
    EXPECT_TRUE(Within([&] {
      {
        std::lock_guard lock(heard->mutex);
        if (heard->ended.contains(number)) return true;
        if (!heard->resync) return false;
      }
      return Observe(*backend_, {number}).phase == LaunchPhase::kEnded;
    }));
  }
}

TEST_P(BackendContract, AWatchThatWasEndedIsSilent) {
  auto events = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<LaunchWatch> watch;
  Within([&] {
    auto made = backend_->Watch([events](const WatchEvent&) { ++*events; });
    if (made.ok()) watch = *std::move(made);
    return made.ok() || made.error().code == ErrorCode::kUnimplemented;
  });
  if (watch == nullptr) GTEST_SKIP() << "this kind has no stream";
  watch.reset();
  const int before = *events;
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "0"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  EXPECT_EQ(*events, before);
}

// ---------------------------------------------------------------------------- stop and forget

TEST_P(BackendContract, StopEndsItPolitely) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  ASSERT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) == 1; }));
  ASSERT_TRUE(StopSurely(*backend_, {1}));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  EXPECT_EQ(Observe(*backend_, {1}).exit_code, 0);
}

TEST_P(BackendContract, StopEndsByForceWhatDoesNotListen) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "stubborn"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  ASSERT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) == 1; }));
  ASSERT_TRUE(StopSurely(*backend_, {1}, 100ms));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  EXPECT_EQ(Observe(*backend_, {1}).exit_signal, SIGKILL);
}

TEST_P(BackendContract, StopIsIdempotentAndGoneAlreadyIsSuccess) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  EXPECT_TRUE(StopSurely(*backend_, {1}));
  EXPECT_TRUE(StopSurely(*backend_, {1}));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  EXPECT_TRUE(StopSurely(*backend_, {1}));
  Settle(*backend_);
  ASSERT_TRUE(ForgetSurely(*backend_, {1}));
  EXPECT_TRUE(StopSurely(*backend_, {1}));
  EXPECT_TRUE(StopSurely(*backend_, {4711})) << "never there";
}

TEST_P(BackendContract, RepeatedStopWithLessGraceHurries) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "stubborn"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  ASSERT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) == 1; }));
  ASSERT_TRUE(StopSurely(*backend_, {1}, 10h));
  ASSERT_TRUE(StopSurely(*backend_, {1}, 200ms));
  ASSERT_TRUE(StopSurely(*backend_, {1}, 10h));
  EXPECT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
}

TEST_P(BackendContract, ForgetFreesAndIsIdempotent) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "exit"}, {"code", "0"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  Settle(*backend_);
  ASSERT_TRUE(ForgetSurely(*backend_, {1}));
  EXPECT_TRUE(ForgetSurely(*backend_, {1}));
  Settle(*backend_);
  EXPECT_EQ(FindSurely(*backend_, {1}), FindAnswer::Kind::kAbsent);
  EXPECT_TRUE(ListAll(*backend_, 10).empty());
}

TEST_P(BackendContract, ForgetIsSafeWithoutASubmit) {
  EXPECT_TRUE(ForgetSurely(*backend_, {4711}));
  EXPECT_EQ(FindSurely(*backend_, {4711}), FindAnswer::Kind::kAbsent);
}

TEST_P(BackendContract, ForgetDoesNotTouchWhatRuns) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  LaunchId id{1};
  EXPECT_TRUE(Within([&] {
    Status status = backend_->Forget({&id, 1}, Call()).front();
    EXPECT_FALSE(status.ok());
    return !status.ok() && status.error().code == ErrorCode::kFailedPrecondition;
  }));
  EXPECT_EQ(Observe(*backend_, {1}).phase, LaunchPhase::kRunning);
}

TEST_P(BackendContract, OneBadIdDoesNotSpoilTheOthers) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  std::vector<LaunchId> ids{{999}, {1}, {998}};
  ASSERT_TRUE(Within([&] {
    auto statuses = backend_->Stop(ids, 10s, Call());
    EXPECT_EQ(statuses.size(), ids.size());
    return std::all_of(statuses.begin(), statuses.end(), [](const Status& s) { return s.ok(); });
  }));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
}

// ---------------------------------------------------------------------------- lists and restarts

TEST_P(BackendContract, PagesHoldEachLaunchExactlyOnceByRisingId) {
  std::vector<LaunchSpec> specs;
  for (uint64_t number : {9, 10, 11, 100, 2, 1, 20, 3}) {
    specs.push_back(Spec(number, {{"behave", "exit"}, {"code", "0"}}));
  }
  ASSERT_TRUE(SubmitSurely(*backend_, specs));
  for (const LaunchSpec& spec : specs) {
    ASSERT_TRUE(Becomes(*backend_, spec.id, LaunchPhase::kEnded));
  }
  for (size_t limit : {1, 3, 8, 100}) {
    std::vector<uint64_t> numbers;
    for (const ListedLaunch& listed : ListAll(*backend_, limit)) {
      numbers.push_back(listed.id.number);
      EXPECT_EQ(listed.owner.store_id, kOwner.store_id);
      EXPECT_EQ(listed.owner.epoch, kOwner.epoch);
      EXPECT_FALSE(listed.external_id.empty());
    }
    EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 2, 3, 9, 10, 11, 20, 100})) << limit;
  }
}

TEST_P(BackendContract, ForeignLaunchesAreNeitherOursNorTouched) {
  auto stranger = world_->NewBackend(kStranger);
  ASSERT_TRUE(SubmitSurely(*stranger, Spec(1, {{"behave", "wait"}}, kStranger)));
  ASSERT_TRUE(Becomes(*stranger, {1}, LaunchPhase::kRunning));
  EXPECT_TRUE(ListAll(*backend_, 10).empty());
  for (const ListedLaunch& listed : ListPage(*backend_, "", 10).foreign) {
    EXPECT_EQ(listed.owner.store_id, kStranger.store_id);
  }
  EXPECT_EQ(Observe(*backend_, {1}).phase, LaunchPhase::kAbsent);
  EXPECT_EQ(FindSurely(*backend_, {1}), FindAnswer::Kind::kAbsent);
  EXPECT_TRUE(StopSurely(*backend_, {1}, 0s));
  EXPECT_TRUE(ForgetSurely(*backend_, {1}));
  Settle(*backend_);
  EXPECT_EQ(Observe(*stranger, {1}).phase, LaunchPhase::kRunning);
}

TEST_P(BackendContract, NewInstanceKnowsWhatTheOldOneKnew) {
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1)));
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(2, {{"behave", "exit"}, {"code", "3"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  ASSERT_TRUE(Becomes(*backend_, {2}, LaunchPhase::kEnded));
  const std::string external_id = Observe(*backend_, {1}).external_id;
  backend_.reset();
  auto restarted = world_->NewBackend({kOwner.store_id, kOwner.epoch + 1});
  EXPECT_EQ(Observe(*restarted, {1}).phase, LaunchPhase::kRunning);
  EXPECT_EQ(Observe(*restarted, {1}).external_id, external_id);
  EXPECT_EQ(Observe(*restarted, {2}).exit_code, 3);
  EXPECT_EQ(ListAll(*restarted, 10).size(), 2U);
  ASSERT_TRUE(StopSurely(*restarted, {1}));
  EXPECT_TRUE(Becomes(*restarted, {1}, LaunchPhase::kEnded));
}

// ---------------------------------------------------------------------------- logs

TEST_P(BackendContract, LogSaysNotYetThenEndThenGone) {
  if (!backend_->Describe().keeps_logs) GTEST_SKIP() << "this kind keeps no logs";
  const std::string text = "first line\nsecond 🦀";
  ASSERT_TRUE(SubmitSurely(*backend_, Spec(1, {{"behave", "wait"}, {"text", text}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kRunning));
  auto reader = backend_->OpenLog({1}, 0);
  ASSERT_TRUE(reader.ok());
  std::string read;
  ASSERT_TRUE(Within([&] {
    read += ReadLog(**reader, LogChunk::Kind::kNotYet, 5);
    return read.size() >= text.size();
  }));
  EXPECT_EQ(read, text);
  ASSERT_TRUE(Within([&] { return world_->StartsOf(kOwner, {1}) == 1; }));
  ASSERT_TRUE(StopSurely(*backend_, {1}));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  read = ReadLog(**reader, LogChunk::Kind::kEnd);
  Settle(*backend_);
  ASSERT_TRUE(ForgetSurely(*backend_, {1}));
  auto late = backend_->OpenLog({1}, 0);
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(ReadLog(**late, LogChunk::Kind::kGone), "");
}

TEST_P(BackendContract, LogGoesOnWhereAnotherReaderStopped) {
  if (!backend_->Describe().keeps_logs) GTEST_SKIP() << "this kind keeps no logs";
  ASSERT_TRUE(SubmitSurely(*backend_,
                           Spec(1, {{"behave", "exit"}, {"code", "0"}, {"text", "0123456789"}})));
  ASSERT_TRUE(Becomes(*backend_, {1}, LaunchPhase::kEnded));
  auto reader = backend_->OpenLog({1}, 0);
  ASSERT_TRUE(reader.ok());
  LogChunk chunk;
  ASSERT_TRUE(Within([&] {
    auto read = (*reader)->Read(4, Call());
    if (read.ok()) chunk = *std::move(read);
    return read.ok();
  }));
  EXPECT_EQ(chunk.bytes, "0123");
  EXPECT_EQ(chunk.next_offset, 4U);
  auto restarted = world_->NewBackend(kOwner);
  auto second = restarted->OpenLog({1}, chunk.next_offset);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(ReadLog(**second, LogChunk::Kind::kEnd), "456789");
}

TEST_P(BackendContract, LogOfALaunchThatIsNotThereIsNoError) {
  auto reader = backend_->OpenLog({4711}, 0);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(Within([&] {
    auto chunk = (*reader)->Read(100, Call());
    if (!chunk.ok()) return false;
    EXPECT_NE(chunk->kind, LogChunk::Kind::kBytes);
    EXPECT_NE(chunk->kind, LogChunk::Kind::kEnd);
    return true;
  }));
}

// ---------------------------------------------------------------------------- pure parts and
// settings

TEST_P(BackendContract, DescribeIsPure) {
  const BackendDescription first = backend_->Describe();
  EXPECT_EQ(RenderCapabilityRow(first), RenderCapabilityRow(backend_->Describe()));
  EXPECT_EQ(RenderCapabilityRow(first),
            RenderCapabilityRow(world_->NewBackend(kStranger)->Describe()));
  EXPECT_FALSE(first.kind.empty());
  EXPECT_FALSE(first.sentence.empty());
  EXPECT_GT(first.name_length, 0U);
  EXPECT_GT(first.parallel_calls, 0U);
  EXPECT_GT(first.batch_size, 0U);
}

TEST_P(BackendContract, PlanIsDeterministicHasNoEffectAndTellsNoSecret) {
  LaunchSpec spec = Spec(1);
  spec.size.cpus = {1'000'000'000};
  auto first = backend_->Plan(spec);
  auto second = world_->NewBackend(kOwner)->Plan(spec);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->text, second->text);
  EXPECT_EQ(first->not_honoured, second->not_honoured);
  EXPECT_NE(first->text.find("l1"), std::string::npos);
  EXPECT_EQ(first->text.find("secret"), std::string::npos);
  Settle(*backend_);
  EXPECT_EQ(FindSurely(*backend_, {1}), FindAnswer::Kind::kAbsent);
  EXPECT_EQ(world_->StartsOf(kOwner, {1}), 0U);
}

TEST_P(BackendContract, ProbeHasNoEffectAndSaysWhyNotHealthy) {
  for (int look = 0; look < 10; ++look) {
    ProbeAnswer answer = backend_->Probe(Call());
    EXPECT_EQ(answer.health == ProbeAnswer::Health::kHealthy, answer.why.empty());
  }
  EXPECT_TRUE(
      Within([&] { return backend_->Probe(Call()).health == ProbeAnswer::Health::kHealthy; }));
  EXPECT_TRUE(ListAll(*backend_, 10).empty());
}

TEST_P(BackendContract, CallThatIsStoppedOrLateEndsAndClaimsNothing) {
  LaunchSpec spec = Spec(1);
  std::stop_source stopped;
  stopped.request_stop();
  const CallContext late{world_->clock().Read().boot - 1s, {}};
  for (const CallContext& call : {CallContext{Call().deadline, stopped.get_token()}, late}) {
    for (const SubmitAnswer& answer : backend_->Submit({&spec, 1}, call)) {
      if (answer.kind == SubmitAnswer::Kind::kAccepted) continue;  // it may be quick
      EXPECT_TRUE(answer.error.has_value());
    }
    FindRequest request{{1}, world_->clock().Read().boot};
    EXPECT_EQ(backend_->Find({&request, 1}, call).size(), 1U);
  }
}

TEST(BackendKindContract, CheckConfigGivesAllProblemsAtOnceAndIsPure) {
  for (const BackendKind* kind : BackendKinds()) {
    std::vector<Setting> settings{{"kind", kind->Describe().kind, 1, 1},
                                  {"pool.max", "-3", 2, 1},
                                  {"pool.idle", "60", 3, 1},
                                  {"pool.memory", "lots", 4, 1},
                                  {"pol.max", "3", 5, 1}};
    ConfigCheck check = kind->CheckConfig(settings, {});
    std::set<int> lines;
    for (const SpecProblem& problem : check.problems) lines.insert(problem.line);
    EXPECT_EQ(lines, (std::set<int>{2, 3, 4, 5})) << kind->Describe().kind;
    EXPECT_EQ(kind->CheckConfig(settings, {}).problems, check.problems);
    auto unknown = std::find_if(check.problems.begin(), check.problems.end(),
                                [](const SpecProblem& p) { return p.path == "pol.max"; });
    ASSERT_NE(unknown, check.problems.end());
    EXPECT_EQ(unknown->suggestion, "pool.max");
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendContract, ::testing::ValuesIn(AllBackendWorlds()),
                         [](const auto& world) { return world.param.name; });

}  // namespace
}  // namespace muster::test
