// ashlar convert: converts models between formats.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/native/writer.h"
#include "serialization/onnx/export/writer.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/graph_summary.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/options.h"

namespace ashlar {
namespace {

struct Writer {
  const char* ending;
  absl::Status (*write)(const Graph& graph, const std::string& path, const FileAxes& axes,
                        const DoneWith& done_with);
};

constexpr Writer kWriters[] = {{".ash", WriteModel}, {".onnx", WriteOnnx}};

class ConvertCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddText(app, "-o,--output", output_, "OUT", "the file to write: .ash or .onnx")->required();
    AddNumber(app, "--seed", model_.weights_seed, 0, kUnlimited,
              "of the weights, which a profile dump (.json) does not have (default 0)");
    app.add_flag("--pack", pack_,
                 "also store the rewritten graph, and its weights as the processor's kernels want "
                 "them: loading then packs nothing (.ash only)");
    AddThreadsFlag(app, threads_);
    AddPrecisionFlag(app, precision_);
    AddPlanningFlags(app, planning_);
  }

  absl::Status CheckOptions() const override {
    if (pack_ && !HasEnding(output_, ".ash")) {
      return UsageError(absl::StrCat("--pack: -o ", output_, " is not a .ash file"));
    }
    ASHLAR_RETURN_IF_ERROR(CheckEnding("-o", output_, {".ash", ".onnx"}));
    return CheckTogether(Execution(), planning_);
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override {
    std::vector<IdleOptions> idle;
    if (!pack_) {
      idle.push_back({{"Planning"}, "nothing is planned here without --pack"});
      idle.push_back({{"--threads", "--precision"}, "nothing is planned here without --pack"});
    }
    if (!HasEnding(model_.path, ".json")) {
      idle.push_back({{"--seed"}, absl::StrCat(model_.path, " has weights of its own")});
    }
    return idle;
  }
  std::vector<std::string> OutputFiles() const override { return {output_}; }

  absl::Status Run(Console& console) override {
    console.ResultIsIn(output_);
    if (pack_) return Pack(console);
    for (const Writer& writer : kWriters) {
      if (!HasEnding(output_, writer.ending)) continue;
      ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadModel(model_, console, WeightsUse::kPlain));
      console.Progress(absl::StrCat("writing ", output_));
      ASHLAR_RETURN_IF_ERROR(
          writer.write(model.graph, output_, FileAxesOf(model), LettingGoOf(model)));
      const GraphSummary summary = Summarize(model.graph);
      console.Print(absl::StrFormat("%s -> %s: %s, weights %s\n", model_.path, output_,
                                    Counted(summary.num_operators, "operator"),
                                    FormatBytes(summary.weights_bytes)));
      Json document = console.Document(CompNode(), DefaultThreads());
      document["file"] = output_;
      AddSummary(model.graph, summary, document);
      return console.Write(document);
    }
    return UsageError(
        absl::StrCat("-o ", output_, ": cannot tell the format; write to a .ash or .onnx file"));
  }

 private:
  absl::Status Pack(Console& console) const {
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console, WeightsUse::kPlain));
    console.Progress("packing weights");
    const ExecutionFlags execution = Execution();
    ASHLAR_ASSIGN_OR_RETURN(
        const PackedModel packed,
        PackModel(model, ToPlanRequest(execution, planning_, console), console));
    console.Progress(absl::StrCat("writing ", output_));
    ASHLAR_RETURN_IF_ERROR(
        WriteModel(model.graph, packed, output_, FileAxesOf(model), LettingGoOf(model)));
    console.Print(absl::StrFormat("%s -> %s: packed for %s, %s in %s\n", model_.path, output_,
                                  packed.processor, FormatBytes(packed.pool_bytes),
                                  Counted(packed.weights.size(), "part")));
    Json document = console.Document(CompNode(), execution.threads);
    document["file"] = output_;
    document["packed"] = {{"processor", packed.processor},
                          {"options", packed.options},
                          {"bytes", packed.pool_bytes},
                          {"parts", packed.weights.size()}};
    return console.Write(document);
  }

  ExecutionFlags Execution() const {
    ExecutionFlags execution;
    execution.threads = threads_;
    execution.precision = precision_;
    return execution;
  }

  bool pack_ = false;
  int threads_ = DefaultThreads();
  DType precision_ = DType::kFloat32;
  PlanningFlags planning_;
  ModelFlags model_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeConvertCommand() { return std::make_unique<ConvertCommand>(); }

}  // namespace ashlar
