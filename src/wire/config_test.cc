#include "wire/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_dir.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  LoadedConfig Load() {
    ConfigInputs inputs;
    inputs.cwd = dir_ / "home/project/deep";
    inputs.home = dir_ / "home";
    inputs.site_file = dir_ / "etc/muster.yaml";
    inputs.variable = [this](const std::string& name) -> std::optional<std::string> {
      auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return found->second;
    };
    inputs.flags = flags_;
    inputs.user = ::getuid();
    return LoadConfig(inputs);
  }
  // All problems, one line each, with the test's folder taken out.
  std::vector<std::string> Problems() {
    std::vector<std::string> lines;
    for (const ConfigProblem& problem : Load().problems) {
      std::string line = Render(problem);
      std::string prefix = dir_.path().string() + "/";
      for (size_t at; (at = line.find(prefix)) != std::string::npos;) line.erase(at, prefix.size());
      lines.push_back(line);
    }
    return lines;
  }

  test::TempDir dir_;
  std::map<std::string, std::string> variables_;
  std::vector<std::pair<std::string, std::string>> flags_;
};

TEST_F(ConfigTest, IsOneLocalClusterWithoutAnyFile) {
  LoadedConfig loaded = Load();
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(loaded.config.default_cluster.value, "here");
  ASSERT_NE(loaded.config.Find("here"), nullptr);
  EXPECT_EQ(loaded.config.Find("here")->kind.value, "local");
  EXPECT_EQ(loaded.config.Find("here")->pool.idle.value, std::chrono::seconds(60));
  EXPECT_EQ(loaded.config.state_dir.value, dir_ / "home/.local/state/muster");
  EXPECT_EQ(loaded.config.controller.value, "");
  EXPECT_EQ(loaded.config.log_level.value, LogLevel::kInfo);
  EXPECT_EQ(loaded.config.Find("gone"), nullptr);
}

TEST_F(ConfigTest, ReadsEveryKey) {
  Write("home/project/muster.yaml", R"(
default: big
controller: /run/muster.sock
state_dir: /var/lib/muster
log_level: debug
clusters:
  big: {kind: local, cpus: 8, memory: 16Gi, max_attempts: 100,
        pool: {min: 1, max: 2, cpus: 4, memory: 8Gi, idle: 5m}}
  small: {kind: local}
)");
  LoadedConfig loaded = Load();
  ASSERT_THAT(loaded.problems, IsEmpty());
  const ClusterEntry& big = *loaded.config.Find("big");
  EXPECT_EQ(big.cpus.value, MilliCpu{8000});
  EXPECT_EQ(big.memory.value, GiB(16));
  EXPECT_EQ(big.max_attempts.value, 100U);
  EXPECT_EQ(big.pool.min.value, 1U);
  EXPECT_EQ(big.pool.max.value, 2U);
  EXPECT_EQ(big.pool.cpus.value, MilliCpu{4000});
  EXPECT_EQ(big.pool.memory.value, GiB(8));
  EXPECT_EQ(big.pool.idle.value, std::chrono::minutes(5));
  EXPECT_THAT(loaded.config.ClusterNames(), ElementsAre("big", "small"));
  EXPECT_EQ(loaded.config.log_level.value, LogLevel::kDebug);
  EXPECT_EQ(loaded.config.Find("small")->cpus.value, std::nullopt);
}

TEST_F(ConfigTest, MergesValueByValueAndKeepsTheSourceOfEach) {
  Write("etc/muster.yaml",
        "clusters:\n  here:\n    kind: local\n    cpus: 1\n    memory: 1Gi\n"
        "    max_attempts: 1\n    pool: {max: 1}\n");
  Write("home/.config/muster/muster.yaml", "clusters: {here: {memory: 2Gi, max_attempts: 2}}\n");
  Write("home/project/muster.yaml", "clusters: {here: {max_attempts: 3}}\n");
  variables_["MUSTER_CLUSTERS_HERE_POOL_MAX"] = "5";
  variables_["MUSTER_CONTROLLER"] = "/from/variable";
  variables_["MUSTER_LOG_LEVEL"] = "";
  variables_["MUSTER_TASK"] = "j1.1";
  flags_ = {{"controller", "unix:/from/flag"}};
  LoadedConfig loaded = Load();
  ASSERT_THAT(Problems(), IsEmpty());
  const ClusterEntry& here = *loaded.config.Find("here");
  EXPECT_EQ(here.cpus.source, (ConfigSource{ConfigOrigin::kSiteFile, dir_ / "etc/muster.yaml:4"}));
  EXPECT_EQ(here.memory.value, GiB(2));
  EXPECT_EQ(here.memory.source.origin, ConfigOrigin::kUserFile);
  EXPECT_EQ(here.max_attempts.value, 3U);
  EXPECT_EQ(here.max_attempts.source,
            (ConfigSource{ConfigOrigin::kProjectFile, dir_ / "home/project/muster.yaml:1"}));
  EXPECT_EQ(here.pool.max.value, 5U);
  EXPECT_EQ(here.pool.max.source,
            (ConfigSource{ConfigOrigin::kVariable, "MUSTER_CLUSTERS_HERE_POOL_MAX"}));
  EXPECT_EQ(loaded.config.controller.value, "unix:/from/flag");
  EXPECT_EQ(loaded.config.controller.source, (ConfigSource{ConfigOrigin::kFlag, "--controller"}));
  EXPECT_EQ(loaded.config.log_level.source.origin, ConfigOrigin::kBuiltIn);
  EXPECT_EQ(loaded.files.size(), 3U);
  std::vector<std::string> shown;
  for (const ConfigEntry& entry : loaded.entries) {
    shown.push_back(fmt::format("{}={} {}", entry.key, entry.value, ToString(entry.source.origin)));
  }
  EXPECT_THAT(shown, ::testing::Contains("clusters.here.memory=2Gi user file"));
  EXPECT_THAT(shown, ::testing::Contains("default=here built in"));
}

TEST_F(ConfigTest, LooksForTheProjectFileUpToTheHome) {
  Write("muster.yaml", "log_level: error\n");
  EXPECT_EQ(Load().config.log_level.value, LogLevel::kInfo);
  Write("home/muster.yaml", "log_level: warning\n");
  EXPECT_EQ(Load().config.log_level.value, LogLevel::kWarning);
  Write("home/project/deep/muster.yaml", "log_level: off\n");
  EXPECT_EQ(Load().config.log_level.value, LogLevel::kOff);
}

TEST_F(ConfigTest, TakesTheFoldersOfTheXdgVariables) {
  Write("xdg/muster/muster.yaml", "log_level: error\n");
  variables_["XDG_CONFIG_HOME"] = dir_ / "xdg";
  variables_["XDG_STATE_HOME"] = "/state";
  LoadedConfig loaded = Load();
  EXPECT_EQ(loaded.config.log_level.value, LogLevel::kError);
  EXPECT_EQ(loaded.config.state_dir.value, "/state/muster");
}

TEST_F(ConfigTest, NamesEveryMistakeWithItsPlaceAndASuggestion) {
  Write("home/project/muster.yaml", R"(defalt: here
log_level: inf
clusters:
  here:
    kind: local
    cpu: 4
    memory: 8GB
    pool: {mx: 3, min: 4, max: 2, idle: 60}
)");
  EXPECT_THAT(
      Problems(),
      ElementsAre(
          "home/project/muster.yaml:1:1: defalt: unknown key; did you mean 'default'?",
          "home/project/muster.yaml:6:5: clusters.here.cpu: unknown key; did you mean 'cpus'?",
          "home/project/muster.yaml:8:12: clusters.here.pool.mx: unknown key; did you mean 'max'?",
          AllOf(HasSubstr("muster.yaml:7:13: clusters.here.memory: '8GB' is not a size"),
                HasSubstr("did you mean 8G?")),
          AllOf(HasSubstr("muster.yaml:8:41: clusters.here.pool.idle: '60' is not a time"),
                HasSubstr("did you mean 60s?")),
          HasSubstr("muster.yaml:8:32: clusters.here.pool.max: max 2 is below min 4"),
          HasSubstr("muster.yaml:2:12: log_level: 'inf' is no log level; did you mean 'info'?")));
}

TEST_F(ConfigTest, RefusesKindsOfLaterVersionsWithThatWord) {
  Write("home/project/muster.yaml",
        "default: here\nclusters:\n  here: {kind: local}\n"
        "  k8s: {kind: kubernetes, namespace: batch, image: x, pool: {max: 100}}\n"
        "  odd: {kind: locl}\n");
  EXPECT_THAT(Problems(),
              ElementsAre("home/project/muster.yaml:4:15: clusters.k8s.kind: clusters of kind "
                          "kubernetes are not in this version; write kind: local, or take the "
                          "cluster out",
                          "home/project/muster.yaml:5:15: clusters.odd.kind: 'locl' is no kind of "
                          "cluster; did you mean 'local'?"));
}

TEST_F(ConfigTest, WantsADefaultThatIsThere) {
  Write("home/project/muster.yaml", "clusters: {a: {kind: local}, b: {kind: local}}\n");
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("default: several clusters are configured")));
  Write("home/project/muster.yaml", "default: alpha\nclusters: {alph: {kind: local}}\n");
  EXPECT_THAT(Problems(),
              ElementsAre("home/project/muster.yaml:1:10: default: no cluster is called "
                          "'alpha'; did you mean 'alph'?"));
  Write("home/project/muster.yaml", "clusters: {a: {cpus: 1}}\n");
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("clusters.a.kind: the cluster has no kind")));
}

TEST_F(ConfigTest, NamesTheVariableOrFlagThatIsWrong) {
  variables_["MUSTER_CLUSTERS_HERE_CPUS"] = "many";
  flags_ = {{"controler", "x"}, {"state_dir", "relative"}, {"controller", "host:1"}};
  EXPECT_THAT(Problems(),
              ElementsAre("--controler: controler: unknown key; did you mean 'controller'?",
                          HasSubstr("MUSTER_CLUSTERS_HERE_CPUS: clusters.here.cpus: 'many' is not"),
                          HasSubstr("--controller: controller: 'host:1' is no address"),
                          HasSubstr("--state_dir: state_dir: 'relative' is not absolute")));
}

TEST_F(ConfigTest, SurvivesFilesOfAnyShape) {
  for (std::string_view text : {"", "# nothing\n", "clusters:\n", "default:\n"}) {
    Write("home/project/muster.yaml", text);
    EXPECT_THAT(Problems(), IsEmpty()) << text;
  }
  for (std::string_view text :
       {"[]", "x", "clusters: []", "clusters: {a: 1}", "clusters: {a: {kind: local, pool: 3}}",
        "clusters: {a.b: {kind: local}}", "default: [a]", "\xff", "a: [[[[", "a: 1\na: 2\n"}) {
    Write("home/project/muster.yaml", text);
    EXPECT_THAT(Problems(), ::testing::Not(IsEmpty())) << text;
  }
  std::filesystem::remove(dir_ / "home/project/muster.yaml");
  std::filesystem::create_directories(dir_ / "home/project/muster.yaml");
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("home/project/muster.yaml: cannot be read: ")));
}

TEST_F(ConfigTest, DoesNotFollowAFileThatSomebodyElsePutIntoAnOpenFolder) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  Write("home/project/muster.yaml", "log_level: off\n");
  ASSERT_EQ(::chown((dir_ / "home/project/muster.yaml").c_str(), 4321, 4321), 0);
  EXPECT_EQ(Load().config.log_level.value, LogLevel::kOff);
  ASSERT_EQ(::chmod((dir_ / "home/project").c_str(), 01777), 0);
  EXPECT_EQ(Load().config.log_level.value, LogLevel::kInfo);
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("belongs to user 4321")));
}

}  // namespace
}  // namespace muster
