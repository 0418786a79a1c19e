// Random graphs of image operators, and what they compute by the reference.
#ifndef ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_
#define ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_

#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar::testing {

// A chain or a graph with joins: convolutions (strides, dilations, groups, padding of each side),
// pools (overlapping, with more padding at the end), pointwise operators, normalisations, sums and
// concatenations. Its input is node 0; every var of it that nothing reads is an output. Images and
// filters have up to `max_channels` channels, grouped convolutions and joins make more.
Graph RandomImageGraph(std::mt19937_64& random, bool joins, int64_t max_channels = 4);

// Random tiles for the operators between the input and the last output of such a graph, one or two
// levels of them.
TileSpec RandomTiles(std::mt19937_64& random, const Graph& graph);

// The outputs, by the operators' own evaluation, in the order of Graph::outputs().
absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph, const HostTensor& input);

// Elements that differ, bit by bit; -1 where the shapes do.
int64_t CountDifferences(const HostTensor& a, const HostTensor& b);

// The largest difference over the largest magnitude of `expected`; infinite where a NaN or a shape
// differs.
double RelativeError(const HostTensor& actual, const HostTensor& expected);

// Indices of the nodes of a graph, in its order.
std::vector<int> NodesInOrder(const Graph& graph);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_TILED_GRAPHS_H_
