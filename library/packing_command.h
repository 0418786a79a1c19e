// The command that packs a model's weights.
#ifndef ASHLAR_LIBRARY_PACKING_COMMAND_H_
#define ASHLAR_LIBRARY_PACKING_COMMAND_H_

#include <string>

#include "runtime/plan/record/packed_model.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// Returns "ashlar convert MODEL -o FILE.ash --pack --weights-budget 4194304": the command that
// packs the weights of the file `path` for this request.
std::string PackingCommand(const std::string& path, const PlanRequest& request);

// Returns what to do if the packed weights of the file `path` do not suit a request that streams
// them, as the end of a sentence: plan as they are packed, or pack them again.
std::string AdviceToPack(const PackedModel& packed, const std::string& path,
                         const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PACKING_COMMAND_H_
