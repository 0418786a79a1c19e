// Imports a MegEngine dump as a graph.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "serialization/megengine/dump.h"

namespace ashlar {

struct ImportOptions {
  uint64_t seed = 0;                             // for the weights, which a dump does not contain
  int64_t most_weight_bytes = int64_t{4} << 30;  // of all constants together
};

// Returns the recorded graph with the recorded ids and names, on cpu0:0.
// - Operators without readers are left out (MegEngine's marker for inferring workspaces again).
// - A dump lacks the parameters of operators that never ran on the device; they are derived from
//   their types and the recorded shapes.
// - Every recorded shape and value must equal the inferred one.
// - Workspace vars keep their recorded sizes.
//
// Returns InvalidArgument, naming the place in the dump.
absl::StatusOr<Graph> ImportGraph(const ProfileRecording& recording,
                                  const ImportOptions& options = {});

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_
