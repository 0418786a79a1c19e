#include "tools/report/int8_twin.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "quantization/quantize_model.h"
#include "runtime/plan/plan_graph.h"
#include "tools/format.h"
#include "tools/report/plan_report.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

struct CountedOperators {
  int bytes = 0, all = 0;
};

// Counts the operators that run, by whether they compute 8-bit integers.
CountedOperators CountEightBits(const PlannedGraph& planned) {
  CountedOperators counted;
  for (const int index : planned.schedule.order) {
    const OperatorNode& node = planned.graph.node(index);
    if (node.op->role() != Role::kCompute ||
        planned.kernels[static_cast<size_t>(index)] == nullptr) {
      continue;
    }
    ++counted.all;
    counted.bytes += IsQuantized(planned.graph.var(node.outputs[0]).type.dtype);
  }
  return counted;
}

}  // namespace

Json PoolsOfPlan(const PlannedGraph& planned) {
  const auto pool = [](int64_t bytes) { return Json{{"planned_bytes", bytes}}; };
  return {{"arena", pool(planned.plan.plan.arena)},
          {"weights", pool(planned.weights.bytes)},
          {"input", pool(planned.input_bytes())},
          {"output", pool(planned.output_bytes())}};
}

absl::StatusOr<PlannedModel> PlanInt8Twin(const Graph& graph, PlanRequest request) {
  ASHLAR_ASSIGN_OR_RETURN(Graph twin, EightBitTwin(graph, request.target));
  request.target.tiles = TileSpec();
  PlannedModel made;
  ASHLAR_ASSIGN_OR_RETURN(made.planned, PlanGraph(std::move(twin), request));
  return made;
}

std::string TwinTable(const PlannedModel& floats, const PlannedModel& bytes) {
  Table table({"pool", ">floats", ">8 bits", ">bytes", ">bytes", ">ratio"});
  const auto row = [&](const char* name, int64_t before, int64_t after) {
    table.AddRow(
        {name, FormatBytes(before), FormatBytes(after), absl::StrCat(before), absl::StrCat(after),
         before == 0
             ? ""
             : absl::StrFormat("%.3f", static_cast<double>(after) / static_cast<double>(before))});
  };
  const PlannedGraph &a = floats.plan(), &b = bytes.plan();
  row("arena", a.plan.plan.arena, b.plan.plan.arena);
  row("weights", a.weights.bytes, b.weights.bytes);
  row("input", a.input_bytes(), b.input_bytes());
  row("output", a.output_bytes(), b.output_bytes());
  if (a.device->is_host()) row("total", NeedOf(floats).total(), NeedOf(bytes).total());
  return table.ToText();
}

Json TwinDocument(const PlannedModel& twin) {
  const PlannedGraph& planned = twin.plan();
  const CountedOperators counted = CountEightBits(planned);
  Json document = {{"pools", PoolsOfPlan(planned)},
                   {"operators", counted.all},
                   {"operators_in_8_bits", counted.bytes},
                   {"tile", planned.tiles.ToString()}};
  if (planned.device->is_host()) {
    document["total"] = TotalDocument(NeedOf(twin), AddressesNeeded(twin));
  }
  return document;
}

}  // namespace ashlar
