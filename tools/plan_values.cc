#include "tools/plan_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/host_evaluation.h"

namespace ashlar {
namespace {

constexpr int64_t kMostOnHost = 100'000'000;  // operations: about a second

bool ComputesInIntegers(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [&](const OperatorNode& node) {
    if (node.op->role() != Role::kCompute || node.op->type() == "TypeCvt") return true;
    return std::none_of(node.inputs.begin(), node.inputs.end(),
                        [&](int var) { return IsFloat(graph.var(var).type.dtype); });
  });
}

PlanRequest WholeOf(const PlanRequest& request) {
  PlanRequest whole;
  whole.target.comp_node = request.target.comp_node;
  whole.target.threads = request.target.threads;
  whole.target.precision = request.target.precision;
  whole.planning.kernels.exact = true;
  return whole;
}

absl::StatusOr<NamedTensors> Reference(const Model& model, const PlanRequest& request,
                                       const InputTensors& inputs, bool on_host, Console& console) {
  if (on_host) {
    return EvaluateOnHost(model.graph, inputs,
                          [](const Var&, const HostTensor&) { return absl::OkStatus(); });
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<BoundSession> whole,
                          BoundSession::Create(model, WholeOf(request), inputs, console));
  ASHLAR_RETURN_IF_ERROR(whole->Run());
  return whole->outputs();
}

}  // namespace

Tolerance RoundingTolerance(const Graph& graph, const PlanRequest& request) {
  Tolerance tolerance;
  const DType precision =
      request.planning.kernels.allow_tf32 ? DType::kFloat16 : request.target.precision;
  if (ComputesInIntegers(graph)) {
    tolerance.atol = tolerance.rtol = 0;
  } else if (std::any_of(graph.vars().begin(), graph.vars().end(),
                         [](const Var& var) { return IsQuantized(var.type.dtype); })) {
    tolerance.metric = Metric::kNmse;
    tolerance.rtol = 0.05;
  } else if (precision != DType::kFloat32) {
    tolerance.rtol = precision == DType::kFloat16 ? 0.02 : 0.1;
  }
  return tolerance;
}

absl::StatusOr<PlanValues> ComparePlanValues(const Model& model, const PlanRequest& request,
                                             const InputTensors& inputs, Console& console) {
  PlanValues values;
  values.tolerance = RoundingTolerance(model.graph, request);
  const bool on_host = Summarize(model.graph).computation <= kMostOnHost;
  values.against = on_host ? "the reference on the host" : "the whole model, untiled and exact";
  NamedTensors actual;
  {
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<BoundSession> session,
                            BoundSession::Create(model, request, inputs, console));
    ASHLAR_RETURN_IF_ERROR(session->Run());
    actual = session->outputs();
  }
  const absl::StatusOr<NamedTensors> expected = Reference(model, request, inputs, on_host, console);
  if (!expected.ok()) {
    values.left_out = std::string(expected.status().message());
    return values;
  }
  for (const auto& [name, tensor] : actual) {
    const auto it = std::find_if(expected->begin(), expected->end(),
                                 [&](const auto& other) { return other.first == name; });
    if (it == expected->end() || it->second.shape() != tensor.shape()) {
      return absl::InternalError(
          absl::StrCat("output '", name, "' is not one of ", values.against));
    }
    values.outputs.push_back({name, Compare(tensor, it->second, values.tolerance)});
  }
  return values;
}

bool PlanValues::ok() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const Output& output) { return output.difference.ok; });
}

Json PlanValues::ToJson() const {
  Json json = {{"against", against}, {"ok", ok()}, {"outputs", Json::array()}};
  if (!left_out.empty()) json["left_out"] = left_out;
  for (const Output& output : outputs) {
    json["outputs"].push_back(DifferenceDocument(output.name, output.difference));
  }
  return json;
}

std::string PlanValues::ToText() const {
  if (!left_out.empty()) return absl::StrCat("values: not compared: ", left_out, "\n");
  const auto worst =
      std::max_element(outputs.begin(), outputs.end(), [](const Output& a, const Output& b) {
        return std::pair(!a.difference.ok, a.difference.max_rel) <
               std::pair(!b.difference.ok, b.difference.max_rel);
      });
  if (worst == outputs.end()) return "values: no outputs\n";
  return absl::StrFormat(
      "values: as %s within %.3g of the largest%s%s\n", against, worst->difference.max_rel,
      outputs.size() == 1 ? "" : absl::StrCat(" (", FormatName(worst->name, 48), ")"),
      ok() ? "" : ": DIFFERS");
}

}  // namespace ashlar
