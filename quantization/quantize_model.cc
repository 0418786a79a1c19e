#include "quantization/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "opr/table.h"
#include "quantization/bias_correction.h"
#include "quantization/equalise.h"
#include "quantization/noise.h"
#include "quantization/rewrite.h"
#include "runtime/device/device.h"

namespace ashlar {
namespace {

struct Observed {
  double least = 0, most = 0;  // with zero
};

HasKernel KernelsOf(const Device& device) {
  return [&device](const Operator& op) { return device.kernels().Find(op.type()) != nullptr; };
}

// The graph whose values are observed: nothing is merged that has a value of its own.
absl::StatusOr<Graph> Folded(Graph graph, const Device& device) {
  ASHLAR_ASSIGN_OR_RETURN(graph, Compose(std::move(graph), KernelsOf(device)));
  ASHLAR_ASSIGN_OR_RETURN(graph, FoldConstants(graph, Operators()));
  ASHLAR_ASSIGN_OR_RETURN(graph, Recognise(graph, Operators(), KernelsOf(device)));
  return FoldScale(graph, Operators());
}

absl::StatusOr<Graph> InEightBits(const Graph& fused, const LayerPlan& plan,
                                  const std::vector<TensorType>& types, bool by_channel,
                                  const Device& device,
                                  const std::optional<TensorType>& input = std::nullopt) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, RewriteInEightBits(fused, plan, types, by_channel, input));
  // A fused operator without an 8-bit kernel is decomposed again.
  return Compose(std::move(graph), KernelsOf(device));
}

// Types of all vars that have one, from ranges by the var that stands for a type.
absl::StatusOr<std::vector<TensorType>> TypesOf(const Graph& graph, const LayerPlan& plan,
                                                const std::map<int, ValueRange>& ranges) {
  std::vector<TensorType> types(graph.vars().size());
  for (size_t var = 0; var < types.size(); ++var) {
    if (plan.type_of[var] < 0) continue;
    ASHLAR_ASSIGN_OR_RETURN(types[var], TypeOfRange(ranges.at(plan.type_of[var]),
                                                    graph.var(static_cast<int>(var)).type.shape));
  }
  return types;
}

// The type of the graph's input in bytes.
absl::StatusOr<TensorType> TypeOfInput(const Graph& graph, const ByteInput& input) {
  if (graph.inputs().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes take the place of one input, the model has ", graph.inputs().size()));
  }
  const TensorType& type = graph.var(graph.inputs()[0].var).type;
  if (!IsFloat(type.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("input '", graph.inputs()[0].name, "' is ",
                                                   type.ToString(), ", expected floats"));
  }
  ASHLAR_ASSIGN_OR_RETURN(Quantization of,
                          Quantization::Make(DType::kQuantized8Asymm, {input.scale}, input.mean));
  return TensorType{DType::kQuantized8Asymm, type.shape, Format::kDefault, std::move(of)};
}

// The bytes that stand for an input of floats.
HostTensor BytesOf(const HostTensor& floats, const ByteInput& input) {
  HostTensor bytes = HostTensor::Zeros(DType::kUint8, floats.shape());
  for (int64_t i = 0; i < bytes.num_elements(); ++i) {
    bytes.Set(i, std::clamp(std::nearbyint(floats.At(i) / input.scale + input.mean), 0.0, 255.0));
  }
  return bytes;
}

absl::Status CheckNames(const Graph& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool known = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                   [&](const OperatorNode& node) { return node.name == name; });
    if (!known) {
      return absl::NotFoundError(absl::StrCat("no operator '", name.substr(0, 200),
                                              "'; `ashlar inspect` and reports name them"));
    }
  }
  return absl::OkStatus();
}

class Quantizer {
 public:
  Quantizer(const CalibrationData& data, const QuantizeOptions& options, const Device& device)
      : data_(data), options_(options), device_(device) {}

  absl::StatusOr<QuantizedModel> Run(const Graph& graph) && {
    if (data_.runs() == 0) return absl::InvalidArgumentError("there is no calibration data");
    ASHLAR_ASSIGN_OR_RETURN(graph_, Folded(graph, device_));
    ASHLAR_RETURN_IF_ERROR(ObservePeaks());
    if (options_.equalise) {
      ASHLAR_ASSIGN_OR_RETURN(EqualisedGraph equalised, EqualiseChannels(graph_, peaks_));
      model_.scaled_tensors = equalised.scaled_tensors;
      graph_ = std::move(equalised.graph);
      if (model_.scaled_tensors > 0) ASHLAR_RETURN_IF_ERROR(ObservePeaks());
    }
    ASHLAR_ASSIGN_OR_RETURN(fused_, FuseForQuantization(graph_, Operators()));
    if (options_.input) {
      ASHLAR_ASSIGN_OR_RETURN(input_type_, TypeOfInput(fused_, *options_.input));
    }
    ASHLAR_RETURN_IF_ERROR(CheckNames(fused_, options_.keep));
    std::set<std::string> keep(options_.keep.begin(), options_.keep.end());
    ASHLAR_RETURN_IF_ERROR(Quantize(keep));
    if (options_.keep_worst > 0) {
      KeepWorst(keep);
      ASHLAR_RETURN_IF_ERROR(Quantize(keep));
    }
    return std::move(model_);
  }

 private:
  void Progress(absl::string_view what, int64_t run) const {
    if (!options_.progress) return;
    options_.progress(absl::StrCat(what, ": run ", run + 1, " of ", data_.runs()));
  }

  // visit(var, value), of all runs of the graph in floats.
  absl::Status Observe(absl::string_view what, ValueVisitor visit) {
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<GraphRun> run,
                            GraphRun::Create(graph_, options_.target, "layout", options_.memory));
    for (int64_t i = 0; i < data_.runs(); ++i) {
      Progress(what, i);
      ASHLAR_ASSIGN_OR_RETURN(const CalibrationRun inputs, data_.Run(i));
      ASHLAR_RETURN_IF_ERROR(run->Run(inputs.inputs, visit).status());
    }
    return absl::OkStatus();
  }

  // The least and the largest value of each var, by id, and of each of its channels the largest
  // absolute one, by index.
  absl::Status ObservePeaks() {
    observed_.clear();
    peaks_.assign(graph_.vars().size(), {});
    std::map<int, size_t> index;
    for (size_t i = 0; i < graph_.vars().size(); ++i) index[graph_.vars()[i].id] = i;
    return Observe("ranges", [&](const Var& var, const HostTensor& value) -> absl::Status {
      if (value.dtype() != DType::kFloat32) return absl::OkStatus();
      const Shape& shape = value.shape();
      const int64_t channels = shape.rank() >= 2 ? shape[1] : 1;
      const int64_t batch = shape.rank() >= 2 ? shape[0] : 1;
      Observed& of = observed_[var.id];
      std::vector<float> peaks(static_cast<size_t>(channels), 0);
      const int64_t run = batch * channels == 0 ? 0 : value.num_elements() / batch / channels;
      const float* x = value.data<float>().data();
      for (int64_t i = 0; i < batch * channels; ++i, x += run) {
        float least = 0, most = 0;
        bool finite = true;
        for (int64_t k = 0; k < run; ++k) {
          least = std::min(least, x[k]);
          most = std::max(most, x[k]);
          finite = finite && std::isfinite(x[k]);
        }
        if (!finite) {
          return absl::InvalidArgumentError(
              absl::StrCat("'", var.name, "' has values that are not finite"));
        }
        of.least = std::min<double>(of.least, least);
        of.most = std::max<double>(of.most, most);
        float& peak = peaks[static_cast<size_t>(i % channels)];
        peak = std::max({peak, -least, most});
      }
      const auto found = index.find(var.id);
      if (found == index.end()) return absl::OkStatus();
      std::vector<float>& all = peaks_[found->second];
      all.resize(peaks.size(), 0);
      for (size_t c = 0; c < peaks.size(); ++c) all[c] = std::max(all[c], peaks[c]);
      return absl::OkStatus();
    });
  }

  // The histograms of all vars that get a type of their own, by id; each is made once.
  absl::Status ObserveHistograms(const LayerPlan& plan) {
    std::set<int> wanted;
    for (size_t var = 0; var < plan.ranged.size(); ++var) {
      const int id = fused_.var(static_cast<int>(var)).id;
      if (!plan.ranged[var] || histograms_.count(id) > 0) continue;
      const Observed& of = observed_[id];
      histograms_[id] = Histogram(of.least, of.most);
      wanted.insert(id);
    }
    if (wanted.empty()) return absl::OkStatus();
    return Observe("histograms", [&](const Var& var, const HostTensor& value) {
      if (wanted.count(var.id) > 0 && value.dtype() == DType::kFloat32) {
        histograms_[var.id].Add(value.data<float>());
      }
      return absl::OkStatus();
    });
  }

  absl::Status Quantize(const std::set<std::string>& keep) {
    const LayerPlan plan = PlanLayers(fused_, keep, device_);
    const bool any = std::any_of(plan.treatment.begin(), plan.treatment.end(),
                                 [](Treatment t) { return t != Treatment::kFloats; });
    if (!any) {
      return absl::FailedPreconditionError(
          "no operator can compute with 8 bits: there is no convolution or product of floats with "
          "known weights");
    }
    ASHLAR_RETURN_IF_ERROR(ObserveHistograms(plan));
    std::map<int, ValueRange> ranges;
    for (size_t var = 0; var < plan.ranged.size(); ++var) {
      if (plan.type_of[var] < 0) continue;
      ValueRange& range = ranges.try_emplace(plan.type_of[var], ValueRange{0, 0}).first->second;
      if (!plan.ranged[var]) continue;
      const ValueRange own = ChooseRange(histograms_[fused_.var(static_cast<int>(var)).id],
                                         options_.method, options_.percentile);
      range = {std::min(range.least, own.least), std::max(range.most, own.most)};
    }
    ASHLAR_ASSIGN_OR_RETURN(std::vector<TensorType> types, TypesOf(fused_, plan, ranges));
    if (input_type_) GiveInputType(plan, types);
    ASHLAR_ASSIGN_OR_RETURN(
        model_.graph,
        InEightBits(fused_, plan, types, options_.weights_by_channel, device_, input_type_));
    if (options_.bias_correction) ASHLAR_RETURN_IF_ERROR(CorrectBiases(plan, types));
    DescribeLayers(plan, types);
    return Measure();
  }

  absl::Status CorrectBiases(const LayerPlan& plan, const std::vector<TensorType>& types) {
    BiasCorrection correction(graph_, fused_, plan, types);
    ASHLAR_RETURN_IF_ERROR(Observe("biases", [&](const Var& var, const HostTensor& value) {
      correction.Add(var, value);
      return absl::OkStatus();
    }));
    ASHLAR_ASSIGN_OR_RETURN(CorrectedGraph corrected, correction.Correct(model_.graph));
    model_.graph = std::move(corrected.graph);
    model_.corrected_biases = corrected.biases;
    return absl::OkStatus();
  }

  // Sets the type of the input, of its conversion, and of vars that only move its bytes.
  void GiveInputType(const LayerPlan& plan, std::vector<TensorType>& types) const {
    types[static_cast<size_t>(fused_.inputs()[0].var)] = *input_type_;
    std::set<int> same;
    for (size_t var = 0; var < types.size(); ++var) {
      if (IsInputInFloats(fused_, static_cast<int>(var))) same.insert(plan.type_of[var]);
    }
    for (size_t var = 0; var < types.size(); ++var) {
      if (plan.type_of[var] < 0 || same.count(plan.type_of[var]) == 0) continue;
      types[var].quantization = input_type_->quantization;
    }
  }

  void DescribeLayers(const LayerPlan& plan, const std::vector<TensorType>& types) {
    model_.layers.clear();
    by_id_.clear();
    for (size_t i = 0; i < fused_.nodes().size(); ++i) {
      const OperatorNode& node = fused_.node(static_cast<int>(i));
      if (node.op->role() != Role::kCompute) continue;
      const Var& output = fused_.var(node.outputs[0]);
      QuantizedLayer layer;
      layer.name = node.name;
      layer.type = std::string(node.op->type());
      layer.in_bytes = plan.treatment[i] != Treatment::kFloats;
      layer.reason = plan.reasons[i];
      layer.has_weights = fused_.HasWeights(node);
      const auto observed = observed_.find(output.id);
      if (observed != observed_.end()) {
        layer.observed = {observed->second.least, observed->second.most};
      }
      if (layer.in_bytes) {
        const TensorType& type = types[static_cast<size_t>(node.outputs[0])];
        layer.range = RangeOfType(type);
        layer.scale = type.quantization.scale();
        layer.zero_point = type.quantization.zero_point();
        const auto histogram = histograms_.find(output.id);
        if (histogram != histograms_.end()) {
          layer.clipped_share = ClippedShare(histogram->second, layer.range);
        }
      }
      by_id_[output.id] = model_.layers.size();
      model_.layers.push_back(std::move(layer));
    }
  }

  // Noise of layers and outputs, by runs of both graphs.
  absl::Status Measure() {
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<GraphRun> floats,
                            GraphRun::Create(graph_, options_.target, "layout", options_.memory));
    ASHLAR_ASSIGN_OR_RETURN(
        const std::unique_ptr<GraphRun> bytes,
        GraphRun::Create(model_.graph, options_.target, "all", options_.memory));
    std::map<int, Noise> noise;  // by var id
    OutputNoise outputs;
    for (int64_t i = 0; i < data_.runs(); ++i) {
      Progress("comparing", i);
      ASHLAR_ASSIGN_OR_RETURN(const CalibrationRun run, data_.Run(i));
      std::map<int, HostTensor> expected;
      const auto keep = [&](const Var& var, const HostTensor& value) {
        if (by_id_.count(var.id) > 0) expected[var.id] = value;
        return absl::OkStatus();
      };
      const auto compare = [&](const Var& var, const HostTensor& value) {
        const auto it = expected.find(var.id);
        if (it != expected.end()) noise[var.id].Add(it->second, value);
        return absl::OkStatus();
      };
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor>* before, floats->Run(run.inputs, keep));
      InputTensors inputs = run.inputs;
      for (auto& [name, tensor] : inputs) {
        if (options_.input) tensor = BytesOf(tensor, *options_.input);
      }
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor>* after, bytes->Run(inputs, compare));
      outputs.Add((*before)[0], (*after)[0], run);
    }
    for (const auto& [id, of] : noise) {
      model_.layers[by_id_.at(id)].sqnr_db = of.sqnr_db();
    }
    model_.outputs = outputs.Result();
    return absl::OkStatus();
  }

  // The operators with weights whose outputs lost most go back to floats.
  void KeepWorst(std::set<std::string>& keep) const {
    std::vector<const QuantizedLayer*> layers;
    for (const QuantizedLayer& layer : model_.layers) {
      if (layer.in_bytes && layer.has_weights && layer.sqnr_db) layers.push_back(&layer);
    }
    std::stable_sort(layers.begin(), layers.end(),
                     [](auto* a, auto* b) { return *a->sqnr_db < *b->sqnr_db; });
    for (size_t i = 0; i < layers.size() && i < static_cast<size_t>(options_.keep_worst); ++i) {
      keep.insert(layers[i]->name);
    }
  }

  const CalibrationData& data_;
  const QuantizeOptions& options_;
  const Device& device_;
  Graph graph_, fused_;
  std::optional<TensorType> input_type_;  // QuantizeOptions::input
  ChannelPeaks peaks_;
  std::map<int, Observed> observed_;     // by var id
  std::map<int, Histogram> histograms_;  // by var id
  std::map<int, size_t> by_id_;          // layers by the id of their output
  QuantizedModel model_;
};

}  // namespace

absl::StatusOr<QuantizedModel> QuantizeModel(const Graph& graph, const CalibrationData& data,
                                             const QuantizeOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(options.target.comp_node));
  return Quantizer(data, options, *device).Run(graph);
}

absl::StatusOr<Graph> EightBitTwin(const Graph& graph, const PlanTarget& target) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(target.comp_node));
  ASHLAR_ASSIGN_OR_RETURN(const Graph folded, Folded(graph, *device));
  ASHLAR_ASSIGN_OR_RETURN(const Graph fused, FuseForQuantization(folded, Operators()));
  const LayerPlan plan = PlanLayers(fused, {}, *device);
  // Any range does; this one lies within the clamps' ranges, which then need no operator.
  std::map<int, ValueRange> ranges;
  for (const int type : plan.type_of) {
    if (type >= 0) ranges[type] = ValueRange{0, 1};
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, TypesOf(fused, plan, ranges));
  return InEightBits(fused, plan, types, /*by_channel=*/true, *device);
}

}  // namespace ashlar
