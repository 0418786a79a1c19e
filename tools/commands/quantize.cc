// ashlar quantize: converts a float model to 8 bits, by its values on data.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "quantization/quantize_model.h"
#include "runtime/plan/plan_graph.h"
#include "serialization/native/writer.h"
#include "serialization/onnx/export/writer.h"
#include "tools/calibration_files.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/report/int8_twin.h"
#include "tools/report/table.h"
#include "tools/report/top_classes.h"

namespace ashlar {
namespace {

// Sorts layers: first 8-bit ones by their noise, then unobserved ones, then float layers.
std::vector<const QuantizedLayer*> WorstFirst(const std::vector<QuantizedLayer>& layers) {
  std::vector<const QuantizedLayer*> sorted;
  for (const QuantizedLayer& layer : layers) sorted.push_back(&layer);
  const auto rank = [](const QuantizedLayer& layer) {
    return layer.in_bytes ? layer.sqnr_db.value_or(1e9) : 2e9;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](auto* a, auto* b) { return rank(*a) < rank(*b); });
  return sorted;
}

std::string RangeText(const ValueRange& range) {
  return absl::StrFormat("%.4g .. %.4g", range.least, range.most);
}

Json RangeJson(const ValueRange& range) { return {{"least", range.least}, {"most", range.most}}; }

Json LayerJson(const QuantizedLayer& layer) {
  Json json = {{"name", layer.name}, {"type", layer.type}, {"in_8_bits", layer.in_bytes}};
  if (!layer.in_bytes) {
    json["reason"] = layer.reason;
    return json;
  }
  json["observed"] = RangeJson(layer.observed);
  json["range"] = RangeJson(layer.range);
  json["scale"] = layer.scale;
  json["zero_point"] = layer.zero_point;
  json["clipped_share"] = layer.clipped_share;
  if (layer.sqnr_db) json["sqnr_db"] = *layer.sqnr_db;
  return json;
}

absl::StatusOr<bool> ParseInput(absl::string_view text) {
  if (text == "float32" || text == "uint8") return text == "uint8";
  return absl::InvalidArgumentError(
      absl::StrCat("'", text.substr(0, 64), "' is not float32 or uint8"));
}

class QuantizeCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_, "the model of floats (.ash, .onnx or .tflite)");
    const OptionGroup data(app, "Data");
    AddText(data, "--calibrate", calibrate_, "DIR|X.npz",
            "samples: a folder of pictures or arrays (folders in it are classes), or arrays by the "
            "inputs' names (or `images`), and perhaps `labels`")
        ->required();
    AddNumber(data, "--samples", most_samples_, 1, kUnlimited,
              "take no more than so many (default: all)");
    AddPreparationFlags(app, inputs_);
    app.remove_option(app.get_option("--layout"));
    const OptionGroup quantisation(app, "Quantisation");
    AddParsed(quantisation, "--method", options_.method, ParseRangeMethod, "NAME",
              "of ranges: minmax, percentile, mse (default), entropy");
    AddParsed(quantisation, "--input", bytes_, ParseInput, "float32|uint8",
              "uint8: the model takes pictures' bytes, which --mean and --scale, one number each, "
              "make its floats (default float32)");
    AddText(quantisation, "--keep", keep_, "NAME,...", "operators that stay in floats");
    app.add_option("--percentile", options_.percentile,
                   "of values inside a range, with --method percentile (default 99.99)")
        ->option_text("X")
        ->check(CLI::Range(50.0, 100.0))
        ->group("Quantisation");
    AddFlag(quantisation, "--no-equalise", no_equalise_,
            "leave the channels of tensors between two layers as they are");
    AddFlag(quantisation, "--bias-correction", options_.bias_correction,
            "take from biases what rounding adds to a layer's sums on average");
    AddFlag(quantisation, "--per-tensor", per_tensor_, "one scale for all weights of a layer");
    AddNumber(quantisation, "--keep-worst", options_.keep_worst, 0, 1 << 20,
              "so many layers with the most noise stay in floats, too");
    AddText(app, "-o,--output", output_, "OUT", "the model of 8 bits: .ash, or .onnx (QDQ)")
        ->required();
    AddNumber(app, "--top", top_, 0, 1 << 20, "layers in the table, the worst first (default 10)");
    AddThreadsFlag(app, threads_);
  }

  absl::Status CheckOptions() const override {
    return CheckEnding("-o", output_, {".ash", ".onnx"});
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override {
    if (options_.method == RangeMethod::kPercentile) return {};
    return {{{"--percentile"}, "it is for --method percentile"}};
  }
  std::vector<std::string> OutputFiles() const override { return {output_}; }

  absl::Status Run(Console& console) override {
    console.ResultIsIn(output_);
    ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadModel(model_, console, WeightsUse::kPlain));
    ASHLAR_ASSIGN_OR_RETURN(
        const std::unique_ptr<CalibrationData> data,
        OpenCalibrationData(calibrate_, model.graph, inputs_, most_samples_, console));
    options_.equalise = !no_equalise_;
    options_.weights_by_channel = !per_tensor_;
    if (bytes_) {
      ASHLAR_ASSIGN_OR_RETURN(options_.input, InputOfBytes());
    }
    if (!keep_.empty()) options_.keep = absl::StrSplit(keep_, ',');
    options_.target.threads = threads_;
    const std::string folder = std::filesystem::path(output_).parent_path().string();
    options_.memory = {folder.empty() ? "." : folder, LettingGoOf(model)};
    options_.progress = [&](const std::string& what) { console.Progress(what); };
    absl::StatusOr<QuantizedModel> made = QuantizeModel(model.graph, *data, options_);
    if (!made.ok()) {
      const absl::Status status = Annotate(made.status(), model_.path);
      if (absl::IsNotFound(status)) return UsageError(absl::StrCat("--keep: ", status.message()));
      return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status)
                 ? WithExitCode(status, ExitCode::kRejectedInput)
                 : status;
    }
    console.Progress(absl::StrCat("writing ", output_));
    const FileAxes axes = FileAxesOf(model);
    const DoneWith& done_with = options_.memory.done_with;
    ASHLAR_RETURN_IF_ERROR(HasEnding(output_, ".onnx")
                               ? WriteOnnx(made->graph, output_, axes, done_with)
                               : WriteModel(made->graph, output_, axes, done_with));
    PlanRequest request;
    request.target = options_.target;
    PlannedModel before, after;
    ASHLAR_ASSIGN_OR_RETURN(before.planned, PlanGraph(model.graph, request));
    ASHLAR_ASSIGN_OR_RETURN(after.planned, PlanGraph(made->graph, request));
    return Show(*made, data->runs(), before, after, console);
  }

 private:
  // Converts --mean and --scale: bytes have only one scale and an integer zero point.
  absl::StatusOr<ByteInput> InputOfBytes() const {
    const std::vector<double>&mean = inputs_.mean, &scale = inputs_.scale;
    const auto several = [](const std::vector<double>& values) {
      return std::any_of(values.begin(), values.end(),
                         [&](double value) { return value != values[0]; });
    };
    if (mean.empty() || scale.empty() || several(mean) || several(scale)) {
      return UsageError(
          "--input uint8 needs --mean and --scale, the same for all channels: bytes have one scale "
          "and zero point");
    }
    if (mean[0] < 0 || mean[0] > 255 || mean[0] != std::nearbyint(mean[0]) || !(scale[0] > 0)) {
      return UsageError(absl::StrCat("--input uint8: --mean ", mean[0], " --scale ", scale[0],
                                     "; a zero point is a whole number from 0 to 255, a scale is "
                                     "above 0"));
    }
    return ByteInput{static_cast<int32_t>(mean[0]), static_cast<float>(scale[0])};
  }

  absl::Status Show(const QuantizedModel& made, int64_t runs, const PlannedModel& before,
                    const PlannedModel& after, Console& console) const {
    const std::vector<const QuantizedLayer*> layers = WorstFirst(made.layers);
    int64_t in_bytes = 0;
    Json rows = Json::array();
    Table worst({"layer", "type", ">range", ">scale", ">zero point", ">clipped", ">SQNR dB"});
    std::string floats;
    for (const QuantizedLayer* layer : layers) {
      rows.push_back(LayerJson(*layer));
      if (!layer->in_bytes) {
        absl::StrAppend(&floats, "  ", FormatName(layer->name), " (", layer->type,
                        "): ", layer->reason, "\n");
        continue;
      }
      if (in_bytes++ >= top_) continue;
      worst.AddRow({FormatName(layer->name, 40), layer->type, RangeText(layer->range),
                    absl::StrFormat("%.4g", layer->scale), absl::StrCat(layer->zero_point),
                    FormatPercent(layer->clipped_share),
                    layer->sqnr_db ? absl::StrFormat("%.1f", *layer->sqnr_db) : "-"});
    }
    const auto in_floats = static_cast<int64_t>(layers.size()) - in_bytes;
    const QuantizedOutputs& outputs = made.outputs;
    console.Print(absl::StrFormat(
        "%s -> %s: %d of %s in 8 bits, %s equalised, %s%s in %s\n\n", model_.path, output_,
        in_bytes, Counted(static_cast<int64_t>(layers.size()), "operator"),
        Counted(made.scaled_tensors, "tensor"),
        options_.bias_correction
            ? absl::StrCat("biases of ", Counted(made.corrected_biases, "layer"), " corrected, ")
            : "",
        Counted(outputs.rows, "sample"), Counted(runs, "run")));
    if (top_ > 0) console.Print(absl::StrCat(worst.ToText(), "\n"));
    if (!floats.empty()) console.Print(absl::StrCat("in floats:\n", floats, "\n"));
    console.Print(absl::StrFormat("output: SQNR %.1f dB", outputs.sqnr_db));
    // In other outputs, such as a detector's, the largest element is not a class.
    const Graph& graph = before.plan().graph;
    const Shape& first = graph.var(graph.outputs()[0].var).type.shape;
    const bool of_classes = outputs.agreement && HoldsScores(first) && first[1] > 1;
    if (of_classes) {
      console.Print(absl::StrFormat(", the same class in %s", FormatPercent(*outputs.agreement)));
    }
    if (outputs.accuracy_before) {
      console.Print(absl::StrFormat(", accuracy %.4f -> %.4f", *outputs.accuracy_before,
                                    *outputs.accuracy_after));
    }
    console.Print(absl::StrCat("\n\n", TwinTable(before, after)));

    Json document = console.Document(CompNode(), threads_);
    document["file"] = output_;
    document["method"] = kRangeMethodNames[static_cast<size_t>(options_.method)];
    document["runs"] = runs;
    document["equalised_tensors"] = made.scaled_tensors;
    document["corrected_biases"] = made.corrected_biases;
    document["operators_in_8_bits"] = in_bytes;
    document["operators_in_floats"] = in_floats;
    document["layers"] = std::move(rows);
    Json& output = document["output"] = {{"rows", outputs.rows}, {"sqnr_db", outputs.sqnr_db}};
    if (of_classes) output["agreement"] = *outputs.agreement;
    if (outputs.accuracy_before) output["accuracy_before"] = *outputs.accuracy_before;
    if (outputs.accuracy_after) output["accuracy_after"] = *outputs.accuracy_after;
    document["pools"] = {{"before", PoolsOfPlan(before.plan())},
                         {"after", PoolsOfPlan(after.plan())}};
    return console.Write(document);
  }

  ModelFlags model_;
  InputFlags inputs_;
  QuantizeOptions options_;
  std::string calibrate_, output_, keep_;
  int64_t most_samples_ = kUnlimited, top_ = 10;
  int threads_ = DefaultThreads();
  bool no_equalise_ = false, per_tensor_ = false, bytes_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeQuantizeCommand() { return std::make_unique<QuantizeCommand>(); }

}  // namespace ashlar
