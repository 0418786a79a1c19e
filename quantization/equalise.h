// Channels of one tensor brought nearer to one another, where the operators before and behind it
// take the scales into their weights.
#ifndef ASHLAR_QUANTIZATION_EQUALISE_H_
#define ASHLAR_QUANTIZATION_EQUALISE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// By var, the largest absolute value of each channel (dimension 1); empty where it is not known.
using ChannelPeaks = std::vector<std::vector<float>>;

struct EqualisedGraph {
  Graph graph;             // the same vars, of the same ids
  int scaled_tensors = 0;  // groups of tensors that got scales
};

// Scales are powers of two: in floats the graph computes the same function to the bit, as long as
// nothing under- or overflows.
absl::StatusOr<EqualisedGraph> EqualiseChannels(const Graph& graph, const ChannelPeaks& peaks);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_EQUALISE_H_
