// Equalises the channels of a tensor, if the operators before and after it can take the scales into
// their weights.
#ifndef ASHLAR_QUANTIZATION_EQUALISE_H_
#define ASHLAR_QUANTIZATION_EQUALISE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// By var, the largest absolute value of each channel (dimension 1); empty if not known.
using ChannelPeaks = std::vector<std::vector<float>>;

struct EqualisedGraph {
  Graph graph;             // the same vars, with the same ids
  int scaled_tensors = 0;  // number of groups of tensors that were scaled
};

// Scales the channels by powers of two: in floats the graph computes the same function to the bit,
// unless a value under- or overflows.
absl::StatusOr<EqualisedGraph> EqualiseChannels(const Graph& graph, const ChannelPeaks& peaks);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_EQUALISE_H_
