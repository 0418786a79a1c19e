// Results whose sizes depend on data, cut to their counts.
#ifndef ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_
#define ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_

#include "serialization/npz.h"

namespace ashlar {

// An output "y" with an output "y.count" beside it (Int64, rank 0) is cut to its first places:
// along the first axis, or along axis 1 if it is "y.count1". Others stay as they are.
NamedTensors CutToCounts(NamedTensors outputs);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_
