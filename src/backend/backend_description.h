// What a kind of cluster can do and where its limits are: plain data, shown by `muster cluster`,
// and the source of its row in the manual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace muster {

// How a repeated Submit is kept from running twice.
enum class SubmitStyle : uint8_t {
  kByName,  // the cluster refuses a second thing of the same name
  kFind,    // we search before we submit, and the executor claims
};
// Who holds a launch to its size.
enum class LimitsStyle : uint8_t {
  kEnforced,   // by cgroups that the executor makes
  kWatched,    // the executor measures and kills
  kContainer,  // by the cluster, as a whole
};

struct BackendDescription {
  std::string kind;      // "local": the word in muster.yaml
  std::string sentence;  // what it runs launches on
  SubmitStyle submit = SubmitStyle::kByName;
  // How long what was submitted may stay invisible to looks.
  Duration settle{0};
  LimitsStyle limits = LimitsStyle::kWatched;
  size_t name_length = 0;     // longest name it takes
  std::string name_alphabet;  // "a-z 0-9 -"
  size_t batch_size = 1;      // launches of one Submit that become one request
  size_t parallel_calls = 1;
  uint64_t array_size = 0;    // largest array it runs as one thing; 0: none
  size_t result_channel = 0;  // bytes a launch can hand back through the cluster; 0: none
  bool streams = false;       // has Watch
  bool keeps_logs = false;    // OpenLog works after the launch ended
  bool outlives_controller = false;
  std::vector<std::string> cannot;  // what users may expect and it lacks, one line each
};

std::string_view ToString(SubmitStyle style);
std::string_view ToString(LimitsStyle style);

// The table of kinds in the manual (Markdown): its two head lines, and the row of one kind.
std::string RenderCapabilityHead();
std::string RenderCapabilityRow(const BackendDescription& description);

}  // namespace muster
