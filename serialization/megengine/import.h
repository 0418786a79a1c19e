// From a MegEngine dump to a graph.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "serialization/megengine/dump.h"

namespace ashlar {

struct ImportOptions {
  uint64_t seed = 0;                             // of the weights, which a dump does not have
  int64_t most_weight_bytes = int64_t{4} << 30;  // of all constants
};

// The recorded graph under the recorded ids and names, on cpu0:0. Operators that nothing reads are
// left out (the marker by which MegEngine has workspaces inferred anew). A dump has no parameters
// of operators that never ran on the device: they follow from their types and the recorded shapes.
// Every recorded shape and value must be the one that inference finds. Workspace vars keep their
// recorded sizes.
//
// InvalidArgument names the place in the dump.
absl::StatusOr<Graph> ImportGraph(const ProfileRecording& recording,
                                  const ImportOptions& options = {});

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_IMPORT_H_
