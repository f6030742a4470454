// The only door to yaml-cpp. Prefer wire/doc_tree.h (ParseYamlTree): it bounds depth and aliases,
// and never throws. Exceptions must not leave the file that includes this.
#pragma once

#include <yaml-cpp/eventhandler.h>  // IWYU pragma: export
#include <yaml-cpp/yaml.h>          // IWYU pragma: export
