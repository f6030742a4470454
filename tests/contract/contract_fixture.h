// What the tests of the contract share: asking again as control does, waiting, reading pages and
// logs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/backend_world.h"

namespace muster::test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): literals only

using Labels = std::vector<std::pair<std::string, std::string>>;

inline const StoreIdentity kOwner{"0f8e2d4c-1111-4222-8333-444455556666", 3};
inline const StoreIdentity kStranger{"99990000-aaaa-4bbb-8ccc-ddddeeeeffff", 1};
// How often something is asked again before a test gives up.
inline constexpr int kPatience = 4000;

class BackendContract : public ::testing::TestWithParam<WorldMaker> {
 protected:
  CallContext Call(Duration limit = 20s) const { return {world_->clock().Read().boot + limit, {}}; }
  static LaunchSpec Spec(uint64_t number, Labels labels = {{"behave", "wait"}},
                         const StoreIdentity& owner = kOwner) {
    LaunchSpec spec;
    spec.id = {number};
    spec.executor = {number};
    spec.owner = owner;
    spec.size.memory = MiB(64);
    spec.labels = std::move(labels);
    return spec;
  }
  bool Within(const std::function<bool()>& condition) {
    for (int i = 0; i < kPatience; ++i) {
      if (condition()) return true;
      world_->Tick();
    }
    return false;
  }
  // Lets everything that was ever sent take effect.
  void Settle(Backend& backend) {
    const BootTime end = world_->clock().Read().boot + backend.Describe().settle + 20ms;
    while (world_->clock().Read().boot <= end) world_->Tick();
  }

  // Repeats what is not accepted yet, as control does.
  bool SubmitSurely(Backend& backend, std::vector<LaunchSpec> specs) {
    return Within([&] {
      auto answers = backend.Submit(specs, Call());
      EXPECT_EQ(answers.size(), specs.size());
      std::erase_if(specs, [&](const LaunchSpec& spec) {
        auto is_accepted = [&](const SubmitAnswer& answer) {
          return answer.id == spec.id && answer.kind == SubmitAnswer::Kind::kAccepted;
        };
        return std::any_of(answers.begin(), answers.end(), is_accepted);
      });
      return specs.empty();
    });
  }
  bool SubmitSurely(Backend& backend, const LaunchSpec& spec) {
    return SubmitSurely(backend, std::vector<LaunchSpec>{spec});
  }
  bool StopSurely(Backend& backend, LaunchId launch, Duration grace = 10s) {
    return Within([&] { return backend.Stop({&launch, 1}, grace, Call()).front().ok(); });
  }
  bool ForgetSurely(Backend& backend, LaunchId launch) {
    return Within([&] { return backend.Forget({&launch, 1}, Call()).front().ok(); });
  }
  LaunchObservation Observe(Backend& backend, LaunchId launch) {
    LaunchObservation seen;
    EXPECT_TRUE(Within([&] {
      auto observations = backend.Observe({&launch, 1}, Call());
      if (!observations.ok()) return false;
      EXPECT_EQ(observations->size(), 1U);
      seen = observations->front();
      return true;
    }));
    EXPECT_EQ(seen.id, launch);
    return seen;
  }
  bool Becomes(Backend& backend, LaunchId launch, LaunchPhase phase) {
    return Within([&] { return Observe(backend, launch).phase == phase; });
  }
  FindAnswer::Kind FindOnce(Backend& backend, LaunchId launch, BootTime last_call) {
    FindRequest request{launch, last_call};
    auto answers = backend.Find({&request, 1}, Call());
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.front().id, launch);
    return answers.front().kind;
  }
  // Asks until it is told.
  FindAnswer::Kind FindSurely(Backend& backend, LaunchId launch) {
    const BootTime last_call = world_->clock().Read().boot;
    auto kind = FindAnswer::Kind::kCannotTell;
    EXPECT_TRUE(Within([&] {
      kind = FindOnce(backend, launch, last_call);
      return kind != FindAnswer::Kind::kCannotTell;
    }));
    return kind;
  }
  LaunchPage ListPage(Backend& backend, const std::string& from, size_t limit) {
    LaunchPage page;
    EXPECT_TRUE(Within([&] {
      auto listed = backend.ListOurs(from, limit, Call());
      if (listed.ok()) page = *std::move(listed);
      return listed.ok();
    }));
    return page;
  }
  std::vector<ListedLaunch> ListAll(Backend& backend, size_t limit) {
    std::vector<ListedLaunch> all;
    std::string from;
    do {
      LaunchPage page = ListPage(backend, from, limit);
      EXPECT_LE(page.ours.size(), limit);
      all.insert(all.end(), page.ours.begin(), page.ours.end());
      from = page.next;
    } while (!from.empty());
    return all;
  }
  std::string ReadLog(LogReader& reader, LogChunk::Kind until, size_t part = 4096) {
    std::string text;
    EXPECT_TRUE(Within([&] {
      auto chunk = reader.Read(part, Call());
      if (!chunk.ok()) return false;
      EXPECT_LE(chunk->bytes.size(), part);
      EXPECT_EQ(chunk->kind == LogChunk::Kind::kBytes, !chunk->bytes.empty());
      text += chunk->bytes;
      return chunk->kind == until;
    })) << "read so far: "
        << text;
    return text;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<Backend> backend_ = world_->NewBackend(kOwner);
};

}  // namespace muster::test
