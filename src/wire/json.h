// The only door to nlohmann/json. Prefer the typed functions of wire/api_json.h; raw JSON is for
// tests and for what has no type of its own. Exceptions must not leave the file that includes this.
#pragma once

#include <nlohmann/json.hpp>  // IWYU pragma: export
