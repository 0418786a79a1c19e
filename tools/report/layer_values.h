// Records the value of every var of a run.
#ifndef ASHLAR_TOOLS_REPORT_LAYER_VALUES_H_
#define ASHLAR_TOOLS_REPORT_LAYER_VALUES_H_

#include <map>

#include "graph/tensor.h"
#include "tools/bound_session.h"

namespace ashlar {

// Values by var id, row-major.
using LayerValues = std::map<int, HostTensor>;

// Runs the session once, and copies each value when it is computed. Values that share the memory of
// the caller's input are left out.
absl::StatusOr<LayerValues> RunAndRecord(BoundSession& session);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_LAYER_VALUES_H_
