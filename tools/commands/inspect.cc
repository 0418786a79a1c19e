// ashlar inspect: shows the graph in a file.
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "serialization/onnx/export/writer.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/report/dot.h"
#include "tools/report/inspect_dump.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

std::string BindingLines(const Graph& graph, const std::vector<Binding>& bindings,
                         absl::string_view what) {
  std::string text;
  for (const Binding& binding : bindings) {
    const TensorType& type = graph.var(binding.var).type;
    absl::StrAppend(&text, what, " ", FormatName(binding.name), " ", type.ToString(), " ",
                    FormatBytes(type.bytes()), "\n");
  }
  return text;
}

class InspectCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    const OptionGroup dumps(app, "Profile dumps");
    AddText(dumps, "--recorded-plan", dump_.recorded_plan, "FILE",
            "addresses of the vars of a profile dump (.csv, .svg or .html)");
    AddText(dumps, "--own-plan", dump_.own_plan, "FILE",
            "of a profile dump: our plan of the same problem, in place");
    app.add_flag("--dot", dot_, "the graph for Graphviz, and nothing else");
    AddText(app, "--onnx", onnx_, "FILE.onnx",
            "the graph that runs, after all passes, as a model for Netron");
    app.add_flag("--check", check_,
                 "compare all weights with their checksums; exit 6 if they differ");
    app.add_flag("--nodes", nodes_, "every operator, with its shapes and parameters");
  }

  absl::Status CheckOptions() const override {
    constexpr absl::string_view kEndings[] = {".csv", ".svg", ".html"};
    ASHLAR_RETURN_IF_ERROR(CheckEnding("--onnx", onnx_, {".onnx"}));
    ASHLAR_RETURN_IF_ERROR(CheckEnding("--recorded-plan", dump_.recorded_plan, kEndings));
    return CheckEnding("--own-plan", dump_.own_plan, kEndings);
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags& console) const override {
    std::vector<IdleOptions> idle;
    if (IsDump()) {
      idle.push_back({{"Model", "--onnx"}, "a profile dump is shown as it was recorded"});
    } else {
      idle.push_back({{"Profile dumps"}, "it is for profile dumps (.json)"});
    }
    if (dot_) {
      idle.push_back({{"--nodes"}, "--dot prints the graph for Graphviz, and nothing else"});
      if (!console.prints()) idle.push_back({{"--dot"}, "--json takes stdout; try --json=FILE"});
    }
    return idle;
  }
  std::vector<std::string> OutputFiles() const override {
    return {dump_.recorded_plan, dump_.own_plan, onnx_};
  }

  absl::Status Run(Console& console) override {
    dump_.path = model_.path;
    if (IsDump()) return InspectDump(dump_, console);
    ASHLAR_ASSIGN_OR_RETURN(
        const Model model,
        LoadModel(model_, console,
                  check_ || !onnx_.empty() ? WeightsUse::kAll : WeightsUse::kNone));
    const Graph& graph = model.graph;
    if (!onnx_.empty()) {
      const PlanRequest request;
      ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                              RewriteGraph(graph, request.target, request.planning));
      ASHLAR_RETURN_IF_ERROR(WriteOnnx(rewritten.graph, onnx_, FileAxesOf(model)));
    }
    const GraphSummary summary = Summarize(graph);
    if (dot_) {
      console.Print(DotText(graph));
    } else {
      console.Print(absl::StrCat(BindingLines(graph, graph.inputs(), "input"),
                                 BindingLines(graph, graph.outputs(), "output"),
                                 BindingLines(graph, summary.states, "state")));
      console.Print(absl::StrFormat("operators %d\nconstants %d %s\ncomputation %s\n",
                                    summary.num_operators, summary.num_constants,
                                    FormatBytes(summary.weights_bytes),
                                    FormatFlops(summary.computation)));
      if (model.packed.has_value()) console.Print(PackedLine(*model.packed));
      if (check_) console.Print("all weights match their checksums\n");
      console.Print("\n");
      console.Print(nodes_ ? NodeTable(graph) : TypeTable(graph, summary));
    }
    Json document = console.Document(CompNode(), DefaultThreads());
    document["model"] = model_.path;
    AddSummary(graph, summary, document);
    document["weights_checked"] = check_;
    if (nodes_) document["nodes"] = NodesDocument(graph);
    document["packed"] = nullptr;
    if (model.packed.has_value()) {
      document["packed"] = {{"processor", model.packed->processor},
                            {"options", model.packed->options},
                            {"operators", Summarize(model.packed->graph).num_operators},
                            {"bytes", model.packed->pool_bytes},
                            {"parts", model.packed->weights.size()}};
    }
    return console.Write(document);
  }

 private:
  // Whether to show the file as a profile dump.
  bool IsDump() const { return HasEnding(model_.path, ".json") && !dot_ && !nodes_; }

  // FormatName, because names in a file are arbitrary.
  static std::string PackedLine(const PackedModel& packed) {
    return absl::StrFormat("packed for %s (%s): %d operators, weights %s in %d parts\n",
                           FormatName(packed.processor), FormatName(packed.options, 200),
                           Summarize(packed.graph).num_operators, FormatBytes(packed.pool_bytes),
                           packed.weights.size());
  }

  static std::string TypeTable(const Graph& graph, const GraphSummary& summary) {
    std::map<std::string, Footprint> footprints;
    for (const OperatorNode& node : graph.nodes()) {
      if (node.op->role() != Role::kCompute) continue;
      const Footprint footprint = FootprintOf(*node.op, graph.SiteOf(node));
      Footprint& total = footprints[std::string(node.op->type())];
      total.memory += footprint.memory;
      total.computation += footprint.computation;
    }
    Table table({"type", ">count", ">computation", ">memory traffic"});
    for (const auto& [type, footprint] : footprints) {
      table.AddRow({type, absl::StrCat(summary.operators.at(type)),
                    FormatFlops(footprint.computation), FormatBytes(footprint.memory)});
    }
    return table.ToText();
  }

  static std::string NodeTable(const Graph& graph) {
    Table table({">id", "name", "type", "output", ">computation", "parameters"});
    for (const OperatorNode& node : graph.nodes()) {
      if (node.op->role() != Role::kCompute) continue;
      const Footprint footprint = FootprintOf(*node.op, graph.SiteOf(node));
      table.AddRow({absl::StrCat(node.id), FormatName(node.name, 200), std::string(node.op->type()),
                    graph.var(node.outputs[0]).type.ToString(), FormatFlops(footprint.computation),
                    FormatName(ToString(node.op->params()), 200)});
    }
    return table.ToText();
  }

  static Json NodesDocument(const Graph& graph) {
    Json nodes = Json::array();
    for (const OperatorNode& node : graph.nodes()) {
      if (node.op->role() != Role::kCompute) continue;
      const Footprint footprint = FootprintOf(*node.op, graph.SiteOf(node));
      Json inputs = Json::array(), outputs = Json::array(), parameters = Json::object();
      for (int var : node.inputs) inputs.push_back(graph.var(var).name);
      for (int var : node.outputs) {
        const TensorType& type = graph.var(var).type;
        outputs.push_back({{"name", graph.var(var).name},
                           {"shape", ShapeJson(type.shape)},
                           {"dtype", std::string(Name(type.dtype))}});
      }
      for (const auto& [name, value] : node.op->params()) {
        parameters[name] = std::visit([](const auto& v) { return Json(v); }, value);
      }
      nodes.push_back({{"id", node.id},
                       {"name", node.name},
                       {"type", std::string(node.op->type())},
                       {"inputs", std::move(inputs)},
                       {"outputs", std::move(outputs)},
                       {"computation_flop", footprint.computation},
                       {"traffic_bytes", footprint.memory},
                       {"parameters", std::move(parameters)}});
    }
    return nodes;
  }

  ModelFlags model_;
  InspectDumpFlags dump_;
  std::string onnx_;
  bool dot_ = false;
  bool nodes_ = false;
  bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace ashlar
