#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace muster {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kWarning};
std::mutex g_mutex;

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("muster",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %P %L %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::info;
}

}  // namespace

void WriteLog(LogLevel level, std::string_view line) {
  std::lock_guard lock(g_mutex);
  Logger()->log(ToSpdlog(level), line);
}

bool LogEnabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

void SetLogLevel(LogLevel level) { g_level = level; }

void SetLogFile(const std::string& path) {
  std::lock_guard lock(g_mutex);
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  Logger()->sinks() = {sink};
  Logger()->set_pattern("%Y-%m-%dT%H:%M:%S.%e %P %L %v");
  Logger()->flush_on(spdlog::level::info);
}

}  // namespace muster
