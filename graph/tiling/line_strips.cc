#include "graph/tiling/line_strips.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/tile_lines.h"

namespace ashlar {
namespace {

// Returns whether an operator may write an output into the memory of this input.
bool MayOverwrite(RegionBuilder& regions, int index, int input) {
  const OperatorNode& node = regions.source().node(index);
  const std::vector<Aliasing::Overwrite> overwrites =
      node.op->aliasing(regions.site(index)).overwrites;
  return std::any_of(overwrites.begin(), overwrites.end(),
                     [&](const Aliasing::Overwrite& o) { return node.inputs[o.input] == input; });
}

}  // namespace

absl::StatusOr<LineStrips> AddLineStrips(PartBuilder& builder, const FoundSegment& segment,
                                         const Regions& outputs, const Scope& scope,
                                         const PartStyle& style) {
  RegionBuilder& regions = builder.regions();
  Regions total = outputs;
  ASHLAR_RETURN_IF_ERROR(builder.AddNeeds(segment.nodes, total));
  int64_t most = 0;
  for (const int input : segment.inputs) {
    if (total.contains(input) && total.at(input).size() == 4) {
      most = std::max(most, total.at(input)[kAxisH].size());
    }
  }
  if (most == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tile segment ", segment.spec.Ends(), " begins with no image"));
  }
  if (segment.spec.count > most) {
    return TooManyParts(builder.source(), segment.spec, segment.spec.count, most, "rows",
                        segment.inputs[0]);
  }
  ASHLAR_ASSIGN_OR_RETURN(const LineSchedule lines, ScheduleLines(regions, segment, total));
  LineStrips result;
  std::map<int, std::vector<Piece>>& columns = result.outputs;
  Scope strips(&scope);
  absl::flat_hash_map<int, Piece> kept;    // by var: rows of the previous strip
  absl::flat_hash_map<int, Piece> joined;  // by var that joins rows: of the steps before
  absl::flat_hash_set<int> stored;         // outputs that steps read where they are stored
  const bool rolls = segment.spec.kind == TileKind::kRolling;
  for (size_t t = 0; t < lines.steps.size(); ++t) {
    const LineStep& step = lines.steps[t];
    const bool is_last = static_cast<int64_t>(t) >= segment.spec.count;  // reads no further input
    const int around = builder.record().Begin(segment, static_cast<int64_t>(t), 0, {});
    const PartStyle part{true, absl::StrCat(style.part, "/", t)};
    int64_t kept_bytes = 0, made_before = 0;
    for (const auto& [var, piece] : kept) kept_bytes += regions.TypeOf(piece.var).bytes();
    const auto keep = [&](int var) -> absl::Status {
      if (stored.contains(var)) return absl::OkStatus();
      const auto rows = step.keep.find(var);
      if (rows == step.keep.end()) {
        kept.erase(var);
        return absl::OkStatus();
      }
      const Piece strip = strips.Find(var);
      Region region = strip.region;
      region[kAxisH] = rows->second;
      // A strip that is not longer stays unchanged; also one to which nothing was added, unless
      // that was the last of it and its rows are not released one by one.
      if (region == strip.region || (!step.made.contains(var) && (rolls || !is_last))) {
        kept[var] = strip;
        return absl::OkStatus();
      }
      ASHLAR_ASSIGN_OR_RETURN(kept[var], regions.Copy(strip, region));
      regions.HandOn(kept[var]);
      return absl::OkStatus();
    };
    // Later steps read the rows that are kept, even if they add none.
    const auto read_kept = [&](int var) {
      if (const auto rows = kept.find(var); rows != kept.end()) strips.Set(var, rows->second);
    };
    for (size_t i = 0; i < segment.nodes.size(); ++i) {
      const int node = segment.nodes[i];
      const int var = builder.source().node(node).outputs[0];
      const auto rows = step.made.find(var);
      const auto joins = step.joined.find(var);
      if (rows == step.made.end() && joins == step.joined.end()) continue;
      // Rows whose last reader is this node are copied after it: then the rest is freed, and the
      // copy may overlap them (Aliasing::Move). They are copied before it if it may overwrite the
      // rest.
      std::vector<int> behind;
      for (int input : step.last_read[i]) {
        if (!MayOverwrite(regions, node, input)) {
          behind.push_back(input);
        } else {
          ASHLAR_RETURN_IF_ERROR(keep(input));
        }
      }
      Piece made;
      if (joins != step.joined.end()) {
        const auto before = joined.find(var);
        ASHLAR_ASSIGN_OR_RETURN(
            made,
            builder.AddJoined(node, joins->second,
                              before == joined.end() ? nullptr : &before->second, strips, part));
        joined[var] = made;
      } else {
        Region region = total.at(var);
        region[kAxisH] = rows->second;
        ASHLAR_ASSIGN_OR_RETURN(made, builder.AddPart(node, region, strips, part));
      }
      const int64_t made_bytes = regions.TypeOf(made.var).bytes();
      result.bytes = std::max(result.bytes, kept_bytes + made_before + made_bytes);
      made_before = made_bytes;
      for (int input : behind) ASHLAR_RETURN_IF_ERROR(keep(input));
      for (int input : step.last_read[i]) read_kept(input);
      if (rows == step.made.end()) continue;
      if (outputs.contains(var)) {
        std::vector<Piece>& pieces = columns[var];
        pieces.push_back(made);
        // Rows that later steps read, too, stay where they are.
        if (step.keep.contains(var) && regions.HasRows(made)) stored.insert(var);
        if (stored.contains(var)) {
          ASHLAR_ASSIGN_OR_RETURN(Piece whole, regions.Join(pieces, kAxisH));
          pieces = {whole};
          strips.Set(var, std::move(whole));
          continue;
        }
      }
      Piece strip = made;
      if (const auto before = kept.find(var); before != kept.end()) {
        Region halo = before->second.region;
        halo[kAxisH] = {lines.steps[t - 1].keep.at(var).begin, rows->second.begin};
        ASHLAR_ASSIGN_OR_RETURN(const Piece head, regions.Crop(before->second, halo));
        ASHLAR_ASSIGN_OR_RETURN(strip, regions.Join({head, made}, kAxisH));
      }
      strips.Set(var, std::move(strip));
      if (step.unread.contains(var)) {
        ASHLAR_RETURN_IF_ERROR(keep(var));
        read_kept(var);
      }
    }
    builder.record().End(around);
  }
  for (auto& [var, pieces] : columns) {
    // Readers inside the segment may have needed more rows than readers outside.
    std::vector<Piece> wanted;
    for (const Piece& piece : pieces) {
      Region region = piece.region;
      region[kAxisH] = Intersection(region[kAxisH], outputs.at(var)[kAxisH]);
      if (region[kAxisH].empty()) continue;
      ASHLAR_ASSIGN_OR_RETURN(Piece crop, regions.Crop(piece, region));
      wanted.push_back(std::move(crop));
    }
    pieces = std::move(wanted);
  }
  return result;
}

}  // namespace ashlar
