// Names parts of a graph by their contents, so that all results for a part of one graph hold for an
// equal part of another: rewrites of one graph have most segments in common.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_KEYS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_KEYS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/plan/tiling/tiling_costs.h"

namespace ashlar {

class SegmentKeys {
 public:
  // `costs`: numbers the contents of operators. All arguments must outlive this.
  SegmentKeys(const Graph& graph, absl::Span<const int> order, TilingCosts& costs);

  // Returns a key of the nodes between two cuts, in tiles. Equal keys have equal operators (type,
  // parameters, types of inputs and outputs, values that shapes depend on) that read each other
  // alike; weights may differ.
  std::string Of(const GraphCut& from, const GraphCut& to, const TileSpec& tiles) const;
  // The same of all nodes.
  std::string OfAll(const TileSpec& tiles) const;

 private:
  void AppendNodes(int first, int last, const TileSpec& tiles, std::string& key) const;
  void AppendVar(int var, int first, std::string& key) const;
  // Returns segments whose ends are positions in the order, from `first`.
  std::vector<TileSegment> Moved(std::vector<TileSegment> segments, int first) const;

  const Graph& graph_;
  const absl::Span<const int> order_;
  TilingCosts& costs_;
  std::vector<int> position_;  // by node; -1: not in the order
  std::vector<int> contents_;  // by position: TilingCosts::NumberOf
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_KEYS_H_
