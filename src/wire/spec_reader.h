// Reads a JobSpec out of a document tree: the one reader behind job files and JSON bodies.
#pragma once

#include <cstdint>
#include <string>

#include "wire/doc_tree.h"
#include "wire/job_file.h"

namespace muster {

// A job file may name files, which are looked up here; an API body must hold everything itself.
enum class SpecSource : uint8_t { kJobFile, kApi };

// Structural problems and those of CheckJobSpec, with their places.
ParsedJob ReadJobSpec(DocRef root, SpecSource source, const ParseContext& context);

}  // namespace muster
