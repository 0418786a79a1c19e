// ashlar compare: compares outputs and intermediate values with a reference.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/counted_results.h"
#include "serialization/npy.h"
#include "tools/bound_session.h"
#include "tools/compare_options.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/host_evaluation.h"
#include "tools/inputs.h"
#include "tools/report/box_difference.h"
#include "tools/report/compare_dumps.h"
#include "tools/report/layer_values.h"
#include "tools/report/plan_report.h"
#include "tools/report/table.h"
#include "tools/request.h"

namespace ashlar {
namespace {

// A compared value.
struct Comparison {
  std::string name;
  std::string type;  // of the operator that made it; empty for outputs
  Difference difference;
};

// Compares the values of one run with the reference values, when these are computed.
class LayerComparer {
 public:
  LayerComparer(LayerValues actual, const Tolerance& tolerance, bool fail_fast)
      : actual_(std::move(actual)), tolerance_(tolerance), fail_fast_(fail_fast) {}

  // Compares one value. Cancelled if nothing more needs to be compared.
  absl::Status Visit(const Graph& graph, const Var& var, const HostTensor& reference) {
    const auto it = actual_.find(var.id);
    if (it == actual_.end() || it->second.shape() != reference.shape()) return absl::OkStatus();
    const OperatorNode& node = graph.node(var.producer);
    results_.push_back(
        {var.name, std::string(node.op->type()), Compare(it->second, reference, tolerance_)});
    actual_.erase(it);
    if (fail_fast_ && !results_.back().difference.ok) return absl::CancelledError("");
    return absl::OkStatus();
  }

  std::vector<Comparison> Take() { return std::move(results_); }

 private:
  LayerValues actual_;
  const Tolerance tolerance_;
  const bool fail_fast_;
  std::vector<Comparison> results_;
};

Json ToJson(const Comparison& comparison) {
  Json json = DifferenceDocument(comparison.name, comparison.difference);
  if (!comparison.type.empty()) json["type"] = comparison.type;
  return json;
}

void AddRow(const Comparison& comparison, Table& table) {
  const Difference& d = comparison.difference;
  table.AddRow({FormatName(comparison.name, 48), comparison.type,
                absl::StrFormat("%.3g", d.max_abs), absl::StrFormat("%.3g", d.max_rel),
                absl::StrFormat("%.3g", d.nmse), absl::StrFormat("%.6f", d.cosine),
                d.ok ? "ok" : "DIFFERS"});
}

class CompareCommand final : public CompareOptions {
 public:
  absl::Status Run(Console& console) override {
    if (ComparesDumps()) return CompareDumps(model_.path, other_, console);
    tolerance_.metric = metric_.metric;
    // Values of tiles are not values of layers.
    if (layers_ == "all") planning_.tuned_tiles = false;
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console, WeightsUse::kAll));
    ASHLAR_RETURN_IF_ERROR(atol_.CheckNames("--atol", model.graph));
    ASHLAR_RETURN_IF_ERROR(rtol_.CheckNames("--rtol", model.graph));
    ASHLAR_ASSIGN_OR_RETURN(const InputTensors inputs,
                            MakeInputs(model.graph, inputs_, execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request,
                            RequestToRun(model, model_.path, execution_, planning_, console));
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<BoundSession> session,
                            BoundSession::Create(model, request, inputs, console));
    console.Progress("running");
    LayerValues values;
    if (layers_ == "all") {
      ASHLAR_ASSIGN_OR_RETURN(values, RunAndRecord(*session));
    } else {
      ASHLAR_RETURN_IF_ERROR(session->Run());
    }
    LayerComparer layers(std::move(values), ToleranceOf(""), fail_fast_);
    absl::StatusOr<NamedTensors> reference = Reference(model, inputs, layers, console);
    if (!reference.ok() && !absl::IsCancelled(reference.status())) return reference.status();
    if (metric_.boxes) {
      return ShowBoxes(session->outputs(), *reference, session->planned(), console);
    }
    std::vector<Comparison> outputs;
    if (reference.ok()) {
      ASHLAR_ASSIGN_OR_RETURN(outputs, CompareOutputs(session->outputs(), *reference));
    }
    return Show(layers.Take(), outputs, session->planned(), console);
  }

 private:
  // Loads the model of the other side, which must take the inputs of the first one.
  absl::StatusOr<Model> LoadOther(const Graph& graph, Console& console) const {
    ModelFlags flags = model_;
    flags.path = other_;
    ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(other_, console));
    if (!source.is_onnx) {
      flags.outputs.clear();
      flags.values.clear();
    }
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(flags, console));
    const auto text = [](const Graph& g) {
      std::vector<std::string> inputs;
      for (const Binding& input : g.inputs()) {
        inputs.push_back(absl::StrCat(input.name, " ", g.var(input.var).type.ToString()));
      }
      std::sort(inputs.begin(), inputs.end());
      return absl::StrJoin(inputs, ", ");
    };
    const std::string here = text(graph), there = text(model.graph);
    if (here == there) return model;
    return UsageError(absl::StrCat(model_.path, " takes ", here, ", and ", other_, " ", there,
                                   ": to be compared they have to take the same"));
  }

  absl::StatusOr<PlanRequest> OtherRequest(const Model& model, Console& console) const {
    auto [execution, planning] = OtherFlags();
    return RequestToRun(model, other_.empty() ? model_.path : other_, execution, planning, console);
  }

  // Returns the reference's outputs, and compares layers meanwhile.
  absl::StatusOr<NamedTensors> Reference(const Model& model, const InputTensors& inputs,
                                         LayerComparer& layers, Console& console) const {
    if (HasOtherPlan() || !other_.empty()) {
      Model other_model;
      if (other_.empty()) {
        other_model = model;
      } else {
        ASHLAR_ASSIGN_OR_RETURN(other_model, LoadOther(model.graph, console));
      }
      ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request, OtherRequest(other_model, console));
      ASHLAR_ASSIGN_OR_RETURN(
          std::unique_ptr<BoundSession> other,
          BoundSession::Create(std::move(other_model), request, inputs, console));
      console.Progress("running the other side");
      if (layers_ != "all") {
        ASHLAR_RETURN_IF_ERROR(other->Run());
        return other->outputs();
      }
      ASHLAR_ASSIGN_OR_RETURN(const LayerValues values, RunAndRecord(*other));
      const Graph& graph = other->planned().graph;
      for (const Var& var : graph.vars()) {
        // Passes add vars, in which plans differ.
        if (var.id >= model.graph.next_id()) continue;
        const auto it = values.find(var.id);
        if (it != values.end()) ASHLAR_RETURN_IF_ERROR(layers.Visit(graph, var, it->second));
      }
      return other->outputs();
    }
    if (reference_.empty() || reference_ == "host") {
      console.Progress("evaluating the reference on the host");
      return EvaluateOnHost(model.graph, inputs, [&](const Var& var, const HostTensor& value) {
        return layers.Visit(model.graph, var, value);
      });
    }
    return ReadReference(model.graph);
  }

  absl::StatusOr<NamedTensors> ReadReference(const Graph& graph) const {
    absl::StatusOr<NamedTensors> arrays;
    if (HasEnding(reference_, ".npy")) {
      absl::StatusOr<HostTensor> array = ReadNpy(reference_);
      if (!array.ok()) return WithExitCode(array.status(), ExitCode::kRejectedInput);
      if (graph.outputs().size() != 1) {
        return UsageError(absl::StrCat(reference_, " holds one array, and the model has ",
                                       graph.outputs().size(), " outputs"));
      }
      return NamedTensors{{graph.outputs()[0].name, *std::move(array)}};
    }
    arrays = ReadNpz(reference_);
    if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
    return arrays;
  }

  absl::StatusOr<std::vector<Comparison>> CompareOutputs(const NamedTensors& actual,
                                                         const NamedTensors& reference) const {
    std::vector<Comparison> outputs;
    for (const auto& [name, tensor] : actual) {
      const HostTensor* expected = nullptr;
      for (const auto& [other, value] : reference) {
        if (other == name) expected = &value;
      }
      if (expected == nullptr) {
        return WithExitCode(absl::NotFoundError(absl::StrCat(other_.empty() ? reference_ : other_,
                                                             ": nothing for output '", name, "'")),
                            ExitCode::kRejectedInput);
      }
      if (expected->shape() != tensor.shape()) {
        return WithExitCode(absl::InvalidArgumentError(
                                absl::StrCat("output '", name, "' is ", tensor.shape().ToString(),
                                             ", and the reference ", expected->shape().ToString())),
                            ExitCode::kMismatch);
      }
      outputs.push_back({name, "", Compare(tensor, *expected, ToleranceOf(name))});
    }
    return outputs;
  }

  absl::Status ShowBoxes(const NamedTensors& actual, const NamedTensors& reference,
                         const PlannedGraph& planned, Console& console) const {
    const auto detections = [&](const NamedTensors& outputs) {
      absl::StatusOr<std::vector<Detection>> found =
          DetectionsOf(CutToCounts(outputs, planned.graph));
      if (!found.ok())
        found = UsageError(absl::StrCat("--metric boxes: ", found.status().message()));
      return found;
    };
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Detection> mine, detections(actual));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Detection> expected, detections(reference));
    const BoxDifference difference = CompareBoxes(mine, expected, *metric_.boxes);
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["other"] = other_.empty() ? Json() : Json(other_);
    document["boxes"] = BoxDocument(difference, *metric_.boxes);
    document["outputs"] = Json::array();
    document["ok"] = difference.ok();
    document["first_difference"] = nullptr;
    console.Print(BoxLine(difference, *metric_.boxes));
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (difference.ok()) return absl::OkStatus();
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrCat(
            model_.path, ": ", difference.only_actual.size(), " boxes are its alone, and ",
            difference.only_reference.size(), " the reference's")),
        ExitCode::kMismatch);
  }

  absl::Status Show(const std::vector<Comparison>& layers, const std::vector<Comparison>& outputs,
                    const PlannedGraph& planned, Console& console) const {
    Table table({layers.empty() ? "output" : "value", "type", ">max abs", ">max rel", ">nmse",
                 ">cosine", ""});
    Json document = console.Document(execution_.device, execution_.threads);
    const Comparison* first = nullptr;
    for (const std::vector<Comparison>* list : {&layers, &outputs}) {
      Json rows = Json::array();
      for (const Comparison& comparison : *list) {
        AddRow(comparison, table);
        rows.push_back(ToJson(comparison));
        if (first == nullptr && !comparison.difference.ok) first = &comparison;
      }
      if (list == &outputs || !layers.empty()) {
        document[list == &outputs ? "outputs" : "layers"] = std::move(rows);
      }
    }
    document["model"] = model_.path;
    document["other"] = other_.empty() ? Json() : Json(other_);
    document["rounding"] = RoundingDocument(planned);
    document["ok"] = first == nullptr;
    document["first_difference"] = first == nullptr ? Json() : Json(first->name);
    console.Print(absl::StrCat(table.ToText(), RoundingLine(planned)));
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (first == nullptr) return absl::OkStatus();
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrFormat(
            "%s: first difference at %s%s: max |a - r| %.3g at element %d, %.3g of the largest",
            model_.path, FormatName(first->name),
            first->type.empty() ? "" : absl::StrCat(" (", first->type, ")"),
            first->difference.max_abs, first->difference.worst, first->difference.max_rel)),
        ExitCode::kMismatch);
  }
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace ashlar
