#include "graph/tiling/tile_record.h"

#include <utility>

#include "graph/status.h"
#include "graph/tiling/reached.h"

namespace ashlar {

int TileRecord::Begin(const FoundSegment& segment, int64_t row, int64_t column,
                      const Regions& made) {
  const int outer = at_;
  if (parts_ == nullptr) return outer;
  TiledPart part;
  part.segment = segment.spec;
  part.segment.inner.clear();
  part.row = row;
  part.column = column;
  part.outer = outer;
  const auto last = made.find(builder_.source().node(segment.nodes.back()).outputs[0]);
  if (last != made.end()) part.output = last->second;
  at_ = static_cast<int>(parts_->size());
  parts_->push_back(std::move(part));
  return outer;
}

absl::Status TileRecord::AddOperator(int node, const Region& region) {
  if (parts_ == nullptr) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed, builder_.InputRegions(node, region));
  const OperatorPtr& op = builder_.source().node(node).op;
  TiledOperator tiled{node, region, needed.empty() ? Region() : needed[0], op};
  if (auto at = op->AtRegion(region, needed, builder_.site(node))) {
    tiled.op = at->op;
  }
  (*parts_)[at_].operators.push_back(std::move(tiled));
  return absl::OkStatus();
}

void TileRecord::AddJoined(int node, const Range& rows) {
  if (parts_ == nullptr) return;
  const Site site = builder_.site(node);
  Region input = WholeRegion(site.inputs[0].type.shape);
  input[kAxisH] = rows;
  (*parts_)[at_].operators.push_back({node, WholeRegion(site.outputs[0].shape), std::move(input),
                                      builder_.JoinRows(node, rows)->op});
}

absl::Status TileRecord::AddReached(const FoundSegment& segment, int64_t row, int64_t column) {
  if (parts_ == nullptr) return absl::OkStatus();
  TiledPart& part = (*parts_)[at_];
  Regions unclipped_rows, unclipped_columns;
  ASHLAR_ASSIGN_OR_RETURN(Regions rows, ReachedRegions(builder_, segment, kAxisH, row,
                                                       segment.spec.count, &unclipped_rows));
  ASHLAR_ASSIGN_OR_RETURN(
      Regions columns, ReachedRegions(builder_, segment, kAxisW, column, segment.spec.count_width,
                                      &unclipped_columns));
  part.input = rows[segment.inputs[0]];
  part.input[kAxisW] = columns[segment.inputs[0]][kAxisW];
  for (int node : segment.nodes) {
    const int var = builder_.source().node(node).outputs[0];
    if (!unclipped_rows.contains(var) || !unclipped_columns.contains(var)) continue;
    ReachedRegion reached{node, unclipped_rows[var], {}};
    reached.unclipped[kAxisW] = unclipped_columns[var][kAxisW];
    reached.clipped = Clip(reached.unclipped, builder_.source().var(var).type.shape);
    part.reached.push_back(std::move(reached));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
