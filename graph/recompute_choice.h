// Chooses the forward vars that the backward pass recomputes instead of saving them.
#ifndef ASHLAR_GRAPH_RECOMPUTE_CHOICE_H_
#define ASHLAR_GRAPH_RECOMPUTE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace ashlar {

// Returns for each node whether `var` depends on it. Also marks nodes that condense such vars into
// something much smaller for the backward pass, such as indices of maxima.
std::vector<bool> NodesTowards(const Graph& graph, int var);

// Returns whether a var may be recomputed: its node has no other output, is no input, constant or
// state, and changes no state.
bool CanMakeAgain(const Graph& graph, int var);
// Returns whether recomputing takes only a few operations per element. While its inputs are saved,
// such a var needs no memory of its own.
bool IsCheap(const Graph& graph, int var);

// How often each var of a graph is recomputed: kKept (never), kAnew (for each reader), or a number
// n. With n, each of the first n - 1 copies serves one reader; the last copy stays for all further
// readers. Raising all numbers of a range by one passes through the range once more, as nested
// checkpoints do. Vars that CanMakeAgain refuses are not changed.
using MadeAgain = std::vector<uint8_t>;
constexpr uint8_t kKept = 0, kOnce = 1, kAnew = UINT8_MAX;

// Returns all cheap vars that would be saved in addition to their inputs. Example: a sum of
// normalised tensors is recomputed; the only tensor that an activation reads is not, if nothing
// else needs its input. `loss` is a var of the graph.
MadeAgain CheapToMakeAgain(const Graph& graph, int loss);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RECOMPUTE_CHOICE_H_
