// One arena shared by models that never run at once: as large as the largest of their arenas.
#ifndef ASHLAR_TOOLS_REPORT_SHARED_ARENA_H_
#define ASHLAR_TOOLS_REPORT_SHARED_ARENA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/json_output.h"

namespace ashlar {

// One of the models; sizes in bytes.
struct ArenaShare {
  std::string model;
  int64_t arena = 0, lower_bound = 0;
  int64_t weights = 0, input = 0, output = 0;  // not shared
};

ArenaShare ShareOf(const std::string& model, const PlannedGraph& planned);

std::string SharedArenaTable(const std::vector<ArenaShare>& shares);
Json SharedArenaDocument(const std::vector<ArenaShare>& shares);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_SHARED_ARENA_H_
