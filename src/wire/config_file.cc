#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/unique_fd.h"
#include "wire/config_values.h"
#include "wire/doc_tree.h"
#include "wire/value_reader.h"

namespace muster {
namespace {

constexpr size_t kMaxConfigBytes = 1 << 20;

// Nothing, without a problem, if the file is not there.
std::optional<std::string> ReadText(const std::string& path, std::string& problem) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno != ENOENT && errno != ENOTDIR) problem = std::strerror(errno);
    return std::nullopt;
  }
  std::string text(kMaxConfigBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    ssize_t n = ::read(fd.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      problem = std::strerror(errno);
      return std::nullopt;
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size > kMaxConfigBytes) {
    problem = fmt::format("larger than {} bytes", kMaxConfigBytes);
    return std::nullopt;
  }
  text.resize(size);
  return text;
}

class FileReader {
 public:
  FileReader(std::string path, ConfigOrigin origin, ConfigValues& values)
      : file_(std::move(path)), origin_(origin), values_(values), read_(problems_) {}

  std::vector<SpecProblem> Run(DocRef root) {
    const DocPath top;
    if (root.is_null()) return {};
    if (!root.is_map()) {
      problems_.Add(top, root, "a configuration is a map", "write default: NAME");
      return std::move(problems_).Take();
    }
    read_.CheckKeys(root, top);
    root.ForEachEntry([&](DocRef key, DocRef value) {
      DocPath path = top.Key(key.text());
      if (key.text() == "clusters") {
        ReadClusters(value, path);
      } else if (Knows(TopConfigKeys(), key.text())) {
        Set(value, path);
      } else {
        std::vector<std::string> known = TopConfigKeys();
        known.emplace_back("clusters");
        read_.UnknownKey(key, top, known);
      }
    });
    return std::move(problems_).Take();
  }

 private:
  static bool Knows(const std::vector<std::string>& keys, std::string_view word) {
    return std::find(keys.begin(), keys.end(), word) != keys.end();
  }

  void Set(DocRef value, const DocPath& path) {
    if (value.is_null()) return;
    std::optional<std::string> text = read_.Text(value, path);
    if (!text) return;
    ConfigText& entry = values_[path.Text()];
    entry.text = std::move(*text);
    entry.source = {origin_, fmt::format("{}:{}", file_, value.line())};
    entry.where = file_;
    entry.line = value.line();
    entry.column = value.column();
  }

  void ReadClusters(DocRef clusters, const DocPath& path) {
    if (clusters.is_null()) return;
    if (!clusters.is_map()) {
      problems_.Add(path, clusters, "expected a map", "write here: {kind: local}");
      return;
    }
    read_.CheckKeys(clusters, path);
    clusters.ForEachEntry([&](DocRef name, DocRef cluster) {
      DocPath at = path.Key(name.text());
      if (name.text().empty() || name.text().find_first_of(". \t\n") != std::string_view::npos) {
        problems_.Add(at, name, "the name of a cluster is one word without dots");
      } else if (!cluster.is_map()) {
        problems_.Add(at, cluster, "expected a map", "write {kind: local}");
      } else {
        ReadCluster(cluster, at);
      }
    });
  }

  void ReadCluster(DocRef cluster, const DocPath& path) {
    read_.CheckKeys(cluster, path);
    // Other kinds have keys of their own; that they are not here yet is said once.
    std::optional<DocRef> kind = cluster.Find("kind");
    if (kind && kind->is_scalar() && kind->text() != "local") {
      Set(*kind, path.Key("kind"));
      return;
    }
    cluster.ForEachEntry([&](DocRef key, DocRef value) {
      if (key.text() == "pool") {
        ReadPool(value, path.Key("pool"));
      } else if (Knows(ClusterConfigKeys(), key.text())) {
        Set(value, path.Key(key.text()));
      } else {
        std::vector<std::string> known = ClusterConfigKeys();
        known.emplace_back("pool");
        read_.UnknownKey(key, path, known);
      }
    });
  }

  void ReadPool(DocRef pool, const DocPath& path) {
    if (!pool.is_map()) {
      problems_.Add(path, pool, "expected a map", "write {min: 0, max: 4, idle: 60s}");
      return;
    }
    read_.CheckKeys(pool, path);
    pool.ForEachEntry([&](DocRef key, DocRef value) {
      if (Knows(ClusterConfigKeys(), fmt::format("pool.{}", key.text()))) {
        Set(value, path.Key(key.text()));
      } else {
        read_.UnknownKey(key, path, {"min", "max", "cpus", "memory", "idle"});
      }
    });
  }

  std::string file_;
  ConfigOrigin origin_;
  ConfigValues& values_;
  ProblemList problems_;
  ValueReader read_;
};

}  // namespace

void ReadConfigFile(const std::string& path, ConfigOrigin origin, ConfigValues& values,
                    LoadedConfig& loaded) {
  std::string problem;
  std::optional<std::string> text = ReadText(path, problem);
  if (!problem.empty()) {
    loaded.problems.push_back({path, {"", fmt::format("cannot be read: {}", problem), ""}});
  }
  if (!text) return;
  loaded.files.push_back(path);
  DocParse document = ParseYamlTree(*text);
  if (document.error) {
    loaded.problems.push_back({path, *document.error});
    return;
  }
  FileReader reader(path, origin, values);
  for (SpecProblem& found : reader.Run(document.tree.root())) {
    loaded.problems.push_back({path, std::move(found)});
  }
}

std::vector<std::string> ClusterNamesIn(const ConfigValues& values) {
  std::set<std::string> names;
  constexpr std::string_view kPrefix = "clusters.";
  for (const auto& [key, value] : values) {
    if (!key.starts_with(kPrefix)) continue;
    std::string_view rest = std::string_view(key).substr(kPrefix.size());
    names.emplace(rest.substr(0, rest.find('.')));
  }
  return {names.begin(), names.end()};
}

}  // namespace muster
