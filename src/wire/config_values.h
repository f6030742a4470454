// The values of a configuration before they have types: key with dots -> text and source. Merging
// is setting them from the lowest precedence to the highest.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/config.h"

namespace muster {

struct ConfigText {
  std::string text;
  ConfigSource source;
  // For problems with the value.
  std::string where;
  int line = 0;
  int column = 0;
};
using ConfigValues = std::map<std::string, ConfigText>;

// Keys of the top level but `clusters`, and those of a cluster ("pool.max" included).
const std::vector<std::string>& TopConfigKeys();
const std::vector<std::string>& ClusterConfigKeys();

// Reads one file into `values`. A file that is not there is no problem.
void ReadConfigFile(const std::string& path, ConfigOrigin origin, ConfigValues& values,
                    LoadedConfig& loaded);

// Names of the clusters that `values` speak of, sorted.
std::vector<std::string> ClusterNamesIn(const ConfigValues& values);

}  // namespace muster
