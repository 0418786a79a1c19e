// Compares what two graphs compute, where their operators differ.
#ifndef ASHLAR_SERIALIZATION_SAME_VALUES_H_
#define ASHLAR_SERIALIZATION_SAME_VALUES_H_

#include "graph/graph.h"

namespace ashlar {

// Returns whether both graphs, evaluated on the host with the same random inputs, have the same
// outputs: types, names and values, integers to the bit and floats to rounding. False if an
// evaluation fails, or if one takes more than 2^28 operations.
bool HaveSameValues(const Graph& a, const Graph& b);

// Returns whether HaveSameValues evaluates the graph: it takes at most 2^28 operations.
bool IsCheap(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_SAME_VALUES_H_
