// A list of names and texts in JSON: an object if it can be one (names are UTF-8 and differ), else
// a list of {"name": ..., "value": ...}.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wire/json_writer.h"

namespace muster {

void PutNamedTexts(const std::vector<std::pair<std::string, std::string>>& pairs, JsonWriter& json);

}  // namespace muster
