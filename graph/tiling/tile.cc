// The tiled rewrite, by fusion over receptive fields (Alwani et al. 2016, "Fused-Layer CNN
// Accelerators"). For each region of a segment's last tensor, the operators are asked, the last
// first, which regions of their inputs they need. The operators are then added region by region, in
// the given order. Overlaps of tiles are recomputed; line_strips.h keeps them.
#include "graph/tiling/tile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/line_strips.h"
#include "graph/tiling/part_builder.h"
#include "graph/tiling/reached.h"
#include "graph/tiling/tile_geometry.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {
namespace {

class Tiler {
 public:
  // If `record` is given, all tiles are appended to it.
  Tiler(const Graph& graph, const OperatorTable& operators, bool adds_quantized,
        std::vector<TiledPart>* record = nullptr)
      : parts_(graph, operators, adds_quantized, record) {}

  absl::StatusOr<Graph> Run(const TileSpec& spec, absl::Span<const int> order,
                            PartsOfNodes* parts = nullptr) && {
    const std::vector<int> nodes = CompleteOrder(parts_.source(), order);
    ASHLAR_ASSIGN_OR_RETURN(const TileItems items,
                            FindSegments(parts_.source(), spec.segments, nodes));
    Scope scope;
    for (const TileItem& item : items.items) {
      if (item.segment < 0) {
        ASHLAR_RETURN_IF_ERROR(parts_.AddWhole(item.node, scope));
        continue;
      }
      const FoundSegment& segment = items.segments[item.segment];
      Regions wanted;
      for (int var : segment.outputs)
        wanted[var] = WholeRegion(parts_.source().var(var).type.shape);
      ASHLAR_RETURN_IF_ERROR(EmitSegment(segment, wanted, scope, {false, ""}));
    }
    if (parts != nullptr) *parts = parts_.regions().parts();
    return std::move(parts_).Finish();
  }

 private:
  // Adds one tile: all regions of the operators' outputs in `regions`.
  absl::Status EmitItems(const TileItems& items, absl::Span<const int> nodes, Regions regions,
                         Scope& scope, const PartStyle& style) {
    ASHLAR_RETURN_IF_ERROR(parts_.AddNeeds(nodes, regions));
    for (const TileItem& item : items.items) {
      if (item.segment >= 0) {
        ASHLAR_RETURN_IF_ERROR(EmitSegment(items.segments[item.segment], regions, scope, style));
        continue;
      }
      const int var = parts_.source().node(item.node).outputs[0];
      const auto region = regions.find(var);
      if (region == regions.end()) continue;
      ASHLAR_ASSIGN_OR_RETURN(Piece piece, parts_.AddPart(item.node, region->second, scope, style));
      scope.Set(var, std::move(piece));
    }
    return absl::OkStatus();
  }

  absl::Status EmitSegment(const FoundSegment& segment, const Regions& wanted, Scope& scope,
                           const PartStyle& style) {
    Regions outputs;
    for (int var : segment.outputs) {
      if (const auto region = wanted.find(var); region != wanted.end()) outputs.insert(*region);
    }
    if (outputs.empty()) return absl::OkStatus();
    for (const auto& [var, region] : outputs) {
      ASHLAR_RETURN_IF_ERROR(CheckParts(segment, var, region));
    }
    if (IsLines(segment.spec.kind)) {
      ASHLAR_ASSIGN_OR_RETURN(const LineStrips strips,
                              AddLineStrips(parts_, segment, outputs, scope, style));
      return parts_.JoinOutputs(strips.outputs, kAxisH, scope);
    }
    if (const FoundSegment* strips = StripsOfColumns(segment)) {
      return EmitColumns(segment, *strips, outputs, scope, style);
    }
    return EmitTiles(segment, outputs, scope, style);
  }

  absl::Status CheckParts(const FoundSegment& segment, int var, const Region& region) const {
    const TileSegment& spec = segment.spec;
    if (spec.kind == TileKind::kBatch) {
      const int64_t images = region.empty() ? 0 : region[kAxisN].size();
      if (spec.count > images)
        return TooManyParts(parts_.source(), spec, spec.count, images, "images", var);
      return absl::OkStatus();
    }
    if (region.size() != 4) return TooManyParts(parts_.source(), spec, spec.count, 0, "rows", var);
    if (spec.kind == TileKind::kInputGrid || IsLines(spec.kind)) return absl::OkStatus();
    if (spec.count > region[kAxisH].size()) {
      return TooManyParts(parts_.source(), spec, spec.count, region[kAxisH].size(), "rows", var);
    }
    if (spec.count_width > region[kAxisW].size()) {
      return TooManyParts(parts_.source(), spec, spec.count_width, region[kAxisW].size(), "columns",
                          var);
    }
    return absl::OkStatus();
  }

  // The slices of each output along one axis: computed by each tile, and owned by each tile.
  struct Cuts {
    int axis = 0;
    int64_t count = 1;
    std::vector<absl::flat_hash_map<int, Range>> made, owned;  // by tile: by var
  };

  absl::StatusOr<Cuts> CutOutputs(const FoundSegment& segment, const Regions& outputs, int axis,
                                  int64_t count) {
    Cuts cuts{axis, count, {}, {}};
    absl::flat_hash_map<int, int64_t> end;  // of the owned rows
    for (const auto& [var, region] : outputs) end[var] = region[axis].begin;
    for (int64_t i = 0; i < count; ++i) {
      cuts.made.emplace_back();
      cuts.owned.emplace_back();
      Regions reached;
      if (segment.spec.kind == TileKind::kInputGrid) {
        ASHLAR_ASSIGN_OR_RETURN(reached, ReachedRegions(parts_.regions(), segment, axis, i, count));
      }
      for (const auto& [var, region] : outputs) {
        Range made = PartOf(region[axis], i, count);
        if (segment.spec.kind == TileKind::kInputGrid) {
          made = Intersection(reached.contains(var) ? reached[var][axis] : Range{}, region[axis]);
          // Outputs that depend on padding only belong to the adjacent tiles.
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

  // Returns the strips that all of the segment is computed in if its tiles divide the columns
  // alone; null if it has others.
  static const FoundSegment* StripsOfColumns(const FoundSegment& segment) {
    const TileItems& parts = segment.parts;
    const bool divided = segment.spec.kind == TileKind::kGrid && segment.spec.count == 1;
    if (!divided || parts.items.size() != 1 || parts.segments.size() != 1) return nullptr;
    return IsLines(parts.segments[0].spec.kind) ? &parts.segments[0] : nullptr;
  }

  // Returns whether each strip of each column is stored in one piece where all are joined: a row of
  // pixels, the same in all columns.
  bool LieInRows(absl::Span<const LineStrips> columns) {
    for (const LineStrips& column : columns) {
      for (const auto& [var, strips] : column.outputs) {
        const std::vector<Piece>& first = columns[0].outputs.at(var);
        if (strips.size() != first.size()) return false;
        for (size_t k = 0; k < strips.size(); ++k) {
          const Region& region = strips[k].region;
          if (region[kAxisN].size() != 1 || region[kAxisH].size() != 1 ||
              !(region[kAxisH] == first[k].region[kAxisH]) ||
              parts_.regions().TypeOf(strips[k].var).format != Format::kNHWC) {
            return false;
          }
        }
      }
    }
    return true;
  }

  // Computes the columns one after the other. Then their strips are joined row by row, which stores
  // them in their places of the whole, if images are stored pixel by pixel: it saves a copy of the
  // whole at the end. If the strips of a column take more bytes than the whole, columns are joined
  // at the end, beside no strips.
  absl::Status EmitColumns(const FoundSegment& segment, const FoundSegment& strips,
                           const Regions& outputs, Scope& scope, const PartStyle& style) {
    ASHLAR_ASSIGN_OR_RETURN(const Cuts cuts,
                            CutOutputs(segment, outputs, kAxisW, segment.spec.count_width));
    std::vector<LineStrips> columns;
    int64_t strip = 0, whole = 0;
    for (int64_t j = 0; j < cuts.count; ++j) {
      Regions made;
      for (const auto& [var, region] : outputs) {
        made[var] = region;
        made[var][kAxisW] = cuts.made[j].at(var);
      }
      const Scope tile(&scope);
      const PartStyle part{true, absl::StrCat(style.part, "/0,", j)};
      const int around = parts_.record().Begin(segment, 0, j, made);
      ASHLAR_ASSIGN_OR_RETURN(columns.emplace_back(),
                              AddLineStrips(parts_, strips, made, tile, part));
      parts_.record().End(around);
      strip = std::max(strip, columns.back().bytes);
    }
    for (const auto& [var, region] : outputs) whole += parts_.source().var(var).type.bytes();
    std::map<int, std::vector<Piece>> joined;
    RegionBuilder& regions = parts_.regions();
    const bool by_rows = strip <= whole && LieInRows(columns);
    for (const auto& [var, first] : columns[0].outputs) {
      std::vector<std::vector<Piece>> lists(by_rows ? first.size() : columns.size());
      for (size_t j = 0; j < columns.size(); ++j) {
        const std::vector<Piece>& column = columns[j].outputs.at(var);
        for (size_t k = 0; k < column.size(); ++k) lists[by_rows ? k : j].push_back(column[k]);
      }
      for (const std::vector<Piece>& list : lists) {
        ASHLAR_ASSIGN_OR_RETURN(Piece piece, regions.Join(list, by_rows ? kAxisW : kAxisH));
        if (!by_rows) regions.HandOn(piece);
        joined[var].push_back(std::move(piece));
      }
    }
    return parts_.JoinOutputs(joined, by_rows ? kAxisH : kAxisW, scope);
  }

  absl::Status EmitTiles(const FoundSegment& segment, const Regions& outputs, Scope& scope,
                         const PartStyle& style) {
    const TileSegment& spec = segment.spec;
    const bool batch = spec.kind == TileKind::kBatch;
    ASHLAR_ASSIGN_OR_RETURN(const Cuts outer,
                            CutOutputs(segment, outputs, batch ? kAxisN : kAxisH, spec.count));
    Cuts inner;
    if (spec.count_width > 1) {
      ASHLAR_ASSIGN_OR_RETURN(inner, CutOutputs(segment, outputs, kAxisW, spec.count_width));
    }
    // By output, in the order of vars: the same graph every time.
    std::map<int, std::vector<Piece>> columns;
    for (int64_t i = 0; i < outer.count; ++i) {
      std::map<int, std::vector<Piece>> row;
      for (int64_t j = 0; j < inner.count; ++j) {
        Regions made;
        std::map<int, Region> owned;
        for (const auto& [var, region] : outputs) {
          Region tile = region, own = region;
          tile[outer.axis] = outer.made[i].at(var);
          own[outer.axis] = outer.owned[i].at(var);
          if (spec.count_width > 1) {
            tile[inner.axis] = inner.made[j].at(var);
            own[inner.axis] = inner.owned[j].at(var);
          }
          // A tile may exist only for the gradients of its input; it matters only in a record.
          if (IsEmpty(tile) || (IsEmpty(own) && !parts_.record().on())) continue;
          made[var] = std::move(tile);
          if (!IsEmpty(own)) owned[var] = std::move(own);
        }
        if (made.empty()) continue;
        Scope tile(&scope);
        PartStyle part{style.rows || !batch, absl::StrCat(style.part, "/", i)};
        if (spec.count_width > 1) absl::StrAppend(&part.part, ",", j);
        const int around = parts_.record().Begin(segment, i, j, made);
        if (spec.kind == TileKind::kInputGrid) {
          ASHLAR_RETURN_IF_ERROR(parts_.record().AddReached(segment, i, j));
        }
        ASHLAR_RETURN_IF_ERROR(EmitItems(segment.parts, segment.nodes, made, tile, part));
        parts_.record().End(around);
        for (const auto& [var, region] : owned) {
          ASHLAR_ASSIGN_OR_RETURN(Piece piece, parts_.regions().Crop(tile.Find(var), region));
          row[var].push_back(std::move(piece));
        }
      }
      for (const auto& [var, pieces] : row) {
        ASHLAR_ASSIGN_OR_RETURN(Piece piece, parts_.regions().Join(pieces, kAxisW));
        columns[var].push_back(std::move(piece));
      }
    }
    return parts_.JoinOutputs(columns, outer.axis, scope);
  }

  PartBuilder parts_;
};

}  // namespace

absl::StatusOr<Graph> Tile(const Graph& graph, const TileSpec& spec, absl::Span<const int> order,
                           const OperatorTable& operators, PartsOfNodes* parts,
                           bool adds_quantized) {
  return Tiler(graph, operators, adds_quantized).Run(spec, order, parts);
}

absl::StatusOr<std::vector<TiledPart>> DescribeTiles(const Graph& graph, const TileSpec& spec,
                                                     absl::Span<const int> order,
                                                     const OperatorTable& operators,
                                                     bool adds_quantized) {
  std::vector<TiledPart> record;
  ASHLAR_RETURN_IF_ERROR(
      Tiler(graph, operators, adds_quantized, &record).Run(spec, order).status());
  return record;
}

}  // namespace ashlar
