#include "tools/zoo/network_builder.h"

#include <cmath>
#include <memory>
#include <utility>

#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/immutable_tensor.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"

namespace ashlar {
namespace {

constexpr double kPi = 3.14159265358979323846;
// The deviation of scales, shifts and statistics between channels, as in trained models.
constexpr double kSpread = 0.1;
constexpr int64_t kClasses = 1000;
// The variance of a mean over an image, relative to the feature's. Neighbouring pixels are not
// independent. Weights depend on the seed alone, so one value serves images of all sizes.
constexpr double kGlobalMeanShare = 1.0 / 8;

// Rounds an expectation to a coarse grid: weights depend on it, and must be equal under any
// mathematics library.
double Coarse(double value) { return std::round(value * 4096) / 4096; }

// Returns the moments of max(x, 0) for a normal x.
Feature Rectified(int var, const Feature& x) {
  const double deviation = std::sqrt(x.variance);
  const double z = x.mean / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * kPi);
  const double probability = 0.5 * (1 + std::erf(z / std::sqrt(2.0)));
  const double mean = x.mean * probability + deviation * density;
  const double square = (x.mean * x.mean + x.variance) * probability + x.mean * deviation * density;
  return {var, Coarse(mean), Coarse(square - mean * mean)};
}

OperatorPtr MakeElemwise(ScalarFunction mode) {
  return std::make_shared<const Elemwise>(ElemwiseParam{mode});
}

}  // namespace

NetworkBuilder::NetworkBuilder(const ZooOptions& options)
    : options_(options), random_(options.seed) {}

int NetworkBuilder::AddNode(OperatorPtr op, std::vector<int> inputs, const std::string& name,
                            Workspace workspace) {
  if (!status_.ok()) return 0;
  GraphBuilder::NodeOptions options;
  options.name = name;
  if (workspace == Workspace::kNumbered) options.recorded_workspace = RecordedWorkspace{.id = -1};
  absl::StatusOr<std::vector<int>> outputs =
      builder_.Add(std::move(op), std::move(inputs), std::move(options));
  if (!outputs.ok()) {
    status_ = outputs.status();
    return 0;
  }
  return (*outputs)[0];
}

int NetworkBuilder::Constant(const std::string& name, HostTensor value) {
  return AddNode(std::make_shared<const ImmutableTensor>(std::move(value)), {}, name);
}

int NetworkBuilder::IntegerConstant(const std::string& name, int64_t value) {
  const int32_t element = static_cast<int32_t>(value);
  return Constant(name, HostTensor::FromValues<int32_t>(DType::kInt32, {1}, {&element, 1}));
}

const Shape& NetworkBuilder::shape(const Feature& x) const {
  static const Shape kUnknown = {1, 1, 1, 1};  // after an error
  return status_.ok() ? builder_.graph().var(x.var).type.shape : kUnknown;
}

Feature NetworkBuilder::Input(int64_t channels) {
  InputParam param;
  param.shape = {options_.batch, channels, options_.image, options_.image};
  return {AddNode(std::make_shared<const InputCallback>(param), {}, "data"), 0, 1};
}

HostTensor NetworkBuilder::Filters(const Shape& shape, int64_t taps, double norm) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  const absl::Span<float> weights = tensor.mutable_data<float>();
  std::vector<double> filter(taps);
  for (size_t begin = 0; begin < weights.size(); begin += filter.size()) {
    double sum = 0, square_sum = 0;
    for (double& w : filter) sum += w = random_.Normal();
    const double mean = sum / static_cast<double>(taps);
    for (double& w : filter) {
      w -= mean;
      square_sum += w * w;
    }
    const double scale = norm / std::sqrt(square_sum);
    for (size_t i = 0; i < filter.size(); ++i) {
      weights[begin + i] = static_cast<float>(filter[i] * scale);
    }
  }
  return tensor;
}

int NetworkBuilder::Vector(const std::string& name, const Shape& shape, double mean,
                           double deviation) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  for (float& element : tensor.mutable_data<float>()) {
    element = static_cast<float>(mean + deviation * random_.Normal());
  }
  return Constant(name, std::move(tensor));
}

int NetworkBuilder::Convolution(const std::string& name, const Feature& x,
                                const ConvolutionShape& conv, double norm) {
  const int64_t in_channels = shape(x)[1];
  const int64_t k = conv.kernel;
  const Shape filter_shape =
      conv.depthwise ? Shape{in_channels, 1, 1, k, k} : Shape{conv.channels, in_channels, k, k};
  const int64_t taps = (conv.depthwise ? 1 : in_channels) * k * k;
  ConvolutionParam param;
  param.sparse = conv.depthwise ? SparseMode::kGroup : SparseMode::kDense;
  param.stride_h = param.stride_w = conv.stride;
  param.pad_h = param.pad_w = conv.padding;
  const int filter = Constant(name + ".weight", Filters(filter_shape, taps, norm));
  return AddNode(std::make_shared<const ConvolutionForward>(param), {x.var, filter}, name,
                 Workspace::kNumbered);
}

Feature NetworkBuilder::ConvBatchNorm(const std::string& name, const std::string& norm_name,
                                      const Feature& x, const ConvolutionShape& conv, double gain) {
  const Shape vector = {conv.channels};
  const int y = Convolution(name, x, conv, 1 / std::sqrt(x.variance));
  const int scale = Vector(norm_name + ".weight", vector, gain, gain * kSpread);
  const int shift = Vector(norm_name + ".bias", vector, 0, gain * kSpread);
  const int mean = Vector(norm_name + ".running_mean", vector, 0, kSpread);
  const int variance = Vector(norm_name + ".running_var", vector, 1, kSpread);
  return {AddNode(std::make_shared<const BatchNorm>(BatchNormParam()),
                  {y, scale, shift, mean, variance}, norm_name),
          0, gain * gain};
}

Feature NetworkBuilder::ConvBias(const std::string& name, const Feature& x,
                                 const ConvolutionShape& conv, double gain) {
  const int y = Convolution(name, x, conv, gain / std::sqrt(x.variance));
  const int bias = Vector(name + ".bias", {1, conv.channels, 1, 1}, 0, gain * kSpread);
  return {AddNode(MakeElemwise(ScalarFunction::kAdd), {y, bias}, name + ".add_bias"), 0,
          gain * gain};
}

Feature NetworkBuilder::Conv(const std::string& name, const Feature& x,
                             const ConvolutionShape& conv) {
  return {Convolution(name, x, conv, 1 / std::sqrt(x.variance)), 0, 1};
}

Feature NetworkBuilder::Relu(const std::string& name, const Feature& x) {
  return Rectified(AddNode(MakeElemwise(ScalarFunction::kRelu), {x.var}, name), x);
}

Feature NetworkBuilder::Relu6(const std::string& name, const Feature& x) {
  return Rectified(AddNode(MakeElemwise(ScalarFunction::kClamp), {x.var}, name), x);
}

Feature NetworkBuilder::Add(const std::string& name, const Feature& a, const Feature& b) {
  return {AddNode(MakeElemwise(ScalarFunction::kAdd), {a.var, b.var}, name), a.mean + b.mean,
          a.variance + b.variance};
}

Feature NetworkBuilder::Concat(const std::string& name, absl::Span<const Feature> parts) {
  std::vector<int> inputs;
  double channels = 0, sum = 0, square_sum = 0;
  for (const Feature& part : parts) {
    inputs.push_back(part.var);
    const double n = static_cast<double>(shape(part)[1]);
    channels += n;
    sum += n * part.mean;
    square_sum += n * (part.variance + part.mean * part.mean);
  }
  const double mean = sum / channels;
  const int y = AddNode(std::make_shared<const class Concat>(ConcatParam{1}), inputs, name);
  return {y, Coarse(mean), Coarse(square_sum / channels - mean * mean)};
}

Feature NetworkBuilder::LocalResponseNorm(const std::string& name, const Feature& x) {
  return {AddNode(std::make_shared<const LRN>(LRNParam()), {x.var}, name), x.mean, x.variance};
}

Feature NetworkBuilder::Pool(const std::string& name, const Feature& x, const PoolingParam& param) {
  return {
      AddNode(std::make_shared<const PoolingForward>(param), {x.var}, name, Workspace::kNumbered),
      x.mean, x.variance};
}

Feature NetworkBuilder::MaxPool(const std::string& name, const Feature& x, int64_t window,
                                int64_t stride, int64_t padding) {
  PoolingParam param;
  param.window_h = param.window_w = window;
  param.stride_h = param.stride_w = stride;
  param.pad_h = param.pad_w = padding;
  return Pool(name, x, param);
}

Feature NetworkBuilder::MaxPoolCeil(const std::string& name, const Feature& x, int64_t window,
                                    int64_t stride) {
  PoolingParam param;
  param.window_h = param.window_w = window;
  param.stride_h = param.stride_w = stride;
  const auto pad_end = [&](int64_t size) {
    return size <= window ? 0 : (stride - (size - window) % stride) % stride;
  };
  param.pad_h_end = pad_end(shape(x)[2]);
  param.pad_w_end = pad_end(shape(x)[3]);
  return Pool(name, x, param);
}

Feature NetworkBuilder::AveragePool(const std::string& name, const Feature& x, int64_t window) {
  PoolingParam param;
  param.mode = PoolingMode::kAverageCountExcludePadding;
  param.window_h = param.window_w = window;
  param.stride_h = param.stride_w = window;
  Feature y = Pool(name, x, param);
  y.variance /= static_cast<double>(window * window);
  return y;
}

Feature NetworkBuilder::GlobalAveragePool(const std::string& name, const Feature& x) {
  PoolingParam param;
  param.mode = PoolingMode::kAverageCountExcludePadding;
  param.window_h = param.stride_h = shape(x)[2];
  param.window_w = param.stride_w = shape(x)[3];
  Feature y = Pool(name, x, param);
  y.variance *= kGlobalMeanShare;
  return y;
}

Feature NetworkBuilder::Flatten(const std::string& name, const Feature& x) {
  const int shape_of =
      AddNode(std::make_shared<const GetVarShape>(GetVarShapeParam()), {x.var}, name + ".shape");
  SubtensorParam first;  // shape[:1]
  first.axis = {0};
  first.begin = {0};
  first.end = {1};
  first.step = {0};
  first.idx = {0};
  const int end = IntegerConstant(name + ".one", 1);
  const int batch =
      AddNode(std::make_shared<const Subtensor>(first), {shape_of, end}, name + ".batch");
  const int rest = IntegerConstant(name + ".rest", -1);
  const int target = AddNode(std::make_shared<const class Concat>(ConcatParam{0}), {batch, rest},
                             name + ".target");
  ReshapeParam reshape;
  reshape.axis = 1;
  return {AddNode(std::make_shared<const Reshape>(reshape), {x.var, target}, name), x.mean,
          x.variance};
}

Feature NetworkBuilder::FullyConnected(const std::string& name, const Feature& x, int64_t classes,
                                       double gain) {
  const int64_t features = shape(x)[1];
  MatrixMulParam param;
  param.transposeB = true;
  const int weight = Constant(name + ".weight",
                              Filters({classes, features}, features, gain / std::sqrt(x.variance)));
  const int product = AddNode(std::make_shared<const MatrixMul>(param), {x.var, weight}, name,
                              Workspace::kNumbered);
  const int bias = Vector(name + ".bias", {classes}, 0, gain * kSpread);
  return {AddNode(MakeElemwise(ScalarFunction::kAdd), {product, bias}, name + ".add_bias"), 0,
          gain * gain};
}

Feature NetworkBuilder::Softmax(const std::string& name, const Feature& x) {
  return {AddNode(std::make_shared<const class Softmax>(SoftmaxParam()), {x.var}, name), 0, 0};
}

Feature NetworkBuilder::Classifier(const std::string& pool_name, const std::string& fc_name,
                                   const Feature& x) {
  const Feature features = Flatten("flatten", GlobalAveragePool(pool_name, x));
  return Softmax("prob", FullyConnected(fc_name, features, kClasses, kLogitDeviation));
}

absl::StatusOr<Graph> NetworkBuilder::Finish(const std::string& output, const Feature& x) && {
  ASHLAR_RETURN_IF_ERROR(status_);
  GraphBuilder::NodeOptions options;
  options.name = "output";
  options.binding = output;
  ASHLAR_RETURN_IF_ERROR(
      builder_.Add(std::make_shared<const OutputCallback>(OutputParam()), {x.var}, options)
          .status());
  return std::move(builder_).Build();
}

}  // namespace ashlar
