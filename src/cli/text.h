// How values look to people: tables, times, counts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/view.h"

namespace muster::cli {

// Rows of cells in columns two spaces apart; the first row is the head. Widths count code points, so that
// names in any script line up about right. No column is cut.
std::string RenderTable(const std::vector<std::vector<std::string>>& rows);
// Safe to print on a terminal: control characters become \xNN, what is not UTF-8 too.
std::string Printable(std::string_view text);
// "3.2s", "12m05s", "4h01m", "3d02h".
std::string ShortDuration(Duration duration);
// "14:03:59", with the date when it is not today's.
std::string ShortTime(WallTime time, WallTime now);
// "12.3M", "820K", "17B".
std::string ShortBytes(uint64_t bytes);
// "running 2, ready 5, ok 10, failed 1": what is not zero.
std::string RenderCounts(const TaskCounts& counts);
// "ok", "failed", "cancelled", "running", "waiting": the word for a whole job.
std::string JobWord(const JobView& job);

}  // namespace muster::cli
