// Results whose sizes depend on data, cut to their counts.
#ifndef ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_
#define ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_

#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "serialization/npz.h"

namespace ashlar {

// A size of an output that depends on data: another output (Int64, rank 0) says how many places
// along the axis are valid, and the others are fill.
struct CountedOutput {
  size_t output = 0, count = 0;  // indices into Graph::outputs()
  int axis = 0;
};

// Returns the outputs that have a count, by OutputParam. Names alone tell nothing.
std::vector<CountedOutput> CountedOutputsOf(const Graph& graph);

// Returns the graph's outputs. Outputs that have a count are cut to their first places.
NamedTensors CutToCounts(NamedTensors outputs, const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_COUNTED_RESULTS_H_
