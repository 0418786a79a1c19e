// The options that repeat a plan without its search.
#ifndef ASHLAR_TOOLS_REPEAT_OPTIONS_H_
#define ASHLAR_TOOLS_REPEAT_OPTIONS_H_

#include <string>
#include <vector>

#include "library/shell_text.h"
#include "runtime/plan/stages/planned_graph.h"
#include "training/recompute.h"

namespace ashlar {

// Returns the options with which the command makes this plan without a search
// (RequestOption::repeats). If weights were limited, no options name them, and the total budget
// itself is returned.
std::vector<std::string> OptionsToRepeat(const PlannedGraph& planned);

// Returns the same for a training step.
std::vector<std::string> OptionsToRepeat(const TileSpec& tiles, const RecomputeSpec& recompute);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPEAT_OPTIONS_H_
