// Fuses sums of gradients (of a tensor with several readers) into the convolution that makes one
// term.
#ifndef ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_
#define ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Fuses a sum into the transposed convolution that makes its later term, if nothing else reads that
// term. The convolution adds its result to the earlier term (ConvolutionBackwardData::kZ), which
// the sum may overwrite. So one tensor less is live, and one pass over memory less is made. Values
// are the same, except for the rounding of sums.
absl::StatusOr<Graph> SumGradientsInConvolutions(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_SUMS_IN_CONVOLUTIONS_H_
