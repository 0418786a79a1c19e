#include "tools/report/tile_info.h"

#include <array>
#include <string>

#include "opr/base/window_operator.h"

namespace ashlar {
namespace {

// Left, right, top, bottom.
using Sides = std::array<int64_t, 4>;

Json Inclusive(const Range& columns, const Range& rows) {
  return {columns.begin, columns.end - 1, rows.begin, rows.end - 1};
}

Range Columns(const Region& region) { return region.size() == 4 ? region[3] : Range{0, 1}; }
Range Rows(const Region& region) {
  return region.size() == 4 ? region[2] : region.empty() ? Range{} : region[0];
}

// Returns the padding of an operator that slides windows over images; zeros for others.
Sides PaddingOf(const Operator& op) {
  const auto* const windows = dynamic_cast<const WindowOperator*>(&op);
  if (windows == nullptr) return {};
  const WindowPadding padding = windows->padding();
  return {padding.w_begin, padding.w_end, padding.h_begin, padding.h_end};
}

Json Entry(const std::string& name, const std::string& type, const TiledPart& part,
           const Region& output, const Range& columns, const Range& rows) {
  Json entry;
  entry["name"] = name;
  entry["op"] = type;
  entry["coord"] = {part.row, part.column};
  entry["otileshape"] = {Columns(output).size(), Rows(output).size()};
  entry["inpslidx"] = Inclusive(columns, rows);
  entry["padding"] = Json::array();
  entry["internal"] = Json::array();
  entry["realidx"] = entry["inpslidx"];
  return entry;
}

// Adds padding to an entry. `outside`: the size of the region outside of the image, by side.
void AddPadding(const Operator& op, const Sides& outside, Json& entry) {
  const Sides own = PaddingOf(op);
  if (own == Sides{}) return;
  const Json clipped = entry["inpslidx"];
  for (int side = 0; side < 4; ++side) {
    const int64_t sign = side % 2 == 0 ? -1 : 1;
    entry["padding"].push_back(outside[side]);
    entry["internal"].push_back(own[side] - outside[side]);
    entry["realidx"][side] = clipped[side].get<int64_t>() + sign * outside[side];
  }
}

Json Forward(const Graph& graph, const TiledPart& part) {
  Json list = Json::array();
  list.push_back(Entry("fake", "fake", part, part.output, Columns(part.output), Rows(part.output)));
  for (size_t i = part.operators.size(); i-- > 0;) {
    const TiledOperator& tiled = part.operators[i];
    const OperatorNode& node = graph.node(tiled.node);
    Json entry = Entry(node.name, std::string(node.op->type()), part, tiled.output,
                       Columns(tiled.input), Rows(tiled.input));
    // The operator on a tile alone pads the region outside of the image.
    AddPadding(*node.op, PaddingOf(*tiled.op), entry);
    list.push_back(std::move(entry));
  }
  return list;
}

Json Backward(const Graph& graph, const TiledPart& part) {
  Json list = Json::array();
  list.push_back(Entry("fake-bp", "fake", part, part.input, Columns(part.input), Rows(part.input)));
  for (const ReachedRegion& reached : part.reached) {
    const OperatorNode& node = graph.node(reached.node);
    const Range columns = Columns(reached.clipped), rows = Rows(reached.clipped);
    Json entry =
        Entry(node.name, std::string(node.op->type()), part, reached.clipped, columns, rows);
    const Sides outside = {columns.begin - Columns(reached.unclipped).begin,
                           Columns(reached.unclipped).end - columns.end,
                           rows.begin - Rows(reached.unclipped).begin,
                           Rows(reached.unclipped).end - rows.end};
    AddPadding(*node.op, outside, entry);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Json TileInfo(const Graph& graph, absl::Span<const TiledPart> parts) {
  Json tiles = Json::array();
  for (const TiledPart& part : parts) {
    Json tile;
    tile["segment"] = TileSpec{{part.segment}}.ToString();
    tile["outer"] = part.outer;
    tile["coord"] = {part.row, part.column};
    tile["f_info"] = Forward(graph, part);
    if (part.segment.kind == TileKind::kInputGrid) tile["b_info"] = Backward(graph, part);
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

}  // namespace ashlar
