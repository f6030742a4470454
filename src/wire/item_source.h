// Where the items of a list task come from: lines of a file or of standard input, files that match
// patterns, a range written as text. Blocking; used by the client at submit, never by a server.
//
// Lines: each line is one item, without its '\n' and otherwise byte for byte (a '\r' stays); a last
// line without '\n' counts; empty lines are no items. A NUL byte is an error, since no argument can
// hold one.
// Patterns: *, ? and [...] as glob(7) has them: a leading dot must be written, '/' is never
// matched, there are no braces, no ~ and no **. Sorted by bytes. Without *, ? and [ a pattern is
// the name of a file, which must be there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/item_list.h"
#include "model/job_spec.h"

namespace muster {

// Splits what arrives piece by piece into items.
//
//     LineSplitter lines("standard input");
//     while (read) RETURN_IF_ERROR(lines.Feed(piece));
//     RETURN_IF_ERROR(lines.End());
//     Use(std::move(lines).Take());
class LineSplitter {
 public:
  explicit LineSplitter(std::string source) : source_(std::move(source)) {}
  // Errors name source and line: a NUL byte, more than kMaxArrayTasks items, more than 4 GiB.
  Status Feed(std::string_view piece);
  Status End();
  ItemList Take() && { return std::move(items_); }

 private:
  Status AddLine(std::string_view line);
  std::string source_;
  std::string rest_;
  uint64_t line_ = 0;
  ItemList items_;
};

Result<ItemList> ReadItemLines(const std::string& path);
// Reads `fd` to its end; `source` names it in errors.
Result<ItemList> ReadItemLines(int fd, const std::string& source);

// Appends what `pattern` matches below `cwd` (absolute; patterns may be absolute themselves) to
// `items`, relative to `cwd` if the pattern is. No match is an error.
Status GlobItems(const std::string& pattern, const std::string& cwd, ItemList& items);

// "1-1000", "1-1000%50" (at most 50 at a time), "0-100:10" (step), "0-100:10%4".
struct ArrayText {
  IndexRange range;
  uint32_t cap = 0;
};
Result<ArrayText> ParseArrayText(std::string_view text);
std::string RenderArrayText(const IndexRange& range, uint32_t cap);

// Largest index, either side of zero.
inline constexpr int64_t kMaxArrayIndex = 1'000'000'000'000'000;

}  // namespace muster
