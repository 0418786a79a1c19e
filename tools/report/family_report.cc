#include "tools/report/family_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/format.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

struct PointBytes {
  int64_t arena = 0, weights = 0, state = 0, input = 0, output = 0;
};

PointBytes PointBytesOf(const PlannedGraph& plan) {
  return {plan.plan.plan.arena, plan.weights.memory_bytes(), plan.state.bytes, plan.input_bytes(),
          plan.output_bytes()};
}

// Returns the bytes of all points together. Only one runs at a time, with tensors of the caller's
// that may be the same memory; states are each point's own.
PointBytes AllPoints(const PlannedFamily& family) {
  PointBytes all;
  for (const PlannedModel& made : family.plans) {
    const PointBytes own = PointBytesOf(made.plan());
    all.arena = std::max(all.arena, own.arena);
    all.input = std::max(all.input, own.input);
    all.output = std::max(all.output, own.output);
    all.state += own.state;
  }
  all.weights = family.weights;
  return all;
}

int64_t ArenasApart(const PlannedFamily& family) {
  int64_t bytes = 0;
  for (const PlannedModel& made : family.plans) bytes += made.plan().plan.plan.arena;
  return bytes;
}

Json PointBytesDocument(const PointBytes& bytes) {
  Json json = {{"arena_bytes", bytes.arena},
               {"weights_bytes", bytes.weights},
               {"input_bytes", bytes.input},
               {"output_bytes", bytes.output}};
  if (bytes.state > 0) json["state_bytes"] = bytes.state;
  return json;
}

}  // namespace

std::string FamilyTable(const PlannedFamily& family) {
  const PointBytes all = AllPoints(family);
  std::vector<std::string> headings = {"point", ">arena", ">lower bound", ">weights"};
  if (all.state > 0) headings.push_back(">state");
  headings.insert(headings.end(), {">input", ">output", ">predicted"});
  Table table(std::move(headings));
  const auto row = [&](const std::string& name, const PointBytes& bytes, const std::string& bound,
                       const std::string& time) {
    std::vector<std::string> cells = {name, absl::StrCat(bytes.arena), bound,
                                      absl::StrCat(bytes.weights)};
    if (all.state > 0) cells.push_back(absl::StrCat(bytes.state));
    cells.insert(cells.end(), {absl::StrCat(bytes.input), absl::StrCat(bytes.output), time});
    table.AddRow(std::move(cells));
  };
  for (size_t i = 0; i < family.plans.size(); ++i) {
    const PlannedGraph& plan = family.plans[i].plan();
    row(ShapesText(family.shapes.points()[i]), PointBytesOf(plan),
        absl::StrCat(plan.plan.lower_bound), FormatMilliseconds(plan.predicted_ms));
  }
  row("together", all, "", "");
  std::string refused;
  if (family.refused > 0) {
    refused =
        absl::StrCat(family.refused, " further combinations of sizes do not fit this model\n");
  }
  return absl::StrCat(
      table.ToText(), "\n", Counted(static_cast<int64_t>(family.plans.size()), "point"),
      " in one arena of ", FormatBytes(all.arena), " (", FormatBytes(ArenasApart(family)),
      " apart), as one runs at a time; weights ", FormatBytes(all.weights), " (",
      FormatBytes(family.weights_apart()), " apart)\n", refused);
}

Json ShapesDocument(const InputShapes& shapes) {
  Json json = Json::object();
  for (const auto& [input, shape] : shapes) json[input] = shape.dims();
  return json;
}

Json FamilyDocument(const PlannedFamily& family) {
  Json points = Json::array();
  for (size_t i = 0; i < family.plans.size(); ++i) {
    const PlannedGraph& plan = family.plans[i].plan();
    Json point = PointBytesDocument(PointBytesOf(plan));
    point["shapes"] = ShapesDocument(family.shapes.points()[i]);
    point["lower_bound_bytes"] = plan.plan.lower_bound;
    point["predicted_ms"] = plan.predicted_ms;
    points.push_back(std::move(point));
  }
  Json json = PointBytesDocument(AllPoints(family));
  json["shape"] = family.shapes.text();
  json["arenas_apart_bytes"] = ArenasApart(family);
  json["weights_apart_bytes"] = family.weights_apart();
  json["refused"] = family.refused;
  json["points"] = std::move(points);
  return json;
}

}  // namespace ashlar
