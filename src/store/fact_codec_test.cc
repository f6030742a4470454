#include "store/fact_codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "store/testing/random_facts.h"

namespace muster::store {
namespace {

std::string Encode(const core::Facts& facts) {
  std::string bytes;
  FactEncoder encoder(bytes);
  for (const core::Fact& fact : facts) encoder.Add(fact);
  return bytes;
}

Result<core::Facts> Decode(std::string_view bytes) {
  core::Facts facts;
  RETURN_IF_ERROR(DecodeFacts(bytes, [&facts](core::Fact&& fact) {
    facts.push_back(std::move(fact));
    return Status::Ok();
  }));
  return facts;
}

// -- how many members a struct has, so that one without a number is noticed

struct Anything {
  template <typename T>
  operator T() const;  // NOLINT: converts to whatever a member is
};
template <typename T, typename... Members>
constexpr size_t MembersOf() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return MembersOf<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}
template <typename T>
constexpr size_t kMembers = MembersOf<T>();

// Numbers that VisitFields gives, parts counted with theirs.
template <typename T>
size_t FieldsOf() {
  T fact{};
  std::set<uint32_t> numbers;
  uint32_t last = 0;
  VisitFields(fact, [&](uint32_t number, auto&) {
    EXPECT_GT(number, last) << "numbers must ascend";
    last = number;
    EXPECT_LT(number, 128U) << "one byte each";
    numbers.insert(number);
  });
  return numbers.size();
}

template <typename T>
void ExpectFields(size_t members_beyond_one_each) {
  EXPECT_EQ(FieldsOf<T>(), kMembers<T> + members_beyond_one_each)
      << "a field of fact kind " << kFactKind<T> << " has no number in store/fact_fields.h";
}

TEST(FactCodec, GivesEachFieldOfEachFactANumber) {
  // Parts: their members beyond the one that they are in the fact.
  constexpr size_t kRange = kMembers<core::TaskRange> - 1;
  constexpr size_t kTask = kMembers<TaskId> - 1;
  constexpr size_t kAttempt = kMembers<AttemptId> - 1 + kTask;
  constexpr size_t kReason = kMembers<EndReason> - 1;
  constexpr size_t kExit = kMembers<ExitFacts> - 1;
  constexpr size_t kSize = kMembers<Resources> - 1;
  static_assert(kMembers<core::JobEnded> == 2 && kMembers<ExitFacts> == 12);
  ExpectFields<core::ControllerStarted>(0);
  ExpectFields<core::ControllerStopped>(0);
  ExpectFields<core::JobAccepted>(0);
  ExpectFields<core::JobCancelRequested>(0);
  ExpectFields<core::JobEnded>(0);
  ExpectFields<core::JobArchived>(0);
  ExpectFields<core::AttemptsPlanned>(kRange);
  ExpectFields<core::AttemptStarted>(kAttempt);
  ExpectFields<core::AttemptRecalled>(kAttempt);
  ExpectFields<core::AttemptDropped>(kAttempt);
  ExpectFields<core::AttemptStopping>(kAttempt);
  ExpectFields<core::AttemptEnded>(kAttempt + kReason + kExit);
  ExpectFields<core::RetryPlanned>(kTask);
  ExpectFields<core::RetryDue>(kTask);
  ExpectFields<core::TasksEnded>(kRange + kReason);
  ExpectFields<core::LaunchPlanned>(kSize);
  ExpectFields<core::LaunchSent>(0);
  ExpectFields<core::LaunchObserved>(0);
  ExpectFields<core::LaunchStopping>(0);
  ExpectFields<core::LaunchEnded>(kReason);
  ExpectFields<core::ExecutorRegistered>(kSize);
  ExpectFields<core::ExecutorDraining>(0);
  ExpectFields<core::ExecutorGone>(0);
  static_assert(std::variant_size_v<core::Fact> == 23,
                "a new fact: give it a kind in store/fact_fields.h and a line above");
}

TEST(FactCodec, BringsEveryFieldOfEveryFactBack) {
  Random random(7);
  RandomFacts make(random);
  for (int round = 0; round < 200; ++round) {
    core::Facts facts;
    for (size_t kind = 0; kind < std::variant_size_v<core::Fact>; ++kind)
      facts.push_back(make.Make(kind));
    auto decoded = Decode(Encode(facts));
    ASSERT_TRUE(decoded.ok()) << decoded.error();
    ASSERT_EQ(decoded->size(), facts.size());
    for (size_t i = 0; i < facts.size(); ++i) {
      EXPECT_TRUE((*decoded)[i] == facts[i]) << "round " << round << " fact " << i;
    }
  }
}

TEST(FactCodec, BringsDefaultsBack) {
  core::Facts facts{core::AttemptsPlanned{}, core::AttemptEnded{}, core::ExecutorRegistered{},
                    core::LaunchPlanned{}, core::TasksEnded{}};
  auto decoded = Decode(Encode(facts));
  ASSERT_TRUE(decoded.ok()) << decoded.error();
  EXPECT_TRUE(*decoded == facts);
}

TEST(FactCodec, KeepsHotFactsSmall) {
  WallTime now{1'700'000'000'000'000};
  auto size = [](const core::Fact& fact) {
    core::Facts two{core::ControllerStopped{{1'700'000'000'000'000}}, fact};
    return Encode(two).size() - Encode({two[0]}).size();
  };
  EXPECT_LE(size(core::AttemptsPlanned{{12}, {{7}, 500'000, 64}, 1, 1, false, now}), 18U);
  EXPECT_LE(size(core::AttemptStarted{{{{7}, 500'000}, 1}, 123'456, now + Duration{900}}), 18U);
  core::AttemptEnded ended{{{{7}, 500'000}, 1}, 1, {12}, {EndKind::kOk}, {}, true,
                           now + Duration{5000}};
  ended.facts.started = now + Duration{900};
  ended.facts.wall = Duration{4000};
  ended.facts.user_cpu = Duration{1000};
  ended.facts.system_cpu = Duration{800};
  ended.facts.max_rss = MiB(4);
  EXPECT_LE(size(ended), 45U);
  EXPECT_LE(size(core::TasksEnded{{{7}, 500'000, 1}, {EndKind::kOk}, now + Duration{5000}}), 14U);
}

TEST(FactCodec, SaysThatANewerVersionWroteAKindItDoesNotKnow) {
  std::string bytes;
  bytes += static_cast<char>(kLastFactKind + 1);
  bytes += '\0';
  auto decoded = Decode(bytes);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnimplemented);
  EXPECT_NE(decoded.error().message.find("a newer one wrote it"), std::string::npos);
  EXPECT_NE(decoded.error().message.find("format version 1"), std::string::npos);
}

TEST(FactCodec, SaysThatANewerVersionWroteAFieldOrValueItDoesNotKnow) {
  std::string field{static_cast<char>(kFactKind<core::JobArchived>), 1, 5, 9, 1, 0};
  EXPECT_EQ(Decode(field).error().code, ErrorCode::kUnimplemented);
  std::string value{static_cast<char>(kFactKind<core::LaunchObserved>), 1, 5, 2, 17, 0};
  EXPECT_EQ(Decode(value).error().code, ErrorCode::kUnimplemented);
}

TEST(FactCodec, NeverCrashesOnCutOrChangedBytes) {
  Random random(11);
  RandomFacts make(random);
  uint64_t refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = Encode({make.Make(), make.Make(), make.Make()});
    std::string cut = bytes.substr(0, random.Below(bytes.size()));
    if (!Decode(cut).ok()) ++refused;
    for (int i = 0; i < 30; ++i) {
      std::string changed = bytes;
      for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
        changed[random.Below(changed.size())] = static_cast<char>(random.Next());
      }
      if (!Decode(changed).ok()) ++refused;
    }
    std::string noise(random.Below(200), '\0');
    for (char& c : noise) c = static_cast<char>(random.Next());
    if (!Decode(noise).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000U);
}

TEST(FactCodec, StopsAtTheFirstErrorOfTheVisitor) {
  std::string bytes = Encode({core::JobArchived{{1}}, core::JobArchived{{2}}});
  int seen = 0;
  Status status = DecodeFacts(bytes, [&seen](core::Fact&&) -> Status {
    ++seen;
    return InternalError("enough");
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace muster::store
