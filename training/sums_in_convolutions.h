// Sums of gradients that are made as one of their terms is: of a block's input, by all who read it.
#ifndef ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_
#define ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Where a transposed convolution makes the later term of a sum, and nothing else reads that term,
// it adds it to the earlier one (ConvolutionBackwardData::kZ), in whose place the sum may be: one
// tensor less at a time, and one pass over it. The same but for the rounding of sums.
absl::StatusOr<Graph> SumGradientsInConvolutions(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_
