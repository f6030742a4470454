#include "backend/ends.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace muster {
namespace {

constexpr std::array<EndRule, 10> kCommonRules{{
    {"out of memory", EndKind::kOom},
    {"oomkilled", EndKind::kOom},
    {"evicted", EndKind::kEvicted},
    {"preempted", EndKind::kPreempted},
    {"deadline exceeded", EndKind::kTimeout},
    {"node lost", EndKind::kNodeLost},
    {"machine restarted", EndKind::kNodeLost},
    {"keeper lost", EndKind::kExecutorLost},
    {"no space left", EndKind::kDiskFull},
    {"cancelled", EndKind::kCancelled},
}};

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool ContainsWords(std::string_view text, std::string_view words) {
  auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  auto from = text.begin();
  while (true) {
    auto at = std::search(from, text.end(), words.begin(), words.end(), same);
    if (at == text.end()) return false;
    auto after = at + static_cast<ptrdiff_t>(words.size());
    bool starts = at == text.begin() || !IsWordChar(*(at - 1));
    bool ends = after == text.end() || !IsWordChar(*after);
    if (starts && ends) return true;
    from = at + 1;
  }
}

}  // namespace

std::span<const EndRule> CommonEndRules() { return kCommonRules; }

EndReason DecideLaunchEnd(const LaunchObservation& observation, std::span<const EndRule> rules) {
  EndReason end;
  end.detail = observation.raw_reason;
  if (!observation.confirmed) return end;
  for (std::span<const EndRule> table : {rules, CommonEndRules()}) {
    for (const EndRule& rule : table) {
      if (!ContainsWords(observation.raw_reason, rule.words)) continue;
      end.kind = rule.kind;
      return end;
    }
  }
  if (observation.exit_signal) {
    end.kind = EndKind::kSignal;
    end.number = *observation.exit_signal;
  } else if (observation.exit_code) {
    end.kind = *observation.exit_code == 0 ? EndKind::kOk : EndKind::kFailed;
    end.number = *observation.exit_code;
  }
  return end;
}

}  // namespace muster
