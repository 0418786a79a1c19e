// Vars of the way to a loss that are made again on the way back, so that they need not be kept in
// between: a step of training in less memory (Griewank and Walther 2008, "Evaluating Derivatives",
// chapter 12; Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
#ifndef ASHLAR_GRAPH_RECOMPUTE_H_
#define ASHLAR_GRAPH_RECOMPUTE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// By node, whether `var` depends on it: what makes it, and what that is made of. And what makes of
// vars on that way something much smaller, as indices of maxima, for the way back.
std::vector<bool> NodesTowards(const Graph& graph, int var);

// Whether a var may be made again: its node makes nothing else, is no input, constant or
// state, and changes no state.
bool CanMakeAgain(const Graph& graph, int var);
// Whether that takes no more than a few operations an element: what is made of a var so is worth no
// memory of its own while that var is kept.
bool IsCheap(const Graph& graph, int var);

// How often a var is made again: by var of a graph, kKept, kAnew for each reader, or a number,
// where copies before the last are made for one reader each, and the last stays for all further
// ones. A stretch whose numbers all rise by one is passed through once more before it is as it was:
// nested checkpoints. Vars that CanMakeAgain refuses stay as they are.
using MadeAgain = std::vector<uint8_t>;
constexpr uint8_t kKept = 0, kOnce = 1, kAnew = UINT8_MAX;

// All that is cheap and would be kept for the way back besides what it is made of: a sum of
// normalised tensors, but not the one tensor that an activation reads whose input nobody else
// needs. `loss` is a var of the graph.
MadeAgain CheapToMakeAgain(const Graph& graph, int loss);

// The graph in another order, with copies. What `loss` depends on comes first. Behind that, what
// reads a var of `again` reads a copy that is made right before, of kept vars and of other copies.
// A copy that does not stay serves readers that follow within `reach` nodes. Updates of states
// stand right behind what they wait for. Values stay as they are to the last bit where a kernel is
// chosen by its operator alone.
absl::StatusOr<Graph> Recompute(const Graph& graph, int loss, const MadeAgain& again, int reach);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RECOMPUTE_H_
