// The tiled rewrite. From the last tensor of a segment backwards each region of the output asks its
// operators what region of their inputs it needs (receptive fields); the operators are then made
// again, region by region, in the order given. Rows that two strips share are computed again, or
// kept from one strip to the next (line buffers; Alwani et al. 2016, Fused-layer CNN accelerators).
#include "graph/tiling/tile.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_geometry.h"
#include "graph/tiling/tile_lines.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {
namespace {

constexpr int kN = 0, kH = 2, kW = 3;  // dimensions of images

// What there is while a part of a segment is emitted: its own pieces, then those around it.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  void Set(int var, Piece piece) { pieces_[var] = std::move(piece); }
  bool Has(int var) const {
    return pieces_.contains(var) || (outer_ != nullptr && outer_->Has(var));
  }
  const Piece& Find(int var) const {
    const auto it = pieces_.find(var);
    return it != pieces_.end() ? it->second : outer_->Find(var);
  }

 private:
  const Scope* outer_;
  absl::flat_hash_map<int, Piece> pieces_;
};

// Part `index` of `count` of a range.
Range PartOf(const Range& range, int64_t index, int64_t count) {
  return {range.begin + range.size() * index / count,
          range.begin + range.size() * (index + 1) / count};
}

class Tiler {
 public:
  // With `record`, all parts are added to it.
  Tiler(const Graph& graph, const OperatorTable& operators,
        std::vector<TiledPart>* record = nullptr)
      : b_(graph, operators), record_(record) {}

  absl::StatusOr<Graph> Run(const TileSpec& spec, absl::Span<const int> order) && {
    const std::vector<int> nodes = CompleteOrder(b_.source(), order);
    ASHLAR_ASSIGN_OR_RETURN(const TileItems items, FindSegments(b_.source(), spec.segments, nodes));
    Scope scope;
    for (const TileItem& item : items.items) {
      if (item.segment < 0) {
        ASHLAR_RETURN_IF_ERROR(AddWhole(item.node, scope));
        continue;
      }
      const FoundSegment& segment = items.segments[item.segment];
      Regions wanted;
      for (int var : segment.outputs) wanted[var] = WholeRegion(TypeOf(var).shape);
      ASHLAR_RETURN_IF_ERROR(EmitSegment(segment, wanted, scope, {false, ""}));
    }
    return std::move(b_).Finish();
  }

 private:
  // How the operators of a part are made.
  struct Style {
    bool rows = false;  // images in rows
    std::string part;   // appended to names
  };

  const TensorType& TypeOf(int var) const { return b_.source().var(var).type; }

  absl::Status AddWhole(int node, Scope& scope) {
    const OperatorNode& n = b_.source().node(node);
    std::vector<int> inputs;
    for (int var : n.inputs) inputs.push_back(scope.Find(var).var);
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs, b_.AddWhole(n, inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      scope.Set(n.outputs[i], {outputs[i], WholeRegion(TypeOf(n.outputs[i]).shape)});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Piece> AddPart(int node, const Region& region, const Scope& scope,
                                const Style& style) {
    if (record_ != nullptr) ASHLAR_RETURN_IF_ERROR(RecordOperator(node, region));
    const OperatorNode& n = b_.source().node(node);
    std::vector<Piece> pieces;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const int var = n.inputs[i];
      // A shape that is computed in the segment is that of the whole, and no part makes it.
      if (n.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue && !scope.Has(var)) {
        ASHLAR_ASSIGN_OR_RETURN(pieces.emplace_back(), b_.Value(var));
        continue;
      }
      pieces.push_back(scope.Find(var));
    }
    return b_.AddPart(node, region, pieces, style.rows, style.part);
  }

  absl::Status RecordOperator(int node, const Region& region) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed, b_.InputRegions(node, region));
    const OperatorPtr& op = b_.source().node(node).op;
    TiledOperator tiled{node, region, needed.empty() ? Region() : needed[0], op};
    if (auto at = op->AtRegion(region, needed, b_.site(node))) {
      tiled.op = at->op;
    }
    (*record_)[part_].operators.push_back(std::move(tiled));
    return absl::OkStatus();
  }

  // Begins a part of a segment inside of the one that is being made; EndPart goes back to that.
  int BeginPart(const FoundSegment& segment, int64_t row, int64_t column, const Regions& made) {
    const int outer = part_;
    if (record_ == nullptr) return outer;
    TiledPart part;
    part.segment = segment.spec;
    part.segment.inner.clear();
    part.row = row;
    part.column = column;
    part.outer = outer;
    const auto last = made.find(b_.source().node(segment.nodes.back()).outputs[0]);
    if (last != made.end()) part.output = last->second;
    part_ = static_cast<int>(record_->size());
    record_->push_back(std::move(part));
    return outer;
  }
  void EndPart(int outer) { part_ = outer; }

  // What of each var has to be made so that there is what is in `regions` already.
  absl::Status AddNeeds(absl::Span<const int> nodes, Regions& regions) {
    for (size_t i = nodes.size(); i-- > 0;) {
      const OperatorNode& node = b_.source().node(nodes[i]);
      const auto region = regions.find(node.outputs[0]);
      if (region == regions.end()) continue;
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed,
                              b_.InputRegions(nodes[i], Region(region->second)));
      for (size_t k = 0; k < needed.size(); ++k) {
        if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue) continue;
        Region& sum = regions[node.inputs[k]];
        sum = Hull(sum, needed[k]);
      }
    }
    return absl::OkStatus();
  }

  // One part: all of what `regions` wants of the outputs of the operators.
  absl::Status EmitItems(const TileItems& items, absl::Span<const int> nodes, Regions regions,
                         Scope& scope, const Style& style) {
    ASHLAR_RETURN_IF_ERROR(AddNeeds(nodes, regions));
    for (const TileItem& item : items.items) {
      if (item.segment >= 0) {
        ASHLAR_RETURN_IF_ERROR(EmitSegment(items.segments[item.segment], regions, scope, style));
        continue;
      }
      const int var = b_.source().node(item.node).outputs[0];
      const auto region = regions.find(var);
      if (region == regions.end()) continue;
      ASHLAR_ASSIGN_OR_RETURN(Piece piece, AddPart(item.node, region->second, scope, style));
      scope.Set(var, std::move(piece));
    }
    return absl::OkStatus();
  }

  absl::Status EmitSegment(const FoundSegment& segment, const Regions& wanted, Scope& scope,
                           const Style& style) {
    Regions outputs;
    for (int var : segment.outputs) {
      if (const auto region = wanted.find(var); region != wanted.end()) outputs.insert(*region);
    }
    if (outputs.empty()) return absl::OkStatus();
    for (const auto& [var, region] : outputs) {
      ASHLAR_RETURN_IF_ERROR(CheckParts(segment, var, region));
    }
    if (segment.spec.kind == TileKind::kLines) return EmitLines(segment, outputs, scope, style);
    return EmitTiles(segment, outputs, scope, style);
  }

  absl::Status TooManyParts(const TileSegment& spec, int64_t parts, int64_t size,
                            absl::string_view what, int var) const {
    return absl::InvalidArgumentError(absl::StrCat("tile segment ", spec.from, "-", spec.to, ": ",
                                                   parts, " parts of ", size, " ", what, " of ",
                                                   b_.source().var(var).name));
  }

  absl::Status CheckParts(const FoundSegment& segment, int var, const Region& region) const {
    const TileSegment& spec = segment.spec;
    if (spec.kind == TileKind::kBatch) {
      const int64_t images = region.empty() ? 0 : region[kN].size();
      if (spec.count > images) return TooManyParts(spec, spec.count, images, "images", var);
      return absl::OkStatus();
    }
    if (region.size() != 4) return TooManyParts(spec, spec.count, 0, "rows", var);
    if (spec.kind == TileKind::kInputGrid || spec.kind == TileKind::kLines) {
      return absl::OkStatus();
    }
    if (spec.count > region[kH].size()) {
      return TooManyParts(spec, spec.count, region[kH].size(), "rows", var);
    }
    if (spec.count_width > region[kW].size()) {
      return TooManyParts(spec, spec.count_width, region[kW].size(), "columns", var);
    }
    return absl::OkStatus();
  }

  // Along one axis of each output, the parts that tiles make and the parts that they own.
  struct Cuts {
    int axis = 0;
    int64_t count = 1;
    std::vector<absl::flat_hash_map<int, Range>> made, owned;  // by tile: by var
  };

  absl::StatusOr<Cuts> CutOutputs(const FoundSegment& segment, const Regions& outputs, int axis,
                                  int64_t count) {
    Cuts cuts{axis, count, {}, {}};
    absl::flat_hash_map<int, int64_t> end;  // of what is owned
    for (const auto& [var, region] : outputs) end[var] = region[axis].begin;
    for (int64_t i = 0; i < count; ++i) {
      cuts.made.emplace_back();
      cuts.owned.emplace_back();
      Regions reached;
      if (segment.spec.kind == TileKind::kInputGrid) {
        ASHLAR_ASSIGN_OR_RETURN(reached, OutputsOf(segment, axis, i, count));
      }
      for (const auto& [var, region] : outputs) {
        Range made = PartOf(region[axis], i, count);
        if (segment.spec.kind == TileKind::kInputGrid) {
          made = Intersection(reached.contains(var) ? reached[var][axis] : Range{}, region[axis]);
          // Outputs that see nothing but padding belong to the tiles next to them.
          if (made.empty()) made = {end[var], end[var]};
          if (i + 1 == count) made.end = region[axis].end;
          made.begin = std::min(made.begin, end[var]);
        }
        cuts.made.back()[var] = made;
        cuts.owned.back()[var] = {end[var], std::max(end[var], made.end)};
        end[var] = std::max(end[var], made.end);
      }
    }
    return cuts;
  }

  // By var, what depends on part `index` of the segment's input.
  absl::StatusOr<Regions> OutputsOf(const FoundSegment& segment, int axis, int64_t index,
                                    int64_t count, Regions* unclipped = nullptr) {
    Regions reached;
    Region& input = reached[segment.input];
    input = WholeRegion(TypeOf(segment.input).shape);
    if (static_cast<int>(input.size()) <= axis) {
      return absl::InvalidArgumentError("a grid over the input of a segment that is no image");
    }
    input[axis] = PartOf(input[axis], index, count);
    for (int node : segment.nodes) {
      const OperatorNode& n = b_.source().node(node);
      Region sum;
      for (size_t k = 0; k < n.inputs.size(); ++k) {
        const auto region = reached.find(n.inputs[k]);
        if (region == reached.end()) continue;
        const std::optional<Region> output =
            n.op->OutputRegion(static_cast<int>(k), region->second, b_.site(node));
        if (!output) {
          return absl::InvalidArgumentError(
              absl::StrCat(Describe(n), " does not say what a part of it reaches"));
        }
        sum = Hull(sum, *output);
      }
      if (sum.empty()) continue;
      if (unclipped != nullptr) (*unclipped)[n.outputs[0]] = sum;
      sum = Clip(sum, TypeOf(n.outputs[0]).shape);
      if (!IsEmpty(sum)) reached[n.outputs[0]] = sum;
    }
    return reached;
  }

  // The product of what the rows and the columns of a part of the input reach.
  absl::Status RecordReached(const FoundSegment& segment, int64_t row, int64_t column) {
    TiledPart& part = (*record_)[part_];
    Regions unclipped_rows, unclipped_columns;
    ASHLAR_ASSIGN_OR_RETURN(Regions rows,
                            OutputsOf(segment, kH, row, segment.spec.count, &unclipped_rows));
    ASHLAR_ASSIGN_OR_RETURN(
        Regions columns,
        OutputsOf(segment, kW, column, segment.spec.count_width, &unclipped_columns));
    part.input = rows[segment.input];
    part.input[kW] = columns[segment.input][kW];
    for (int node : segment.nodes) {
      const int var = b_.source().node(node).outputs[0];
      if (!unclipped_rows.contains(var) || !unclipped_columns.contains(var)) continue;
      ReachedRegion reached{node, unclipped_rows[var], {}};
      reached.unclipped[kW] = unclipped_columns[var][kW];
      reached.clipped = Clip(reached.unclipped, TypeOf(var).shape);
      part.reached.push_back(std::move(reached));
    }
    return absl::OkStatus();
  }

  absl::Status EmitTiles(const FoundSegment& segment, const Regions& outputs, Scope& scope,
                         const Style& style) {
    const TileSegment& spec = segment.spec;
    const bool batch = spec.kind == TileKind::kBatch;
    ASHLAR_ASSIGN_OR_RETURN(const Cuts outer,
                            CutOutputs(segment, outputs, batch ? kN : kH, spec.count));
    Cuts inner;
    if (spec.count_width > 1) {
      ASHLAR_ASSIGN_OR_RETURN(inner, CutOutputs(segment, outputs, kW, spec.count_width));
    }
    absl::flat_hash_map<int, std::vector<Piece>> columns;  // by output
    for (int64_t i = 0; i < outer.count; ++i) {
      absl::flat_hash_map<int, std::vector<Piece>> row;
      for (int64_t j = 0; j < inner.count; ++j) {
        Regions made, owned;
        for (const auto& [var, region] : outputs) {
          Region tile = region, own = region;
          tile[outer.axis] = outer.made[i].at(var);
          own[outer.axis] = outer.owned[i].at(var);
          if (spec.count_width > 1) {
            tile[inner.axis] = inner.made[j].at(var);
            own[inner.axis] = inner.owned[j].at(var);
          }
          // A tile may be for the gradients of its input alone: of use where it is described.
          if (IsEmpty(tile) || (IsEmpty(own) && record_ == nullptr)) continue;
          made[var] = std::move(tile);
          if (!IsEmpty(own)) owned[var] = std::move(own);
        }
        if (made.empty()) continue;
        Scope tile(&scope);
        Style part{style.rows || !batch, absl::StrCat(style.part, "/", i)};
        if (spec.count_width > 1) absl::StrAppend(&part.part, ",", j);
        const int around = BeginPart(segment, i, j, made);
        if (record_ != nullptr && spec.kind == TileKind::kInputGrid) {
          ASHLAR_RETURN_IF_ERROR(RecordReached(segment, i, j));
        }
        ASHLAR_RETURN_IF_ERROR(EmitItems(segment.parts, segment.nodes, made, tile, part));
        EndPart(around);
        for (const auto& [var, region] : owned) {
          ASHLAR_ASSIGN_OR_RETURN(Piece piece, b_.Crop(tile.Find(var), region));
          row[var].push_back(std::move(piece));
        }
      }
      for (const auto& [var, pieces] : row) {
        ASHLAR_ASSIGN_OR_RETURN(Piece piece, b_.Join(pieces, kW));
        columns[var].push_back(std::move(piece));
      }
    }
    return JoinOutputs(columns, outer.axis, scope);
  }

  absl::Status EmitLines(const FoundSegment& segment, const Regions& outputs, Scope& scope,
                         const Style& style) {
    Regions total = outputs;
    ASHLAR_RETURN_IF_ERROR(AddNeeds(segment.nodes, total));
    if (!total.contains(segment.input) || total.at(segment.input).size() != 4) {
      return absl::InvalidArgumentError(absl::StrCat("tile segment ", segment.spec.from, "-",
                                                     segment.spec.to, " begins with no image"));
    }
    if (const int64_t rows = total.at(segment.input)[kH].size(); segment.spec.count > rows) {
      return TooManyParts(segment.spec, segment.spec.count, rows, "rows", segment.input);
    }
    ASHLAR_ASSIGN_OR_RETURN(
        const LineSchedule lines,
        ScheduleLines(b_, segment.nodes, segment.input, total, segment.spec.count));
    absl::flat_hash_map<int, std::vector<Piece>> columns;
    Scope strips(&scope);
    absl::flat_hash_map<int, Piece> kept;  // by var: rows of the strip before
    for (size_t t = 0; t < lines.steps.size(); ++t) {
      const LineStep& step = lines.steps[t];
      const int around = BeginPart(segment, static_cast<int64_t>(t), 0, {});
      const Style part{true, absl::StrCat(style.part, "/", t)};
      const auto keep = [&](int var) -> absl::Status {
        const auto rows = step.keep.find(var);
        if (rows == step.keep.end()) {
          kept.erase(var);
          return absl::OkStatus();
        }
        const Piece strip = strips.Find(var);
        Region region = strip.region;
        region[kH] = rows->second;
        // A strip that is not longer, or that nothing was added to, stays as it is.
        const bool stays = region == strip.region || !step.made.contains(var);
        if (stays) {
          kept[var] = strip;
          return absl::OkStatus();
        }
        ASHLAR_ASSIGN_OR_RETURN(kept[var], b_.Copy(strip, region));
        return absl::OkStatus();
      };
      for (size_t i = 0; i < segment.nodes.size(); ++i) {
        const int node = segment.nodes[i];
        const int var = b_.source().node(node).outputs[0];
        const auto rows = step.made.find(var);
        if (rows == step.made.end()) continue;
        // What this node is the last to read is kept before it, so that it may overwrite the rest.
        for (int input : step.last_read[i]) ASHLAR_RETURN_IF_ERROR(keep(input));
        Region region = total.at(var);
        region[kH] = rows->second;
        ASHLAR_ASSIGN_OR_RETURN(const Piece made, AddPart(node, region, strips, part));
        if (outputs.contains(var)) columns[var].push_back(made);
        Piece strip = made;
        if (const auto before = kept.find(var); before != kept.end()) {
          Region halo = before->second.region;
          halo[kH] = {lines.steps[t - 1].keep.at(var).begin, rows->second.begin};
          ASHLAR_ASSIGN_OR_RETURN(const Piece head, b_.Crop(before->second, halo));
          ASHLAR_ASSIGN_OR_RETURN(strip, b_.Join({head, made}, kH));
        }
        strips.Set(var, std::move(strip));
        if (step.unread.contains(var)) ASHLAR_RETURN_IF_ERROR(keep(var));
      }
      EndPart(around);
    }
    for (auto& [var, pieces] : columns) {
      // Readers inside of the segment may have wanted more rows than those outside.
      std::vector<Piece> wanted;
      for (const Piece& piece : pieces) {
        Region region = piece.region;
        region[kH] = Intersection(region[kH], outputs.at(var)[kH]);
        if (region[kH].empty()) continue;
        ASHLAR_ASSIGN_OR_RETURN(Piece crop, b_.Crop(piece, region));
        wanted.push_back(std::move(crop));
      }
      pieces = std::move(wanted);
    }
    return JoinOutputs(columns, kH, scope);
  }

  absl::Status JoinOutputs(const absl::flat_hash_map<int, std::vector<Piece>>& pieces, int axis,
                           Scope& scope) {
    for (const auto& [var, parts] : pieces) {
      ASHLAR_ASSIGN_OR_RETURN(Piece whole, b_.Join(parts, axis));
      scope.Set(var, std::move(whole));
    }
    return absl::OkStatus();
  }

  RegionBuilder b_;
  std::vector<TiledPart>* const record_;
  int part_ = -1;  // of record_: the one that is being made
};

}  // namespace

absl::StatusOr<Graph> Tile(const Graph& graph, const TileSpec& spec, absl::Span<const int> order,
                           const OperatorTable& operators) {
  return Tiler(graph, operators).Run(spec, order);
}

absl::StatusOr<std::vector<TiledPart>> DescribeTiles(const Graph& graph, const TileSpec& spec,
                                                     absl::Span<const int> order,
                                                     const OperatorTable& operators) {
  std::vector<TiledPart> record;
  ASHLAR_RETURN_IF_ERROR(Tiler(graph, operators, &record).Run(spec, order).status());
  return record;
}

}  // namespace ashlar
