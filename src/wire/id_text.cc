#include "wire/id_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>

namespace muster {
namespace {

constexpr int64_t kUsPerDay = 86'400'000'000;

template <typename T>
bool TakeNumber(std::string_view& text, T& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return false;
  auto length = static_cast<size_t>(end - text.data());
  if (length > 1 && text.front() == '0') return false;
  text.remove_prefix(length);
  return true;
}

bool TakeLetter(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeTask(std::string_view& text, TaskId& id) {
  return TakeLetter(text, 'j') && TakeNumber(text, id.job.number) && TakeLetter(text, '.') &&
         TakeNumber(text, id.number);
}

Error NotAn(std::string_view what, std::string_view text, std::string_view example) {
  return UserError(ErrorCode::kInvalidArgument,
                   fmt::format("'{}' is not {}; write it like {}", text, what, example));
}

// Digits only.
bool TakeDigits(std::string_view& text, size_t count, int& number) {
  if (text.size() < count) return false;
  number = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

void PutDigits(int64_t number, size_t count, char* out) {
  for (size_t i = count; i > 0; --i) {
    out[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

// Microseconds of ".789012", anything from one decimal; 0 without.
bool TakeFraction(std::string_view& text, int64_t& us) {
  us = 0;
  if (!TakeLetter(text, '.')) return true;
  int64_t scale = 100'000;
  size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    us += (text.front() - '0') * scale;
    scale /= 10;
    ++digits;
    text.remove_prefix(1);
  }
  return digits > 0;
}

// Minutes east of UTC.
bool TakeOffset(std::string_view& text, int& minutes) {
  minutes = 0;
  if (TakeLetter(text, 'Z') || TakeLetter(text, 'z')) return true;
  int sign = TakeLetter(text, '-') ? -1 : TakeLetter(text, '+') ? 1 : 0;
  int hours = 0;
  if (sign == 0 || !TakeDigits(text, 2, hours) || !TakeLetter(text, ':') ||
      !TakeDigits(text, 2, minutes) || hours > 23 || minutes > 59) {
    return false;
  }
  minutes = sign * (hours * 60 + minutes);
  return true;
}

}  // namespace

Result<JobId> ParseJobId(std::string_view text) {
  JobId id;
  std::string_view rest = text;
  if (TakeLetter(rest, 'j') && TakeNumber(rest, id.number) && rest.empty()) return id;
  return NotAn("a job", text, "j12");
}

Result<TaskId> ParseTaskId(std::string_view text) {
  TaskId id;
  std::string_view rest = text;
  if (TakeTask(rest, id) && rest.empty()) return id;
  return NotAn("a task", text, "j12.500");
}

Result<AttemptId> ParseAttemptId(std::string_view text) {
  AttemptId id;
  std::string_view rest = text;
  if (TakeTask(rest, id.task) && TakeLetter(rest, '#') && TakeNumber(rest, id.n) && rest.empty()) {
    return id;
  }
  return NotAn("an attempt", text, "j12.500#2");
}

Result<ExecutorId> ParseExecutorId(std::string_view text) {
  ExecutorId id;
  std::string_view rest = text;
  if (TakeLetter(rest, 'x') && TakeNumber(rest, id.number) && rest.empty()) return id;
  return NotAn("an executor", text, "x3");
}

Result<LaunchId> ParseLaunchId(std::string_view text) {
  LaunchId id;
  std::string_view rest = text;
  if (TakeLetter(rest, 'l') && TakeNumber(rest, id.number) && rest.empty()) return id;
  return NotAn("a launch", text, "l7");
}

std::string RenderRfc3339(WallTime time) {
  int64_t day = time.us / kUsPerDay;
  int64_t in_day = time.us % kUsPerDay;
  if (in_day < 0) {
    --day;
    in_day += kUsPerDay;
  }
  // From the year 0 to 9999; std::chrono's own bounds are wider.
  if (day < -719'528 || day > 2'932'896) return fmt::format("e{}", time.us);
  std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  std::string text = "0000-00-00T00:00:00.000000Z";
  PutDigits(static_cast<int>(date.year()), 4, text.data());
  PutDigits(static_cast<unsigned>(date.month()), 2, text.data() + 5);
  PutDigits(static_cast<unsigned>(date.day()), 2, text.data() + 8);
  PutDigits(in_day / 3'600'000'000, 2, text.data() + 11);
  PutDigits(in_day / 60'000'000 % 60, 2, text.data() + 14);
  PutDigits(in_day / 1'000'000 % 60, 2, text.data() + 17);
  PutDigits(in_day % 1'000'000, 6, text.data() + 20);
  return text;
}

Result<WallTime> ParseRfc3339(std::string_view text) {
  std::string_view rest = text;
  if (TakeLetter(rest, 'e')) {
    WallTime time;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), time.us);
    if (error == std::errc() && end == rest.data() + rest.size()) return time;
  }
  rest = text;
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int offset = 0;
  int64_t us = 0;
  bool good = TakeDigits(rest, 4, year) && TakeLetter(rest, '-') && TakeDigits(rest, 2, month) &&
              TakeLetter(rest, '-') && TakeDigits(rest, 2, day) &&
              (TakeLetter(rest, 'T') || TakeLetter(rest, 't') || TakeLetter(rest, ' ')) &&
              TakeDigits(rest, 2, hour) && TakeLetter(rest, ':') && TakeDigits(rest, 2, minute) &&
              TakeLetter(rest, ':') && TakeDigits(rest, 2, second) && TakeFraction(rest, us) &&
              TakeOffset(rest, offset) && rest.empty();
  std::chrono::year_month_day date{std::chrono::year(year),
                                   std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!good || !date.ok() || hour > 23 || minute > 59 || second > 60) {
    return NotAn("a time", text, "2026-01-31T12:34:56.789Z");
  }
  int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  int64_t seconds = int64_t{hour} * 3600 + int64_t{minute - offset} * 60 + second;
  return WallTime{days * kUsPerDay + seconds * 1'000'000 + us};
}

}  // namespace muster
