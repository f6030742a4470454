#include "wire/config.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/config_values.h"
#include "wire/problem_list.h"
#include "wire/value_reader.h"

namespace muster {
namespace {

constexpr std::array<std::string_view, 7> kLaterKinds = {
    "standalone", "yarn", "kubernetes", "slurm", "nomad", "mesos", "awsbatch"};
struct LevelWord {
  std::string_view word;
  LogLevel level;
};
constexpr std::array<LevelWord, 5> kLevels = {{{"debug", LogLevel::kDebug},
                                               {"info", LogLevel::kInfo},
                                               {"warning", LogLevel::kWarning},
                                               {"error", LogLevel::kError},
                                               {"off", LogLevel::kOff}}};

std::string VariableName(std::string_view key) {
  std::string name = "MUSTER_";
  for (char c : key) {
    bool lower = c >= 'a' && c <= 'z';
    bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_';
  }
  return name;
}

std::string Folder(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

// Gives types to the values, and says what is wrong with them.
class Typer {
 public:
  Typer(const ConfigValues& values, std::vector<ConfigProblem>& problems)
      : values_(values), problems_(problems) {}

  const ConfigText* Find(const std::string& key) const {
    auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  void Fail(const std::string& key, const ConfigText& text, std::string message,
            std::string suggestion = "") {
    ConfigProblem& problem = problems_.emplace_back();
    problem.where = text.where;
    problem.problem.path = key;
    problem.problem.message = std::move(message);
    problem.problem.suggestion = std::move(suggestion);
    problem.problem.line = text.line;
    problem.problem.column = text.column;
  }

  void Read(const std::string& key, Sourced<std::string>& setting) {
    Take(key, setting, [](const std::string& text) { return Result<std::string>(text); });
  }
  void Read(const std::string& key, Sourced<std::optional<MilliCpu>>& setting) {
    Take(key, setting, ParseMilliCpu);
  }
  void Read(const std::string& key, Sourced<std::optional<Bytes>>& setting) {
    Take(key, setting, ParseBytes, GuessSize);
  }
  void Read(const std::string& key, Sourced<Duration>& setting) {
    Take(key, setting, ParseDuration, GuessTime);
  }
  void Read(const std::string& key, Sourced<uint32_t>& setting) {
    Take(key, setting, [](const std::string& text) -> Result<uint32_t> {
      uint32_t number = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return number;
      return UserError(ErrorCode::kInvalidArgument,
                       fmt::format("'{}' is not a whole number from 0", text));
    });
  }

 private:
  static std::string NoGuess(std::string_view) { return ""; }
  template <typename T, typename Parse, typename Guess = std::string (*)(std::string_view)>
  void Take(const std::string& key, Sourced<T>& setting, Parse parse, Guess guess = NoGuess) {
    const ConfigText* text = Find(key);
    if (text == nullptr) return;
    setting.source = text->source;
    auto parsed = parse(text->text);
    if (parsed.ok()) {
      setting.value = std::move(*parsed);
      return;
    }
    std::string meant = guess(text->text);
    Fail(key, *text, parsed.error().message,
         meant.empty() ? "" : fmt::format("did you mean {}?", meant));
  }

  const ConfigValues& values_;
  std::vector<ConfigProblem>& problems_;
};

class Loader {
 public:
  explicit Loader(const ConfigInputs& inputs) : inputs_(inputs) {}

  LoadedConfig Run() {
    ReadFiles();
    AddClusterDefaults();
    ReadVariables();
    ReadFlags();
    AddBuiltIn();
    GiveTypes();
    for (const auto& [key, text] : values_) {
      loaded_.entries.push_back({key, text.text, text.source});
    }
    return std::move(loaded_);
  }

 private:
  std::string Variable(const std::string& name) const {
    if (!inputs_.variable) return "";
    return inputs_.variable(name).value_or("");
  }

  void ReadFiles() {
    if (!inputs_.site_file.empty()) {
      ReadConfigFile(inputs_.site_file, ConfigOrigin::kSiteFile, values_, loaded_);
    }
    std::string user_folder = Variable("XDG_CONFIG_HOME");
    if (!user_folder.starts_with('/')) {
      user_folder = inputs_.home.empty() ? "" : inputs_.home + "/.config";
    }
    std::string user_file = user_folder.empty() ? "" : user_folder + "/muster/muster.yaml";
    if (!user_file.empty()) ReadConfigFile(user_file, ConfigOrigin::kUserFile, values_, loaded_);
    std::string project_file = FindProjectFile();
    if (!project_file.empty() && project_file != user_file && project_file != inputs_.site_file) {
      ReadConfigFile(project_file, ConfigOrigin::kProjectFile, values_, loaded_);
    }
  }

  std::string FindProjectFile() {
    for (std::string folder = inputs_.cwd; folder.starts_with('/'); folder = Folder(folder)) {
      std::string path = (folder == "/" ? "" : folder) + "/muster.yaml";
      struct stat file{};
      if (::stat(path.c_str(), &file) == 0) {
        if (IsTrusted(folder, file.st_uid)) return path;
        SpecProblem problem;
        problem.message =
            fmt::format("it belongs to user {} and lies where everyone may write", file.st_uid);
        problem.suggestion = "take ownership of it with chown, or work in another folder";
        loaded_.problems.push_back({path, problem});
        return "";
      }
      if (folder == "/" || folder == inputs_.home) break;
    }
    return "";
  }

  bool IsTrusted(const std::string& folder, uid_t owner) const {
    struct stat found{};
    bool open_to_all = ::stat(folder.c_str(), &found) == 0 && (found.st_mode & S_IWOTH) != 0;
    return !open_to_all || owner == inputs_.user || owner == 0;
  }

  // Variables can set values of clusters that some file has named, and of the one that is built in.
  void AddClusterDefaults() {
    clusters_ = ClusterNamesIn(values_);
    if (!clusters_.empty()) return;
    clusters_.emplace_back("here");
    Default("clusters.here.kind", "local");
  }

  void ReadVariables() {
    for (const std::string& key : TopConfigKeys()) SetFromVariable(key);
    for (const std::string& cluster : clusters_) {
      for (const std::string& key : ClusterConfigKeys()) {
        SetFromVariable(fmt::format("clusters.{}.{}", cluster, key));
      }
    }
  }

  void SetFromVariable(const std::string& key) {
    std::string name = VariableName(key);
    std::string text = Variable(name);
    if (text.empty()) return;
    values_[key] = {text, {ConfigOrigin::kVariable, name}, name, 0, 0};
  }

  void ReadFlags() {
    std::vector<std::string> known = TopConfigKeys();
    for (const std::string& cluster : clusters_) {
      for (const std::string& key : ClusterConfigKeys()) {
        known.push_back(fmt::format("clusters.{}.{}", cluster, key));
      }
    }
    for (const auto& [key, text] : inputs_.flags) {
      std::string flag = "--" + key;
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        loaded_.problems.push_back({flag, {key, "unknown key", DidYouMean(key, known)}});
      } else {
        values_[key] = {text, {ConfigOrigin::kFlag, flag}, flag, 0, 0};
      }
    }
  }

  void Default(const std::string& key, std::string text) {
    if (values_.contains(key)) return;
    values_[key] = {std::move(text), {}, "built in", 0, 0};
  }

  void AddBuiltIn() {
    bool has_here = std::find(clusters_.begin(), clusters_.end(), "here") != clusters_.end();
    if (clusters_.size() == 1) {
      Default("default", clusters_.front());
    } else if (has_here) {
      Default("default", "here");
    }
    Default("log_level", "info");
    Default("controller", "");
    std::string state = Variable("XDG_STATE_HOME");
    if (!state.starts_with('/')) state = inputs_.home.empty() ? "" : inputs_.home + "/.local/state";
    Default("state_dir", state.empty() ? "" : state + "/muster");
    for (const std::string& cluster : clusters_) {
      const ConfigText* kind = Find(fmt::format("clusters.{}.kind", cluster));
      if (kind != nullptr && kind->text != "local") continue;
      Default(fmt::format("clusters.{}.max_attempts", cluster), "0");
      Default(fmt::format("clusters.{}.pool.min", cluster), "0");
      Default(fmt::format("clusters.{}.pool.max", cluster), "1");
      Default(fmt::format("clusters.{}.pool.idle", cluster), "60s");
    }
  }

  const ConfigText* Find(const std::string& key) const {
    auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

  void GiveTypes() {
    Typer typer(values_, loaded_.problems);
    Config& config = loaded_.config;
    for (const std::string& name : clusters_) config.clusters.push_back(ReadCluster(name, typer));
    typer.Read("default", config.default_cluster);
    typer.Read("controller", config.controller);
    typer.Read("state_dir", config.state_dir);
    ReadLogLevel(typer);
    CheckDefault(typer);
    const std::string& controller = config.controller.value;
    bool known = controller.empty() || controller.starts_with('/') ||
                 controller.starts_with("unix:/") || controller.starts_with("http://") ||
                 controller.starts_with("https://");
    if (!known) {
      typer.Fail("controller", *Find("controller"),
                 fmt::format("'{}' is no address of a controller", controller),
                 "write /path/of/socket, unix:/path, http://... or https://...");
    }
    const std::string& state = config.state_dir.value;
    if (!state.empty() && !state.starts_with('/')) {
      typer.Fail("state_dir", *Find("state_dir"), fmt::format("'{}' is not absolute", state),
                 "write the whole path; ~ is not expanded");
    }
  }

  ClusterEntry ReadCluster(const std::string& name, Typer& typer) {
    ClusterEntry cluster;
    cluster.name = name;
    std::string prefix = fmt::format("clusters.{}.", name);
    typer.Read(prefix + "kind", cluster.kind);
    if (Find(prefix + "kind") == nullptr) {
      // Another file may name the kind; only what all of them say together counts.
      auto some_key = values_.lower_bound(prefix);
      typer.Fail(prefix + "kind", some_key->second, "the cluster has no kind", "write kind: local");
    }
    CheckKind(prefix + "kind", cluster.kind.value, typer);
    typer.Read(prefix + "cpus", cluster.cpus);
    typer.Read(prefix + "memory", cluster.memory);
    typer.Read(prefix + "max_attempts", cluster.max_attempts);
    typer.Read(prefix + "pool.min", cluster.pool.min);
    typer.Read(prefix + "pool.max", cluster.pool.max);
    typer.Read(prefix + "pool.cpus", cluster.pool.cpus);
    typer.Read(prefix + "pool.memory", cluster.pool.memory);
    typer.Read(prefix + "pool.idle", cluster.pool.idle);
    const ConfigText* max = Find(prefix + "pool.max");
    if (max != nullptr && cluster.pool.max.value < cluster.pool.min.value) {
      typer.Fail(
          prefix + "pool.max", *max,
          fmt::format("max {} is below min {}", cluster.pool.max.value, cluster.pool.min.value));
    } else if (max != nullptr && cluster.pool.max.value == 0) {
      typer.Fail(prefix + "pool.max", *max, "with no executor nothing can run", "write at least 1");
    }
    return cluster;
  }

  void CheckKind(const std::string& key, const std::string& kind, Typer& typer) {
    const ConfigText* text = Find(key);
    if (text == nullptr || kind == "local") return;
    if (std::find(kLaterKinds.begin(), kLaterKinds.end(), kind) != kLaterKinds.end()) {
      typer.Fail(key, *text, fmt::format("clusters of kind {} are not in this version", kind),
                 "write kind: local, or take the cluster out");
      return;
    }
    std::vector<std::string> known(kLaterKinds.begin(), kLaterKinds.end());
    known.emplace_back("local");
    std::string meant = DidYouMean(kind, known);
    typer.Fail(key, *text, fmt::format("'{}' is no kind of cluster", kind),
               meant.empty() ? "write kind: local" : meant);
  }

  void ReadLogLevel(Typer& typer) {
    Sourced<std::string> word;
    typer.Read("log_level", word);
    loaded_.config.log_level = {LogLevel::kInfo, word.source};
    std::vector<std::string> known;
    for (const LevelWord& level : kLevels) {
      known.emplace_back(level.word);
      if (level.word != word.value) continue;
      loaded_.config.log_level.value = level.level;
      return;
    }
    std::string meant = DidYouMean(word.value, known);
    typer.Fail("log_level", *Find("log_level"), fmt::format("'{}' is no log level", word.value),
               meant.empty() ? "write debug, info, warning, error or off" : meant);
  }

  void CheckDefault(Typer& typer) {
    const Config& config = loaded_.config;
    const ConfigText* text = Find("default");
    if (text == nullptr) {
      SpecProblem problem{"default", "several clusters are configured and none is the default",
                          "write default: NAME"};
      loaded_.problems.push_back({loaded_.files.empty() ? "" : loaded_.files.back(), problem});
    } else if (config.Find(text->text) == nullptr) {
      std::string meant = DidYouMean(text->text, clusters_);
      typer.Fail("default", *text, fmt::format("no cluster is called '{}'", text->text),
                 meant.empty() ? fmt::format("known: {}", fmt::join(clusters_, ", ")) : meant);
    }
  }

  const ConfigInputs& inputs_;
  ConfigValues values_;
  std::vector<std::string> clusters_;
  LoadedConfig loaded_;
};

}  // namespace

std::string_view ToString(ConfigOrigin origin) {
  switch (origin) {
    case ConfigOrigin::kBuiltIn:
      return "built in";
    case ConfigOrigin::kSiteFile:
      return "site file";
    case ConfigOrigin::kUserFile:
      return "user file";
    case ConfigOrigin::kProjectFile:
      return "project file";
    case ConfigOrigin::kVariable:
      return "variable";
    case ConfigOrigin::kFlag:
      return "flag";
  }
  return "";
}

const std::vector<std::string>& TopConfigKeys() {
  static const auto* const kKeys =
      new std::vector<std::string>{"default", "controller", "state_dir", "log_level"};
  return *kKeys;
}

const std::vector<std::string>& ClusterConfigKeys() {
  static const auto* const kKeys = new std::vector<std::string>{
      "kind",     "cpus",      "memory",      "max_attempts", "pool.min",
      "pool.max", "pool.cpus", "pool.memory", "pool.idle"};
  return *kKeys;
}

const ClusterEntry* Config::Find(std::string_view name) const {
  for (const ClusterEntry& cluster : clusters) {
    if (cluster.name == name) return &cluster;
  }
  return nullptr;
}

std::vector<std::string> Config::ClusterNames() const {
  std::vector<std::string> names;
  for (const ClusterEntry& cluster : clusters) names.push_back(cluster.name);
  return names;
}

std::string Render(const ConfigProblem& problem) { return Render(problem.problem, problem.where); }

LoadedConfig LoadConfig(const ConfigInputs& inputs) { return Loader(inputs).Run(); }

}  // namespace muster
