// ashlar run: runs a model and writes the outputs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/counted_results.h"
#include "tools/bound_session.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/family.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/option_kinds.h"
#include "tools/report/table.h"
#include "tools/report/top_classes.h"
#include "tools/request.h"
#include "tools/run_steps.h"

namespace ashlar {
namespace {

class RunCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddInputFlags(app, inputs_);
    // Lists these options here only: without them the help of other subcommands fits one screen.
    for (const char* name : {"--resize", "--crop", "--letterbox", "--fill", "--color"}) {
      app.get_option(name)->group("Inputs");
    }
    const OptionGroup outputs(app, "Outputs");
    AddText(outputs, "-o,--output", output_, "OUT.npz", "all outputs, each under its name");
    AddNumber(outputs, "--top", top_, 0, 1 << 30,
              "best classes of each image (default 5; 0: the range of values instead)");
    AddText(outputs, "--labels", labels_, "FILE",
            "names of the classes, one a line, as many as there are");
    AddExecutionFlags(app, execution_);
    CLI::Option* const iterations =
        AddNumber(app, "--iterations", iterations_, 1, 1 << 30, "how often to run (default 1)")
            ->group("Execution");
    AddFlag(app, "--steps", steps_,
            "the files hold the inputs of several runs, one after the other")
        ->group("Execution")
        ->excludes(iterations);
    AddPlanningFlags(app, planning_);
    AddPlanFileFlag(app, planning_);
  }

  absl::Status CheckOptions() const override {
    ASHLAR_RETURN_IF_ERROR(CheckEnding("-o", output_, {".npz"}));
    if (steps_ && std::any_of(model_.shapes.begin(), model_.shapes.end(), ShapeFamily::HasChoice)) {
      return UsageError(
          "--steps: the shapes of the files choose no point; --shape declares several");
    }
    return CheckTogether(execution_, planning_);
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override {
    std::vector<IdleOptions> idle;
    if (top_ == 0) idle.push_back({{"--labels"}, "--top 0 shows no classes"});
    if (inputs_.files.empty()) idle.push_back({{"--steps"}, "no --input gives the runs"});
    if (steps_) idle.push_back({{"--top", "--labels"}, "--steps shows the range of values"});
    return idle;
  }
  std::vector<std::string> OutputFiles() const override { return {output_}; }

  absl::Status Run(Console& console) override {
    console.ResultIsIn(output_);
    std::vector<std::string> labels;
    if (!labels_.empty()) {
      absl::StatusOr<std::vector<std::string>> lines = ReadLabels(labels_);
      if (!lines.ok()) return WithExitCode(lines.status(), ExitCode::kRejectedInput);
      labels = *std::move(lines);
    }
    ASHLAR_ASSIGN_OR_RETURN(const ModelFlags flags,
                            AtChosenPoint(model_, planning_, inputs_, console));
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(flags, console));
    if (!labels_.empty()) {
      const absl::Status fits = CheckLabels(labels_, labels, model.graph);
      if (!fits.ok()) return WithExitCode(fits, ExitCode::kRejectedInput);
    }
    InputSteps steps;
    InputTensors inputs;
    if (steps_) {
      ASHLAR_ASSIGN_OR_RETURN(steps,
                              MakeInputSteps(model.graph, inputs_, execution_.seed, console));
      inputs = FirstStep(model.graph, steps);
    } else {
      ASHLAR_ASSIGN_OR_RETURN(inputs, MakeInputs(model.graph, inputs_, execution_.seed, console));
    }
    ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request,
                            RequestToRun(model, model_.path, execution_, planning_, console));
    ASHLAR_ASSIGN_OR_RETURN(
        std::unique_ptr<BoundSession> session,
        BoundSession::Create(std::move(model), request, std::move(inputs), console));
    console.Progress("running");
    const auto start = std::chrono::steady_clock::now();
    NamedTensors outputs;
    if (steps_) {
      ASHLAR_ASSIGN_OR_RETURN(outputs, RunSteps(*session, steps));
    } else {
      for (int64_t i = 0; i < iterations_; ++i) ASHLAR_RETURN_IF_ERROR(session->Run());
      outputs = CutToCounts(session->outputs(), session->planned().graph);
    }
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    LetGoOfUsedCode(session->planned());  // writing needs other pages
    if (!output_.empty()) ASHLAR_RETURN_IF_ERROR(WriteNpz(outputs, output_));

    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["iterations"] = steps_ ? steps.count : iterations_;
    document["total_ms"] = ms;
    document["outputs"] =
        BindingsJson(session->planned().graph, session->planned().graph.outputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& [name, tensor] = outputs[i];
      if (top_ > 0 && !steps_ && HoldsScores(tensor.shape())) {
        PrintTop(name, tensor, labels, document["outputs"][i], console);
      } else {
        PrintRange(name, tensor, document["outputs"][i], console);
      }
    }
    return console.Write(document);
  }

 private:
  // Prints one line an image: "917 tabby 0.3636".
  void PrintTop(const std::string& name, const HostTensor& tensor,
                const std::vector<std::string>& labels, Json& json, Console& console) const {
    const std::vector<std::vector<ScoredClass>> images = TopClasses(tensor, top_);
    std::vector<std::string> headings = {">" + FormatName(name)};
    for (int64_t rank = 1; rank <= std::min(top_, tensor.shape()[1]); ++rank) {
      headings.push_back(absl::StrCat("top ", rank));
    }
    Table table(std::move(headings));
    json["top"] = Json::array();
    for (size_t image = 0; image < images.size(); ++image) {
      std::vector<std::string> cells = {absl::StrCat("image ", image)};
      Json best = Json::array();
      for (const ScoredClass& c : images[image]) {
        Json entry = {{"class", c.index}, {"value", c.value}};
        std::string label;
        if (tensor.shape()[1] == static_cast<int64_t>(labels.size())) {
          entry["label"] = labels[c.index];
          label = FormatName(labels[c.index], 24) + " ";
        }
        best.push_back(std::move(entry));
        cells.push_back(absl::StrFormat("%d %s%.4f", c.index, label, c.value));
      }
      json["top"].push_back(std::move(best));
      table.AddRow(std::move(cells));
    }
    console.Print(table.ToText());
  }

  static void PrintRange(const std::string& name, const HostTensor& tensor, Json& json,
                         Console& console) {
    double min = INFINITY, max = -INFINITY, sum = 0;
    int64_t numbers = 0;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const double x = tensor.At(i);
      if (std::isnan(x)) continue;
      ++numbers;
      min = std::min(min, x);
      max = std::max(max, x);
      sum += x;
    }
    const double mean = sum / static_cast<double>(std::max<int64_t>(1, numbers));
    json["min"] = min;
    json["max"] = max;
    json["mean"] = mean;
    const int64_t nans = tensor.num_elements() - numbers;
    std::string text = numbers > 0
                           ? absl::StrFormat("min %.6g, mean %.6g, max %.6g", min, mean, max)
                           : "no numbers";
    if (nans > 0) {
      json["nan"] = nans;
      absl::StrAppend(&text, ", NaN in ", nans, " of ", Counted(tensor.num_elements(), "element"));
    } else if (numbers == 0) {
      text = "no elements";
    }
    console.Print(absl::StrCat(FormatName(name), " ", Name(tensor.dtype()),
                               tensor.shape().ToString(), ": ", text, "\n"));
  }

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  std::string output_, labels_;
  int64_t top_ = 5;
  int64_t iterations_ = 1;
  bool steps_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace ashlar
