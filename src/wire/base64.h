// Base 64 as RFC 4648 section 4 has it, with padding: how JSON carries bytes that are not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

std::string ToBase64(std::string_view bytes);
// Nothing if `text` is not exactly what ToBase64 gives for some bytes.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace muster
