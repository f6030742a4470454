#include "backends/registry/registry.h"

#include <array>
#include <vector>

#include "backends/local/local_backend.h"

namespace muster {

std::span<const BackendKind* const> BackendKinds() {
  static const local::LocalKind kLocal;
  static const std::array<const BackendKind*, 1> kKinds{&kLocal};
  return kKinds;
}

const BackendKind* FindBackendKind(std::string_view name) {
  for (const BackendKind* kind : BackendKinds()) {
    if (kind->Describe().kind == name) return kind;
  }
  return nullptr;
}

Error UnknownKind(std::string_view name) {
  std::vector<std::string> known;
  std::string list;
  for (const BackendKind* kind : BackendKinds()) {
    known.push_back(kind->Describe().kind);
    list += (list.empty() ? "" : ", ") + known.back();
  }
  std::string suggestion = Suggest(name, known);
  if (!suggestion.empty()) suggestion = fmt::format("; did you mean \"{}\"?", suggestion);
  return UserError(
      ErrorCode::kInvalidArgument,
      fmt::format("no kind of cluster \"{}\"{} (there are: {})", name, suggestion, list));
}

std::string RenderCapabilityTable() {
  std::string table = RenderCapabilityHead();
  for (const BackendKind* kind : BackendKinds()) table += RenderCapabilityRow(kind->Describe());
  return table;
}

}  // namespace muster
