#include "core/lifecycle/transition_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster::core {
namespace {

std::filesystem::path PagePath() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path() /
         "docs" / "states.md";
}

TEST(States, PageIsTheTable) {
  std::string page = RenderTransitions(DefaultTransitions());
  if (std::getenv("MUSTER_WRITE_DOCS") != nullptr) {
    std::filesystem::create_directories(PagePath().parent_path());
    std::ofstream(PagePath()) << page;
  }
  std::ostringstream there;
  there << std::ifstream(PagePath()).rdbuf();
  EXPECT_EQ(there.str(), page) << "run with MUSTER_WRITE_DOCS=1 to write " << PagePath();
}

// For tools/mutate_transitions.
TEST(States, ListOfMovesIsPrinted) {
  std::string moves = ListMoves(DefaultTransitions());
  if (std::getenv("MUSTER_LIST_MOVES") != nullptr) std::printf("%s", moves.c_str());
  EXPECT_NE(moves.find("Attempt:Sent:Started"), std::string::npos);
}

TEST(States, NothingLeavesAnEnd) {
  const TransitionTable& table = DefaultTransitions();
  for (const Rule& rule : table.task[static_cast<size_t>(TaskNode::kEnded)]) {
    EXPECT_NE(rule.kind, RuleKind::kMove);
  }
  for (const Rule& rule : table.attempt[static_cast<size_t>(AttemptNode::kEnded)]) {
    if (rule.kind == RuleKind::kMove) {
      EXPECT_EQ(rule.to, static_cast<uint8_t>(AttemptNode::kEnded));
    }
  }
  for (const Rule& rule : table.launch[static_cast<size_t>(LaunchNode::kEnded)]) {
    EXPECT_NE(rule.kind, RuleKind::kMove);
  }
  for (const Rule& rule : table.executor[static_cast<size_t>(ExecutorNode::kGone)]) {
    EXPECT_NE(rule.kind, RuleKind::kMove);
  }
}

TEST(States, EveryIgnoredPairSaysWhy) {
  auto check = [](const auto& rows) {
    for (const auto& row : rows) {
      for (const Rule& rule : row) {
        if (rule.kind == RuleKind::kIgnore) {
          EXPECT_STRNE(rule.reason, "");
        }
      }
    }
  };
  check(DefaultTransitions().task);
  check(DefaultTransitions().attempt);
  check(DefaultTransitions().launch);
  check(DefaultTransitions().executor);
}

TEST(States, OverrideTurnsOneMoveIntoABug) {
  auto changed = OverrideTransition(DefaultTransitions(), "Attempt:Sent:Started");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->At(AttemptNode::kSent, AttemptEvent::kStarted).kind, RuleKind::kBug);
  EXPECT_EQ(changed->At(AttemptNode::kSent, AttemptEvent::kEnded).kind, RuleKind::kMove);
  EXPECT_FALSE(OverrideTransition(DefaultTransitions(), "Attempt:Sent:Nothing"));
}

}  // namespace
}  // namespace muster::core
