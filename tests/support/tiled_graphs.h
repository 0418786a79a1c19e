// Random graphs of image operators, and their reference evaluation.
#ifndef ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_
#define ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_

#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar::testing {

// The operators of a random graph.
enum class GraphKinds {
  kAll,
  // Without padding and nearest resizing, which GPUs compose of operators that cannot be tiled, and
  // which have values on the host; and without shared weights.
  kFew,
};

// Returns a chain or a graph with joins. Its operators are convolutions (strides, dilations,
// groups, padding of each side), pools (overlapping, with more padding at the end), pointwise
// operators, normalisations, padding, nearest resizing, sums and concatenations. Some convolutions
// share weights. Its input is node 0; every var without a reader is an output. Images and filters
// have up to `max_channels` channels; grouped convolutions and joins make more.
Graph RandomImageGraph(std::mt19937_64& random, bool joins, int64_t max_channels = 4,
                       GraphKinds kinds = GraphKinds::kAll);

// Returns random tiles for the operators between the input and the last output of such a graph, in
// one or two levels.
TileSpec RandomTiles(std::mt19937_64& random, const Graph& graph);

// Returns random tiles for some operators that follow each other: a segment that may begin and end
// at several tensors.
TileSpec RandomWideTiles(std::mt19937_64& random, const Graph& graph);

// Returns the outputs, by the operators' own evaluation, in the order of Graph::outputs().
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph, const HostTensor& input);

// Returns how many elements differ, bit by bit; -1 if shapes or dtypes differ.
int64_t CountDifferences(const HostTensor& a, const HostTensor& b);

// Returns the largest difference over the largest magnitude of `expected`; infinite if a NaN or a
// shape differs.
double RelativeError(const HostTensor& actual, const HostTensor& expected);

// Returns the indices of the nodes of a graph, in its order.
std::vector<int> NodesInOrder(const Graph& graph);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_
