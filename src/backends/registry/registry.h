// Every kind of cluster this build knows. The only place that names them all.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/backend_kind.h"

namespace muster {

std::span<const BackendKind* const> BackendKinds();

// By the word in muster.yaml; null if there is none.
const BackendKind* FindBackendKind(std::string_view name);

// For a name that is not found: `no kind of cluster "lokal"; did you mean "local"? (there are:
// local)`.
Error UnknownKind(std::string_view name);

// The table of the manual (Markdown), from what each kind says of itself.
std::string RenderCapabilityTable();

}  // namespace muster
