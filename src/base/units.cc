#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr std::array<Unit, 12> kByteUnits = {{{"", 1},
                                              {"B", 1},
                                              {"k", 1000},
                                              {"K", 1000},
                                              {"M", 1000000},
                                              {"G", 1000000000},
                                              {"T", 1000000000000},
                                              {"Ki", 1ULL << 10},
                                              {"Mi", 1ULL << 20},
                                              {"Gi", 1ULL << 30},
                                              {"Ti", 1ULL << 40},
                                              {"Pi", 1ULL << 50}}};
constexpr std::array<Unit, 6> kTimeUnits = {{{"us", 1},
                                             {"ms", 1000},
                                             {"s", 1000000},
                                             {"m", 60000000},
                                             {"h", 3600000000},
                                             {"d", 86400000000}}};

// Reads a decimal number off the front of `text`; nothing if there is none.
std::optional<double> TakeNumber(std::string_view& text) {
  double number = 0;
  if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number,
                                      std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::string_view TakeUnit(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && (text[length] < '0' || text[length] > '9')) ++length;
  std::string_view unit = text.substr(0, length);
  text.remove_prefix(length);
  return unit;
}

}  // namespace

Result<Bytes> ParseBytes(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("'{}' is not a size: {}; write 256Mi, 1.5Gi, 4G or 4096", text, why));
  };
  std::string_view rest = text;
  auto number = TakeNumber(rest);
  if (!number) return fail("it does not start with a number");
  for (const Unit& unit : kByteUnits) {
    if (rest != unit.name) continue;
    double value = *number * static_cast<double>(unit.factor);
    if (value > 9.2e18) return fail("it is larger than 8Ei");
    return Bytes{static_cast<uint64_t>(std::llround(value))};
  }
  return fail(fmt::format("unknown unit '{}' (known: k M G T, Ki Mi Gi Ti Pi)", rest));
}

Result<Duration> ParseDuration(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("'{}' is not a time: {}; write 90s, 10m, 2h, 1h30m or 500ms", text, why));
  };
  std::string_view rest = text;
  if (rest.empty()) return fail("it is empty");
  double total = 0;
  while (!rest.empty()) {
    auto number = TakeNumber(rest);
    if (!number) return fail("a number is missing");
    std::string_view name = TakeUnit(rest);
    if (name.empty()) return fail("the unit is missing");
    const Unit* found = nullptr;
    for (const Unit& unit : kTimeUnits) {
      if (name == unit.name) found = &unit;
    }
    if (found == nullptr) return fail(fmt::format("unknown unit '{}' (known: ms s m h d)", name));
    total += *number * static_cast<double>(found->factor);
  }
  if (total > 3.2e15) return fail("it is longer than 100 years");
  return Duration{std::llround(total)};
}

Result<MilliCpu> ParseMilliCpu(std::string_view text) {
  auto fail = [&](std::string_view why) {
    return UserError(ErrorCode::kInvalidArgument,
                     fmt::format("'{}' is not a number of cpus: {}; write 2, 0.5 or 500m", text, why));
  };
  std::string_view rest = text;
  auto number = TakeNumber(rest);
  if (!number) return fail("it does not start with a number");
  double value = *number;
  if (rest.empty()) {
    value *= 1000;
  } else if (rest != "m") {
    return fail(fmt::format("unknown unit '{}'", rest));
  }
  if (value > 1e9) return fail("it is more than a million cpus");
  if (std::llround(value) < 1) return fail("the least is 0.001");
  return MilliCpu{static_cast<uint64_t>(std::llround(value))};
}

std::string Render(Bytes size) {
  static constexpr std::array<Unit, 5> kUnits = {{{"Pi", 1ULL << 50},
                                                  {"Ti", 1ULL << 40},
                                                  {"Gi", 1ULL << 30},
                                                  {"Mi", 1ULL << 20},
                                                  {"Ki", 1ULL << 10}}};
  for (const Unit& unit : kUnits) {
    if (size.value != 0 && size.value % unit.factor == 0) {
      return fmt::format("{}{}", size.value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}", size.value);
}

std::string Render(Duration duration) {
  int64_t us = duration.count();
  if (us == 0) return "0s";
  std::string text;
  if (us < 0) {
    text = "-";
    us = -us;
  }
  static constexpr std::array<Unit, 6> kUnits = {{{"d", 86400000000},
                                                  {"h", 3600000000},
                                                  {"m", 60000000},
                                                  {"s", 1000000},
                                                  {"ms", 1000},
                                                  {"us", 1}}};
  for (const Unit& unit : kUnits) {
    auto factor = static_cast<int64_t>(unit.factor);
    if (us >= factor) {
      text += fmt::format("{}{}", us / factor, unit.name);
      us %= factor;
    }
  }
  return text;
}

std::string Render(MilliCpu cpus) {
  if (cpus.value % 1000 == 0) return fmt::format("{}", cpus.value / 1000);
  return fmt::format("{}m", cpus.value);
}

}  // namespace muster
