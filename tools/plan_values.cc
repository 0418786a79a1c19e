#include "tools/plan_values.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/host_evaluation.h"
#include "tools/output_tolerance.h"

namespace ashlar {
namespace {

constexpr int64_t kMostOnHost = 100'000'000;  // operations: about a second

PlanRequest WholeOf(const PlanRequest& request) {
  PlanRequest whole;
  whole.target.comp_node = request.target.comp_node;
  whole.target.threads = request.target.threads;
  whole.target.precision = request.target.precision;
  whole.planning.kernels.exact = true;
  return whole;
}

absl::StatusOr<NamedTensors> Reference(Model model, const PlanRequest& request,
                                       const InputTensors& inputs, bool on_host, Console& console) {
  if (on_host) return EvaluateOnHost(model.graph, inputs);
  // Packed for the plan, and not for exact kernels of the whole model.
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  ASHLAR_ASSIGN_OR_RETURN(
      const std::unique_ptr<BoundSession> whole,
      BoundSession::Create(std::move(model), WholeOf(request), inputs, console));
  ASHLAR_RETURN_IF_ERROR(whole->Run());
  return whole->outputs();
}

}  // namespace

absl::StatusOr<std::vector<PlanValues::Output>> CompareOutputs(const Graph& graph,
                                                               const PlanRequest& request,
                                                               const NamedTensors& actual,
                                                               const NamedTensors& expected) {
  const std::vector<OutputTolerance> tolerances = OutputTolerances(graph, request);
  std::vector<PlanValues::Output> outputs;
  for (const auto& [name, tensor] : actual) {
    const auto names = [&, &name = name](const auto& other) { return other.first == name; };
    const auto it = absl::c_find_if(expected, names);
    if (it == expected.end() || it->second.shape() != tensor.shape() ||
        it->second.dtype() != tensor.dtype()) {
      return absl::InternalError(absl::StrCat(
          "output '", name, "' is ", Name(tensor.dtype()), tensor.shape().ToString(), ", expected ",
          it == expected.end()
              ? "none"
              : absl::StrCat(Name(it->second.dtype()), it->second.shape().ToString())));
    }
    const auto output = absl::c_find_if(graph.outputs(), [&, &name = name](const Binding& binding) {
      return binding.name == name;
    });
    outputs.push_back(
        {name,
         Compare(tensor, it->second,
                 tolerances[static_cast<size_t>(output - graph.outputs().begin())].tolerance)});
  }
  return outputs;
}

absl::StatusOr<PlanValues> ComparePlanValues(const Model& model, const PlanRequest& request,
                                             const InputTensors& inputs, Console& console) {
  PlanValues values;
  const bool on_host = Summarize(model.graph).computation <= kMostOnHost &&
                       absl::c_none_of(OutputTolerances(model.graph, request),
                                       [](const OutputTolerance& t) { return t.rounds_floats; });
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
  ASHLAR_ASSIGN_OR_RETURN(values.outputs, CompareOutputs(model.graph, request, actual, *expected));
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
