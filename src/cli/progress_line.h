// One line that says how far a job is: counts by state, rate, estimate. On a terminal it is drawn over
// itself; elsewhere a plain line appears now and then.
//
//     ProgressLine progress(std::cerr-like sink, ...);
//     progress.Show(view, now);      // at each job event
//     progress.Clear();              // before anything else is printed
//
// One thread.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/view.h"

namespace muster::cli {

// Pure: the text, without line end. `rate`: ended tasks in a second of late, 0 if not known.
std::string RenderProgress(const JobView& job, WallTime now, double rate, size_t width);

class ProgressLine {
 public:
  enum class Style { kNone, kPlain, kTerminal };
  ProgressLine(std::FILE* out, Style style) : out_(out), style_(style) {}

  void Show(const JobView& job, WallTime now);
  void Clear();

 private:
  std::FILE* out_;
  const Style style_;
  bool drawn_ = false;
  WallTime last_plain_;
  // For the rate: the count a while ago.
  WallTime window_begin_;
  uint64_t window_ended_ = 0;
  double rate_ = 0;
};

}  // namespace muster::cli
