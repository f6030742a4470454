// Log lines for operators, one event a line, on standard error or a file. spdlog is behind it.
//
//     LogInfo("journal: snapshot at {} took {} ms", position, ms);
//
// Thread-safe. Secrets never go into a log line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace muster {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void WriteLog(LogLevel level, std::string_view line);
bool LogEnabled(LogLevel level);
void SetLogLevel(LogLevel level);
// Lines go to this file (appended) from now on instead of standard error.
void SetLogFile(const std::string& path);

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kDebug)) WriteLog(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kInfo)) WriteLog(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kWarning)) WriteLog(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(LogLevel::kError)) WriteLog(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace muster
