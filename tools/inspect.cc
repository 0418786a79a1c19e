// ashlar inspect: the graph in a file.
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "tools/command.h"
#include "tools/dot.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/inspect_dump.h"
#include "tools/model.h"
#include "tools/table.h"

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
    app.add_option("--recorded-plan", dump_.recorded_plan,
                   "of a profile dump: where its vars lay (.csv, .svg or .html)")
        ->option_text("FILE")
        ->group("Profile dumps");
    app.add_option("--own-plan", dump_.own_plan,
                   "of a profile dump: our plan of the same problem, in place")
        ->option_text("FILE")
        ->group("Profile dumps");
    app.add_flag("--dot", dot_, "the graph for Graphviz, and nothing else");
    app.add_flag("--nodes", nodes_, "every operator, with its shapes and parameters");
  }

  absl::Status Run(Console& console) override {
    dump_.path = model_.path;
    const bool graph_alone = dot_ || nodes_;
    if (HasEnding(model_.path, ".json") && !graph_alone) return InspectDump(dump_, console);
    if (!dump_.recorded_plan.empty() || !dump_.own_plan.empty()) {
      return UsageError("--recorded-plan and --own-plan are for profile dumps (.json)");
    }
    ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadModel(model_, console));
    const Graph& graph = model.graph;
    const GraphSummary summary = Summarize(graph);
    if (dot_) {
      console.Print(DotText(graph));
    } else {
      console.Print(absl::StrCat(BindingLines(graph, graph.inputs(), "input"),
                                 BindingLines(graph, graph.outputs(), "output")));
      console.Print(absl::StrFormat("operators %d\nconstants %d %s\ncomputation %s\n\n",
                                    summary.num_operators, summary.num_constants,
                                    FormatBytes(summary.weights_bytes),
                                    FormatFlops(summary.computation)));
      console.Print(nodes_ ? NodeTable(graph) : TypeTable(graph, summary));
    }
    Json document = console.Document(CompNode(), DefaultThreads());
    AddSummary(graph, summary, document);
    return console.Write(document);
  }

 private:
  static std::string TypeTable(const Graph& graph, const GraphSummary& summary) {
    std::map<std::string, Footprint> footprints;
    for (const OperatorNode& node : graph.nodes()) {
      if (node.op->role() != Role::kCompute) continue;
      const Footprint footprint =
          FootprintOf(*node.op, graph.InputTypes(node), graph.OutputTypes(node));
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
      const Footprint footprint =
          FootprintOf(*node.op, graph.InputTypes(node), graph.OutputTypes(node));
      table.AddRow({absl::StrCat(node.id), FormatName(node.name, 48), std::string(node.op->type()),
                    graph.var(node.outputs[0]).type.ToString(), FormatFlops(footprint.computation),
                    FormatName(ToString(node.op->params()), 200)});
    }
    return table.ToText();
  }

  ModelFlags model_;
  InspectDumpFlags dump_;
  bool dot_ = false;
  bool nodes_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace ashlar
