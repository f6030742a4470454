#include "wire/problem_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace muster {
namespace {

// Takes "name" or "[3]" off the front of `path`.
std::string_view TakeStep(std::string_view& path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  size_t end = path.starts_with('[') ? path.find(']') : path.find_first_of(".[");
  if (end == std::string_view::npos) {
    end = path.size();
  } else if (path.starts_with('[')) {
    ++end;
  }
  std::string_view step = path.substr(0, end);
  path.remove_prefix(end);
  return step;
}

// How the items of a task may have been given; the model knows only two kinds.
constexpr std::array<std::string_view, 4> kListKeys = {"each", "lines", "items", "array"};

std::optional<DocRef> Step(DocRef from, std::string_view step) {
  if (!step.starts_with('[')) {
    std::optional<DocRef> found = from.Find(step);
    bool is_list_key = std::find(kListKeys.begin(), kListKeys.end(), step) != kListKeys.end();
    for (size_t i = 0; is_list_key && !found && i < kListKeys.size(); ++i) {
      found = from.Find(kListKeys[i]);
    }
    return found;
  }
  size_t index = 0;
  std::from_chars(step.data() + 1, step.data() + step.size(), index);
  return from.Item(index);
}

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::string DocPath::Text() const {
  if (up_ == nullptr) return "";
  std::string text = up_->Text();
  if (key_.data() == nullptr) return text + fmt::format("[{}]", index_);
  if (!text.empty()) text += '.';
  return text.append(key_);
}

void ProblemList::Add(const DocPath& path, DocRef at, std::string message, std::string suggestion) {
  SpecProblem problem{path.Text(), std::move(message), std::move(suggestion)};
  problem.line = at.line();
  problem.column = at.column();
  Add(std::move(problem));
}

void ProblemList::Add(SpecProblem problem) {
  if (full()) {
    ++left_out_;
    return;
  }
  problems_.push_back(std::move(problem));
}

bool ProblemList::Covers(std::string_view path) const {
  return std::any_of(problems_.begin(), problems_.end(), [&](const SpecProblem& known) {
    std::string_view at = known.path;
    if (!at.starts_with(path)) return false;
    return at.size() == path.size() || at[path.size()] == '.' || at[path.size()] == '[';
  });
}

std::vector<SpecProblem> ProblemList::Take() && {
  std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (left_out_ > 0) {
    problems_.push_back({"", fmt::format("{} more problems are not shown", left_out_), ""});
  }
  return std::move(problems_);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  std::string best = Suggest(word, known);
  return best.empty() ? "" : fmt::format("did you mean '{}'?", best);
}

std::string Render(const SpecProblem& problem, std::string_view file_name) {
  std::string text(file_name);
  if (problem.line > 0) text += fmt::format(":{}:{}", problem.line, problem.column);
  if (!text.empty()) text += ": ";
  if (!problem.path.empty()) text += problem.path + ": ";
  text += problem.message;
  if (!problem.suggestion.empty()) text += "; " + problem.suggestion;
  return OneLine(text);
}

SpecProblem WithPlace(SpecProblem problem, DocRef root) {
  if (problem.line != 0) return problem;
  DocRef at = root;
  std::string_view rest = problem.path;
  while (!rest.empty()) {
    std::string_view step = TakeStep(rest);
    std::optional<DocRef> next = Step(at, step);
    // A default of the job stands at the job.
    if (!next) next = root.Find(step);
    if (!next) break;
    at = *next;
  }
  problem.line = at.line();
  problem.column = at.column();
  return problem;
}

}  // namespace muster
