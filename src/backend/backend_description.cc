#include "backend/backend_description.h"

#include <fmt/format.h>

namespace muster {
namespace {

// A cell must not end its column.
std::string Cell(std::string_view text) {
  std::string cell;
  for (char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell.empty() ? "–" : cell;
}

std::string Count(uint64_t n) { return n == 0 ? "–" : fmt::format("{}", n); }

}  // namespace

std::string_view ToString(SubmitStyle style) {
  return style == SubmitStyle::kByName ? "by-name" : "find";
}

std::string_view ToString(LimitsStyle style) {
  switch (style) {
    case LimitsStyle::kEnforced:
      return "enforced";
    case LimitsStyle::kWatched:
      return "watched";
    case LimitsStyle::kContainer:
      return "container";
  }
  return "unknown";
}

std::string RenderCapabilityHead() {
  return "| kind | runs launches on | submit | limits | longest name | launches a request | calls "
         "at "
         "once | array | result channel | stream | logs kept | outlives controller | cannot |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
}

std::string RenderCapabilityRow(const BackendDescription& d) {
  std::string submit(ToString(d.submit));
  if (d.settle.count() > 0) submit += fmt::format(", settles in {}", Render(d.settle));
  std::string cannot;
  for (const std::string& line : d.cannot) cannot += (cannot.empty() ? "" : "; ") + line;
  auto yes = [](bool fact) { return fact ? "yes" : "no"; };
  return fmt::format("| {} | {} | {} | {} | {} of {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     Cell(d.kind), Cell(d.sentence), submit, ToString(d.limits), d.name_length,
                     Cell(d.name_alphabet), d.batch_size, d.parallel_calls, Count(d.array_size),
                     d.result_channel == 0 ? "–" : Render(Bytes{d.result_channel}), yes(d.streams),
                     yes(d.keeps_logs), yes(d.outlives_controller), Cell(cannot));
}

}  // namespace muster
