// How far the outputs of a plan may be from the outputs of the whole model.
#ifndef ASHLAR_TOOLS_OUTPUT_TOLERANCE_H_
#define ASHLAR_TOOLS_OUTPUT_TOLERANCE_H_

#include <vector>

#include "graph/graph.h"
#include "runtime/measure/measure.h"
#include "tools/difference.h"

namespace ashlar {

struct OutputTolerance {
  Tolerance tolerance;
  // Whether the output depends on integers that were rounded from computed floats. Sums in another
  // order, such as the reference's, move more of these.
  bool rounds_floats = false;
};

// Returns the tolerance of each output, in the order of Graph::outputs(). It depends on all
// computations between inputs and output, in the graph before passes:
//
//   none, or all exact (integers, 8 bits, movement, comparisons, maxima)   equal bits
//   floats                                       `compare`'s default; a step of 16 bits if they
//                                                compute in 16 bits or TF32, whose fractions are as
//                                                long
//   floats, then choices (indices, truths)       equal bits
//   floats, then rounded to integers or 8 bits   1 step, and half a step in the root of the mean
//                                                square
//   and n operators more, the last of 8 bits     1 + n steps, and half a step likewise
//   and dequantised                              the same, in the scale of the last 8-bit tensor
//   and other operators                          2% of the signal in the root of the mean square
//
// A float that rounds differently crosses a boundary between two integers by at most one step. An
// 8-bit operator turns such a step into at most about one of its own, because its output's range
// covers its sums. Few elements are so close to a boundary, so a shift of all elements by one step
// exceeds half a step.
std::vector<OutputTolerance> OutputTolerances(const Graph& graph, const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OUTPUT_TOLERANCE_H_
