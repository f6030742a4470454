#include "backends/registry/registry.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Registry, FindsEachKindByItsOwnName) {
  for (const BackendKind* kind : BackendKinds()) {
    EXPECT_EQ(FindBackendKind(kind->Describe().kind), kind);
  }
  EXPECT_NE(FindBackendKind("local"), nullptr);
  EXPECT_EQ(FindBackendKind("paper"), nullptr);
}

TEST(Registry, SuggestsTheKindThatIsMeant) {
  EXPECT_EQ(UnknownKind("lokal").message,
            "no kind of cluster \"lokal\"; did you mean \"local\"? (there are: local)");
}

TEST(Registry, TableHasARowForEachKind) {
  EXPECT_NE(RenderCapabilityTable().find("| local | processes of this machine |"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
