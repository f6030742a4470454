#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "cli/text.h"

namespace muster::cli {
namespace {

constexpr Duration kPlainEvery = std::chrono::seconds(10);
constexpr Duration kWindow = std::chrono::seconds(2);

size_t WidthOf(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

}  // namespace

std::string RenderProgress(const JobView& job, WallTime now, double rate, size_t width) {
  uint64_t total = job.counts.total();
  uint64_t ended = job.counts.ended_total();
  uint64_t percent = total == 0 ? 100 : ended * 100 / total;
  std::string text = fmt::format("{} {}/{} {}%", Render(job.id), ended, total, percent);
  if (job.counts.running > 0) text += fmt::format(" · {} running", job.counts.running);
  if (job.counts.failed() > 0) text += fmt::format(" · {} failed", job.counts.failed());
  if (job.counts.cancelled() > 0) text += fmt::format(" · {} cancelled", job.counts.cancelled());
  if (job.cancel_requested) text += " · cancelling";
  if (rate > 0 && !job.ended) {
    text += rate >= 10 ? fmt::format(" · {:.0f}/s", rate) : fmt::format(" · {:.1f}/s", rate);
    auto left = Duration(static_cast<int64_t>(static_cast<double>(total - ended) / rate * 1e6));
    text += fmt::format(" · about {} left", ShortDuration(left));
  }
  text += fmt::format(" · {}", ShortDuration(job.ended.value_or(now) - job.submitted));
  // Whole code points only.
  size_t shown = 0;
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at + 1;
    while (next < text.size() && (text[next] & 0xc0) == 0x80) ++next;
    if (++shown >= width) break;
    at = next;
  }
  return text.substr(0, at);
}

void ProgressLine::Show(const JobView& job, WallTime now) {
  if (style_ == Style::kNone) return;
  uint64_t ended = job.counts.ended_total();
  if (window_begin_.us == 0) {
    window_begin_ = now;
    window_ended_ = ended;
    last_plain_ = now;
  } else if (now - window_begin_ >= kWindow) {
    double seconds = static_cast<double>((now - window_begin_).count()) / 1e6;
    rate_ = static_cast<double>(ended - window_ended_) / seconds;
    window_begin_ = now;
    window_ended_ = ended;
  }
  if (style_ == Style::kPlain) {
    if (now - last_plain_ < kPlainEvery) return;
    last_plain_ = now;
    fmt::print(out_, "{}\n", RenderProgress(job, now, rate_, 200));
  } else {
    fmt::print(out_, "\r{}\x1b[K", RenderProgress(job, now, rate_, WidthOf(out_)));
    drawn_ = true;
  }
  std::fflush(out_);
}

void ProgressLine::Clear() {
  if (!drawn_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  drawn_ = false;
}

}  // namespace muster::cli
