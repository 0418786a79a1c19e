// Expected times of layers beside times that were measured once: whatever changes in the model,
// they stay near. The layers come from ResNet-50, MobileNetV2, MCUNet and a detector of text,
// whole or in strips. Measured by `ashlar profile`, one thread of an idle AMD EPYC (Zen 5), medians
// inside runs of the whole networks (benchmarks/results/expected-times.md).
#include "runtime/plan/stages/expected_times.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/quantized_conv.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr char kProcessor[] = "avx512_vnni/48K/1M";
constexpr MeasuredSpeeds kSpeeds = {2.83e8, 2.68e8, 1.31e8, 4.32e7};  // as `tune` measured them

// A convolution; negative padding crops, as strips of a larger image do.
struct Layer {
  const char* kernel;  // the first part of its name; "int8...": in 8 bits; "direct": row-major
  Shape src;
  int64_t channels, window_h, window_w, stride_h, stride_w, pad_h, pad_w, pad_h_end;
  bool depthwise;
  double us;  // measured
};
const Layer kLayers[] = {
    {"panel", {1, 3, 224, 224}, 32, 3, 3, 2, 2, -137, 1, -84, false, 0.98},
    {"panel", {1, 64, 2, 14}, 384, 1, 1, 1, 1, 0, 0, 0, false, 5.86},
    {"panel", {1, 96, 5, 14}, 576, 1, 1, 1, 1, 0, 0, 0, false, 31.04},
    {"panel", {1, 960, 7, 7}, 320, 1, 1, 1, 1, 0, 0, 0, false, 114.43},
    {"panel", {1, 128, 28, 28}, 512, 1, 1, 1, 1, 0, 0, 0, false, 398.95},
    {"panel", {1, 1024, 14, 14}, 512, 1, 1, 1, 1, 0, 0, 0, false, 803.05},
    {"depthwise", {1, 32, 2, 112}, 32, 3, 3, 1, 1, 1, 1, 0, true, 0.83},
    {"depthwise", {1, 192, 2, 28}, 192, 3, 3, 1, 1, 0, 1, 1, true, 1.26},
    {"depthwise", {1, 384, 2, 14}, 384, 3, 3, 1, 1, 0, 1, 1, true, 1.66},
    {"depthwise", {1, 576, 2, 14}, 576, 3, 3, 1, 1, 0, 1, 1, true, 2.55},
    {"depthwise", {1, 576, 3, 14}, 576, 3, 3, 1, 1, 0, 1, 0, true, 2.93},
    {"depthwise", {1, 576, 7, 14}, 576, 3, 3, 2, 2, 0, 1, 0, true, 4.9},
    {"depthwise", {1, 960, 5, 7}, 960, 3, 3, 1, 1, 0, 1, 0, true, 7.75},
    {"depthwise", {1, 192, 28, 28}, 192, 3, 3, 1, 1, 1, 1, 1, true, 28.31},
    {"depthwise", {1, 96, 112, 112}, 96, 3, 3, 2, 2, 1, 1, 1, true, 75.05},
    {"depthwise", {1, 32, 320, 320}, 32, 3, 3, 2, 2, 1, 1, 1, true, 277.86},
    {"direct", {1, 24, 1, 1}, 6, 1, 1, 1, 1, 0, 0, 0, false, 0.6},
    {"direct", {1, 192, 1, 1}, 48, 1, 1, 1, 1, 0, 0, 0, false, 4.18},
    {"direct", {1, 96, 20, 20}, 24, 3, 3, 1, 1, 1, 1, 1, false, 206.72},
    {"direct", {1, 96, 80, 80}, 18, 1, 1, 1, 1, 0, 0, 0, false, 425.81},
    {"direct", {1, 96, 40, 40}, 24, 3, 3, 1, 1, 1, 1, 1, false, 775.56},
    {"direct", {1, 192, 40, 40}, 192, 5, 5, 2, 2, 2, 2, 2, true, 1116.35},
    {"direct", {1, 384, 20, 20}, 384, 1, 1, 1, 1, 0, 0, 0, false, 1298.46},
    {"direct", {1, 48, 160, 160}, 48, 3, 3, 2, 2, 1, 1, 1, true, 1668.19},
    {"direct", {1, 96, 80, 80}, 96, 3, 3, 1, 1, 1, 1, 1, true, 3938.88},
    {"direct", {1, 16, 320, 320}, 16, 3, 3, 1, 1, 1, 1, 1, true, 9461.2},
    {"int8", {1, 120, 1, 22}, 24, 1, 1, 1, 1, 0, 0, 0, false, 0.32},
    {"int8", {1, 144, 1, 28}, 32, 1, 1, 1, 1, 0, 0, 0, false, 0.46},
    {"int8", {1, 384, 1, 6}, 96, 1, 1, 1, 1, 0, 0, 0, false, 0.66},
    {"int8", {1, 24, 1, 56}, 144, 1, 1, 1, 1, 0, 0, 0, false, 1.16},
    {"int8", {1, 576, 1, 7}, 160, 1, 1, 1, 1, 0, 0, 0, false, 1.67},
    {"int8", {1, 96, 1, 14}, 576, 1, 1, 1, 1, 0, 0, 0, false, 2.66},
    {"int8", {1, 384, 5, 5}, 192, 1, 1, 1, 1, 0, 0, 0, false, 4.47},
    {"int8", {1, 80, 10, 10}, 240, 1, 1, 1, 1, 0, 0, 0, false, 6.09},
    {"int8", {1, 96, 10, 10}, 288, 1, 1, 1, 1, 0, 0, 0, false, 8.02},
    {"int8", {1, 576, 7, 7}, 160, 1, 1, 1, 1, 0, 0, 0, false, 9.61},
    {"int8", {1, 96, 14, 14}, 288, 1, 1, 1, 1, 0, 0, 0, false, 15.24},
    {"int8", {1, 24, 40, 40}, 120, 1, 1, 1, 1, 0, 0, 0, false, 23.98},
    {"int8", {1, 960, 7, 7}, 320, 1, 1, 1, 1, 0, 0, 0, false, 30.29},
    {"int8", {1, 16, 112, 112}, 48, 1, 1, 1, 1, 0, 0, 0, false, 78.79},
    {"int8:depthwise", {1, 192, 3, 28}, 192, 3, 3, 1, 1, 0, 1, 0, true, 0.92},
    {"int8:depthwise", {1, 16, 2, 88}, 16, 3, 3, 1, 1, 1, 1, 0, true, 1},
    {"int8:depthwise", {1, 160, 3, 11}, 160, 5, 5, 1, 1, 2, 2, 0, true, 1.19},
    {"int8:depthwise", {1, 576, 3, 14}, 576, 3, 3, 1, 1, 0, 1, 0, true, 1.61},
    {"int8:depthwise", {1, 64, 4, 44}, 64, 5, 5, 1, 1, 1, 2, 0, true, 2.07},
    {"int8:depthwise", {1, 120, 22, 22}, 120, 3, 3, 2, 2, 1, 1, 1, true, 3.55},
    {"int8:depthwise", {1, 80, 4, 44}, 80, 7, 7, 1, 1, 3, 3, 0, true, 4.82},
    {"int8:depthwise", {1, 576, 5, 5}, 576, 7, 7, 1, 1, 3, 3, 3, true, 8.48},
    {"int8:depthwise", {1, 144, 56, 56}, 144, 3, 3, 2, 2, 1, 1, 1, true, 26.97},
    {"int8:depthwise", {1, 96, 112, 112}, 96, 3, 3, 2, 2, 1, 1, 1, true, 67.88},
};

Graph GraphOf(const Layer& layer, bool bytes) {
  GraphMaker make;
  ConvBiasParam param;
  param.stride_h = layer.stride_h, param.stride_w = layer.stride_w;
  param.pad_h = layer.pad_h, param.pad_h_end = layer.pad_h_end;
  param.pad_w = layer.pad_w, param.pad_w_end = layer.pad_w;
  if (bytes) param.output = {DType::kQuantizedS8, 0.05f, 3};
  Shape filter = {layer.channels, layer.src[1], layer.window_h, layer.window_w};
  if (layer.depthwise) {
    param.sparse = SparseMode::kGroup;
    filter = {layer.channels, 1, 1, layer.window_h, layer.window_w};
  }
  int x = make.Input("x", layer.src, bytes ? DType::kInt8 : DType::kFloat32);
  if (bytes) x = make.Add<TypeCvt>({DType::kQuantizedS8, 0.05, 3}, {x});
  const auto zeros = [&](DType dtype, DType of_bytes, const Shape& shape, float scale) {
    if (!bytes) return make.Constant(HostTensor::Zeros(dtype, shape));
    return make.Constant(HostTensor::Zeros(StoredAs(of_bytes), shape)
                             .As(of_bytes, Value(Quantization::Make(of_bytes, {scale}))));
  };
  const int w = zeros(DType::kFloat32, DType::kQuantizedS8, filter, 0.01f);
  const int bias =
      zeros(DType::kFloat32, DType::kQuantizedS32, {1, layer.channels, 1, 1}, 0.05f * 0.01f);
  const int y = make.Add<ConvBiasForward>(param, {x, w, bias}, "layer");
  make.Output(bytes ? make.Add<TypeCvt>({DType::kInt8}, {y}) : y);
  return std::move(make).Build();
}

// Returns the microseconds of the node of this name.
double ExpectedOf(Graph graph, const std::string& name, const std::string& kernel,
                  const char* processor, const MeasuredSpeeds& speeds) {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse(processor));
  auto record = std::make_shared<KernelRecord>();
  record->speeds[1] = speeds;
  request.planning.record = record;
  if (kernel.starts_with("winograd")) request.planning.extra_workspace = 1 << 24;
  if (kernel == "direct") request.planning.passes = Value(PassesWithout("all", "layout"));
  const auto planned = Value(PlanGraph(std::move(graph), request));
  const std::vector<double> expected = ExpectedTimes(*planned);
  for (size_t i = 0; i < expected.size(); ++i) {
    const OperatorNode& node = planned->graph.node(static_cast<int>(i));
    if (planned->kernels[i] == nullptr || node.name != name) continue;
    EXPECT_TRUE(planned->kernels[i]->implementation().starts_with(kernel + ":"))
        << planned->kernels[i]->implementation();
    return 1000 * expected[i];
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

double ExpectedOf(const Layer& layer) {
  const std::string kernel = layer.kernel;
  return ExpectedOf(GraphOf(layer, kernel.starts_with("int8")), "layer", kernel, kProcessor,
                    kSpeeds);
}

// An operator on floats that another one has made, mostly in their place. Measured on an AMD EPYC
// (Zen 4), medians of six in a row or, of weights, in runs of ResNet-50.
constexpr char kZen4[] = "avx512_bf16/32K/1M";
constexpr MeasuredSpeeds kZen4Speeds = {1.178e8, 1.176e8, 9.74e7, 3.09e7};

struct ElementLayer {
  ScalarFunction function;  // of single elements
  Shape shape;
  int64_t axis;  // of a softmax or reduction, otherwise -2
  const char* kernel;
  double us;
  ReduceMode mode = ReduceMode::kSum;
};
using F = ScalarFunction;
const ElementLayer kElementLayers[] = {
    {F::kNegate, {1024, 64}, -2, "elementwise", 3.7},
    {F::kNegate, {4096, 64}, -2, "elementwise", 15.9},
    {F::kNegate, {16384, 64}, -2, "elementwise", 57.3},
    {F::kNegate, {32768, 64}, -2, "elementwise", 116},
    {F::kNegate, {65536, 64}, -2, "elementwise", 408},
    {F::kNegate, {131072, 64}, -2, "elementwise", 1178},
    {F::kNegate, {262144, 64}, -2, "elementwise", 2955},
    {F::kSigmoid, {1024, 64}, -2, "elementwise", 21.4},
    {F::kSigmoid, {16384, 64}, -2, "elementwise", 333},
    {F::kTanh, {1024, 64}, -2, "elementwise", 27.4},
    {F::kTanh, {32768, 64}, -2, "elementwise", 791},
    {F::kGelu, {1024, 64}, -2, "elementwise", 52.8},
    {F::kGelu, {65536, 64}, -2, "elementwise", 3122},
    {F::kErf, {1024, 64}, -2, "elementwise", 46},
    {F::kSoftplus, {1024, 64}, -2, "elementwise", 71.9},
    {F::kSoftplus, {16384, 64}, -2, "elementwise", 1072},
    {F::kSqrt, {1024, 64}, -2, "elementwise", 11.9},
    {F::kHSwish, {4096, 64}, -2, "elementwise", 44.1},
    {F::kIdentity, {64, 64}, 1, "softmax", 3.39},
    {F::kIdentity, {197, 197}, 1, "softmax", 30.45},
    {F::kIdentity, {12, 197, 197}, 2, "softmax", 385},
    {F::kIdentity, {8, 512, 512}, 2, "softmax", 1299},
    {F::kIdentity, {1024, 8}, 1, "softmax", 76.1},
    {F::kIdentity, {4096, 4}, 1, "softmax", 237},
    {F::kIdentity, {4096, 16}, 1, "softmax", 94.2},
    {F::kIdentity, {4096, 32}, 1, "softmax", 129},
    {F::kIdentity, {1024, 100}, 1, "softmax", 116.5},
    {F::kIdentity, {1, 50000}, 1, "softmax", 28.3},
    {F::kIdentity, {16, 4096}, 0, "softmax", 41.1},
    {F::kIdentity, {21, 25600}, 0, "softmax", 409},
    {F::kIdentity, {200, 3, 100}, 1, "softmax", 51.7},
    {F::kIdentity, {197, 768}, 1, "reduce", 31, ReduceMode::kMean},
    {F::kIdentity, {197, 768}, 1, "reduce", 56, ReduceMode::kMax},
    {F::kIdentity, {197, 768}, 0, "reduce", 27.2, ReduceMode::kMean},
    {F::kIdentity, {1024, 256}, 1, "reduce", 54},
    {F::kIdentity, {1024, 256}, 1, "reduce", 111, ReduceMode::kMin},
    {F::kIdentity, {4096, 16}, 1, "reduce", 83},
    {F::kIdentity, {4096, 16}, 1, "reduce", 223, ReduceMode::kMax},
    {F::kIdentity, {1, 100000}, 1, "reduce", 19.5},
    {F::kIdentity, {64, 512, 32}, 1, "reduce", 306},
};

Graph GraphOf(const ElementLayer& rows) {
  GraphMaker make;
  int x = make.Add<Elemwise>({F::kAbs}, {make.Input("x", rows.shape)});
  if (rows.axis == -2) {
    x = make.Add<Elemwise>({rows.function}, {x}, "layer");
  } else if (std::string(rows.kernel) == "softmax") {
    x = make.Add<Softmax>({rows.axis}, {x}, "layer");
  } else {
    x = make.Add<Reduce>({rows.mode, rows.axis}, {x}, "layer");
  }
  make.Output(make.Add<Elemwise>({F::kFloor}, {x}));
  return std::move(make).Build();
}

// Regression: row-major convolutions were expected 14 to 73 times too fast, and a kernel of a strip
// of one row 50 times too slow.
TEST(ExpectedTimes, OfLayersAreNearTheMeasured) {
  cpu::RegisterDevice();
  struct Sum {
    double expected = 0, measured = 0, log = 0;
    int layers = 0;
  };
  std::map<std::string, Sum> sums;
  int near = 0;
  for (const Layer& layer : kLayers) {
    const double expected = ExpectedOf(layer), ratio = expected / layer.us;
    SCOPED_TRACE(layer.kernel + (" " + layer.src.ToString()));
    EXPECT_GT(ratio, 0.5);
    EXPECT_LT(ratio, 2);
    near += ratio > 0.75 && ratio < 1.25;
    Sum& sum = sums[layer.kernel];
    sum.expected += expected;
    sum.measured += layer.us;
    sum.log += std::log(ratio);
    ++sum.layers;
  }
  for (const auto& [kernel, sum] : sums) {
    SCOPED_TRACE(kernel);
    EXPECT_NEAR(sum.expected / sum.measured, 1, 0.25);
    EXPECT_NEAR(std::exp(sum.log / sum.layers), 1, 0.25);
  }
  EXPECT_GE(near, static_cast<int>(0.8 * std::size(kLayers)));
}

// Regression: weights of Winograd's kernels were counted twice, 1.5 times the measured time. Layers
// of ResNet-50 with weights of 16 and 6 MiB.
TEST(ExpectedTimes, CountWeightsOfWinogradsKernelsOnce) {
  cpu::RegisterDevice();
  for (const Layer& layer :
       {Layer{"winograd2", {1, 512, 7, 7}, 512, 3, 3, 1, 1, 1, 1, 1, false, 1300},
        Layer{"winograd3", {1, 256, 14, 14}, 256, 3, 3, 1, 1, 1, 1, 1, false, 820}}) {
    SCOPED_TRACE(layer.kernel);
    const double expected =
        ExpectedOf(GraphOf(layer, false), "layer", layer.kernel, kZen4, kZen4Speeds);
    EXPECT_NEAR(expected / layer.us, 1, 0.25);
  }
}

// Regression: all functions of single elements were expected to take the same time, overwritten
// tensors counted twice, softmax took 0.01 to 0.4 of the measured time, and reductions
// 0.02 to 0.3.
TEST(ExpectedTimes, OfElementsAndRowsAreNearTheMeasured) {
  cpu::RegisterDevice();
  int near = 0;
  for (const ElementLayer& rows : kElementLayers) {
    const double ratio =
        ExpectedOf(GraphOf(rows), "layer", rows.kernel, kZen4, kZen4Speeds) / rows.us;
    SCOPED_TRACE(absl::StrCat(rows.kernel, " ", RowOf(rows.function).name, " ",
                              rows.shape.ToString(), " along ", rows.axis));
    EXPECT_GT(ratio, 0.6);
    EXPECT_LT(ratio, 1.6);
    near += ratio > 0.75 && ratio < 1.25;
  }
  EXPECT_GE(near, static_cast<int>(0.8 * std::size(kElementLayers)));
}

}  // namespace
}  // namespace ashlar::testing
