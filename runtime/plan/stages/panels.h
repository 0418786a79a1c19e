// Computes operators with large weights in panels, so that memory need not hold all their weights
// together. Each panel is an ordinary operator; a Concat joins the panels, which most often are
// written into their places.
//
// Wide convolutions in front of depthwise or grouped ones are computed in groups of channels (fused
// depthwise tiling, Stahl et al. 2023): a group is expanded and filtered before the next, and the
// Concat joins the filtered groups, so the wide image never exists whole. If a convolution reads
// the filtered groups, and its sums take clearly fewer bytes, each group is added to its sums. In
// front of a convolution of one group, wide are images of more channels than before and after; then
// each group is added to its sums, too. Sums of 8-bit integers stay 32-bit integers, which only
// some devices compute (Device::adds_quantized).
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Returns the bytes that a node's constant input takes as its kernel packs it.
using WeightBytes = std::function<int64_t(int node, int input)>;

// Cuts operators of which a constant takes more than `panel_bytes`, packed (null: as it is), and
// wide convolutions into groups of channels whose rows have at most `group_bytes`, but at least a
// block of channels. 0: none. `integer_sums`: the device has kernels for sums of 32-bit integers.
// Runs after all passes, before tiles.
absl::StatusOr<Graph> CutIntoPanels(const Graph& graph, const OperatorTable& operators,
                                    int64_t panel_bytes, int64_t group_bytes = 0,
                                    const WeightBytes& packed = nullptr, bool integer_sums = true);

// Cuts operators into the panels that operators of the same name have in `cut`, a graph that
// CutIntoPanels returned, without groups. Its shapes may be others.
absl::StatusOr<Graph> CutIntoPanelsOf(const Graph& cut, const Graph& graph,
                                      const OperatorTable& operators);

// Returns the bytes of the widest row that could be computed in groups of channels; 0 if there is
// none.
int64_t WidestGroupRow(const Graph& graph, const OperatorTable& operators);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_
