// Bias correction: Nagel et al., "Data-free quantization through weight equalization and bias
// correction" (2019), with means of data instead of assumed means. Each layer is corrected by
// itself, like NNCF's fast bias correction. Convolutions are linear: the mean of their outputs is
// the sum of the weights, each times the mean of the inputs that it multiplies. So one run of the
// samples in floats gives the mean input of each layer, in its 8-bit type, and the layer's mean
// sums. The mean outputs of the rounded weights are compared with the mean sums.
#include "quantization/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/conv_bias.h"
#include "opr/table.h"

namespace ashlar {
namespace {

constexpr double kMostSteps = 1 << 30;

// Returns the var with the sums of layer `fused`, whose output is var `id`: the output of the
// operator with its name, after additions. Sets whether an activation follows. Null if the var is
// not observed.
const Var* SumsOf(const Graph& floats, const OperatorNode& fused, int id, bool& behind_activation) {
  for (const OperatorNode& node : floats.nodes()) {
    if (node.name != fused.name || node.outputs.size() != 1) continue;
    const Var* sums = &floats.var(node.outputs[0]);
    for (int var = node.outputs[0]; floats.var(var).id != id;) {
      if (floats.readers(var).size() != 1) return nullptr;
      const OperatorNode& reader = floats.node(floats.readers(var)[0]);
      if (reader.outputs.size() != 1) return nullptr;
      var = reader.outputs[0];
      behind_activation = reader.inputs.size() == 1;
      if (!behind_activation) sums = &floats.var(var);
    }
    return sums;
  }
  return nullptr;
}

// Returns the 8-bit convolution that makes a var, or a view of it; null if there is none.
const OperatorNode* ConvolutionOf(const Graph& bytes, const Var& var) {
  const OperatorNode* node = &bytes.node(var.producer);
  while (node->op->type() == "Reshape") node = &bytes.node(bytes.var(node->inputs[0]).producer);
  const bool is_one = dynamic_cast<const ConvBiasForward*>(node->op.get()) != nullptr &&
                      IsQuantized(bytes.var(node->inputs[0]).type.dtype);
  return is_one && bytes.constant(node->inputs[ConvBiasForward::kBias]) != nullptr ? node : nullptr;
}

// Returns for each channel of an image and each weight of its window the mean, over all outputs of
// a convolution, of what this weight multiplies, which is 0 in the padding. In the order of a
// filter's weights; the image is given in integers, an element each.
std::vector<double> MeanReads(const ConvolutionGeometry& g, bool flip,
                              absl::Span<const int32_t> image) {
  const int64_t channels = g.groups * g.in_channels, window = g.h.window * g.w.window;
  const int64_t plane = g.h.input * g.w.input;
  std::vector<double> reads(static_cast<size_t>(channels * window), 0);
  for (int64_t i = 0; i < g.batch * channels; ++i) {
    for (int64_t kh = 0; kh < g.h.window; ++kh) {
      const Range rows = g.h.OutputsInside(kh);
      for (int64_t kw = 0; kw < g.w.window; ++kw) {
        const Range columns = g.w.OutputsInside(kw);
        int64_t sum = 0;
        for (int64_t oh = rows.begin; oh < rows.end; ++oh) {
          const int64_t y = g.h.Origin(oh) + kh * g.h.dilation;
          for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
            const int64_t x = g.w.Origin(ow) + kw * g.w.dilation;
            sum += image[static_cast<size_t>(i * plane + y * g.w.input + x)];
          }
        }
        const int64_t tap = kh * g.w.window + kw;
        const int64_t weight = i % channels * window + (flip ? window - 1 - tap : tap);
        reads[static_cast<size_t>(weight)] += static_cast<double>(sum);
      }
    }
  }
  const auto outputs = static_cast<double>(g.batch * g.h.output * g.w.output);
  for (double& read : reads) read /= outputs;
  return reads;
}

// Returns the scale of an output channel's weights or bias.
double ScaleOf(const HostTensor& tensor, size_t channel, size_t channels) {
  const absl::Span<const float> scales = tensor.quantization().scales();
  return scales[channel * scales.size() / channels];
}

}  // namespace

BiasCorrection::BiasCorrection(const Graph& floats, const Graph& fused, const LayerPlan& plan,
                               const std::vector<TensorType>& types) {
  for (size_t i = 0; i < fused.nodes().size(); ++i) {
    const OperatorNode& node = fused.node(static_cast<int>(i));
    if (plan.treatment[i] != Treatment::kRounded || !fused.HasWeights(node)) continue;
    Layer layer;
    layer.output = fused.var(node.outputs[0]).id;
    const Var* const sums = SumsOf(floats, node, layer.output, layer.behind_activation);
    if (sums == nullptr) continue;
    const int rank = sums->type.shape.rank();
    layer.source = fused.var(node.inputs[0]).id;
    layer.sums = sums->id;
    // Images have channels after the batch; rows of products have them last.
    sums_[layer.sums].axis = rank == 4 && node.op->type() == "ConvBiasForward" ? 1 : rank - 1;
    sources_[layer.source].type = types[static_cast<size_t>(node.inputs[0])];
    layers_.push_back(layer);
  }
}

void BiasCorrection::Add(const Var& var, const HostTensor& value) {
  if (value.dtype() != DType::kFloat32) return;
  const absl::Span<const float> x = value.data<float>();
  const Shape& shape = value.shape();
  // Beyond so many samples, which change the mean no more, sums could overflow.
  constexpr int64_t kMostSamples = std::numeric_limits<int32_t>::max() / 256;
  if (const auto found = sources_.find(var.id); found != sources_.end() && shape.rank() > 0 &&
                                                found->second.count <= kMostSamples - shape[0]) {
    Source& source = found->second;
    const Quantization& of = source.type.quantization;
    const int32_t least = LeastOf(source.type.dtype), most = MostOf(source.type.dtype);
    source.sums.resize(x.size() / static_cast<size_t>(std::max<int64_t>(1, shape[0])));
    for (size_t i = 0; i < x.size(); ++i) {
      source.sums[i % source.sums.size()] +=
          Quantize(x[i] / of.scale(), of.zero_point(), least, most) - of.zero_point();
    }
    source.count += shape[0];
  }
  if (const auto found = sums_.find(var.id); found != sums_.end()) {
    Sums& sums = found->second;
    const auto channels = static_cast<size_t>(shape[sums.axis]);
    size_t inner = 1;
    for (int axis = sums.axis + 1; axis < shape.rank(); ++axis) {
      inner *= static_cast<size_t>(shape[axis]);
    }
    sums.sums.resize(channels);
    for (size_t i = 0; i < x.size(); ++i) sums.sums[i / inner % channels] += x[i];
    sums.count += static_cast<int64_t>(x.size() / channels);
  }
}

absl::StatusOr<std::vector<double>> BiasCorrection::ExcessOf(const Layer& layer, const Graph& bytes,
                                                             const OperatorNode& node) const {
  const Source& source = sources_.at(layer.source);
  const Sums& sums = sums_.at(layer.sums);
  const Shape& image = bytes.var(node.inputs[0]).type.shape;
  const int64_t pixels = image.num_elements() / image[0];
  const auto elements = static_cast<int64_t>(source.sums.size());
  const HostTensor filter = bytes.constant(node.inputs[ConvBiasForward::kFilter])->Computed();
  const HostTensor& bias = *bytes.constant(node.inputs[ConvBiasForward::kBias]);
  const ConvBiasParam& param = static_cast<const ConvBiasForward&>(*node.op).param();
  ASHLAR_ASSIGN_OR_RETURN(
      const ConvolutionGeometry g,
      InferConvolution(param, {DType::kFloat32, {elements / pixels, image[1], image[2], image[3]}},
                       {DType::kFloat32, filter.shape()}));
  const bool flip = param.mode == ConvolutionMode::kConvolution;
  const std::vector<double> taps = MeanReads(g, flip, source.sums);
  const double step = double{source.type.quantization.scale()} / static_cast<double>(source.count);
  const int64_t row = filter.num_elements() / static_cast<int64_t>(sums.sums.size());
  std::vector<double> excess;
  for (int64_t c = 0; c < static_cast<int64_t>(sums.sums.size()); ++c) {
    const double* const reads = taps.data() + c / g.out_channels * row;
    double sum = 0;
    for (int64_t i = 0; i < row; ++i) {
      const int64_t weight = filter.IntegerAt(c * row + i) - filter.quantization().zero_point();
      sum += static_cast<double>(weight) * reads[i];
    }
    const auto channel = static_cast<size_t>(c);
    excess.push_back(sum * step * ScaleOf(filter, channel, sums.sums.size()) +
                     bias.At(c) * ScaleOf(bias, channel, sums.sums.size()) -
                     sums.sums[channel] / static_cast<double>(sums.count));
  }
  return excess;
}

absl::StatusOr<CorrectedGraph> BiasCorrection::Correct(const Graph& bytes) const {
  std::map<int, int> vars;  // by id
  for (size_t var = 0; var < bytes.vars().size(); ++var) {
    vars[bytes.vars()[var].id] = static_cast<int>(var);
  }
  std::map<const OperatorNode*, HostTensor> biases;
  for (const Layer& layer : layers_) {
    const auto found = vars.find(layer.output);
    if (found == vars.end() || sums_.at(layer.sums).count == 0) continue;
    const OperatorNode* const node = ConvolutionOf(bytes, bytes.var(found->second));
    if (node == nullptr || sources_.at(layer.source).count == 0) continue;
    // An activation fused into the float layer hides its sums.
    const auto& op = static_cast<const ConvBiasForward&>(*node->op);
    if (op.param().nonlineMode != ScalarFunction::kIdentity && !layer.behind_activation) continue;
    const HostTensor& bias = *bytes.constant(node->inputs[ConvBiasForward::kBias]);
    const auto channels = static_cast<int64_t>(sums_.at(layer.sums).sums.size());
    if (bias.num_elements() != channels) continue;  // one zero: the layer has no bias to correct
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<double> excess, ExcessOf(layer, bytes, *node));
    const absl::Span<const float> scales = bias.quantization().scales();
    HostTensor corrected = HostTensor::Zeros(DType::kInt32, bias.shape());
    for (size_t c = 0; c < excess.size(); ++c) {
      const auto i = static_cast<int64_t>(c);
      const double steps = std::nearbyint(excess[c] / scales[c % scales.size()]);
      corrected.Set(i, std::clamp(bias.At(i) - steps, -kMostSteps, kMostSteps));
    }
    biases[node] = corrected.As(bias.dtype(), bias.quantization());
  }
  GraphRewriter rewriter(bytes);
  for (const OperatorNode& node : bytes.nodes()) {
    const auto found = biases.find(&node);
    if (found == biases.end()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            rewriter.builder().Add(Operators().MakeConstant(found->second), {}));
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    inputs[ConvBiasForward::kBias] = made[0];
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, node.op, std::move(inputs)));
  }
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, std::move(rewriter).Finish());
  return CorrectedGraph{std::move(graph), static_cast<int>(biases.size())};
}

}  // namespace ashlar
