// Imitates mistakes of integer kernels on the golden convolutions. Each mistake changes results
// there, so that a kernel with it cannot pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "opr/conv_bias.h"
#include "serialization/npz.h"
#include "serialization/onnx/import/reader.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

enum class Mistake {
  kNone,
  kAllTaps,     // the zero point is subtracted in taps outside of the image too
  kPairs,       // sums of two products saturate at 16 bits (vpmaddubsw)
  kTruncation,  // instead of rounding
  kAwayFrom0,   // ties, instead of to even
};

struct GoldenConvolution {
  ConvBiasParam param;
  HostTensor x, filter, bias, want;  // integers
  TensorType src, weights, output;
};

// Returns the node at a path without ending; its only integer operator is a convolution.
GoldenConvolution ReadConvolution(const std::string& path) {
  GoldenConvolution result;
  for (const auto& [name, array] : Value(ReadNpz(path + ".npz"))) {
    if (name == "in_x") result.x = array;
    if (name == "reference") result.want = array;
  }
  const Graph graph = Value(ReadOnnx(path + ".onnx"));
  for (const OperatorNode& node : graph.nodes()) {
    const auto* const op = dynamic_cast<const ConvBiasForward*>(node.op.get());
    if (op == nullptr) continue;
    result.param = op->param();
    result.filter = *graph.constant(node.inputs[ConvBiasForward::kFilter]);
    result.bias = *graph.constant(node.inputs[ConvBiasForward::kBias]);
    result.src = graph.var(node.inputs[ConvBiasForward::kSrc]).type;
    result.weights = graph.var(node.inputs[ConvBiasForward::kFilter]).type;
    result.output = graph.var(node.outputs[0]).type;
  }
  return result;
}

double Rounded(double value, Mistake mistake) {
  if (mistake == Mistake::kTruncation) return std::trunc(value);
  return mistake == Mistake::kAwayFrom0 ? std::round(value) : std::nearbyint(value);
}

// Returns how many elements of a convolution differ from the reference if a kernel makes the
// mistake. Follows the specification in plain loops, without code of the operator.
int64_t WrongElements(const GoldenConvolution& c, Mistake mistake) {
  const Shape &in = c.src.shape, &out = c.output.shape;
  const bool grouped = c.param.sparse == SparseMode::kGroup;
  const Shape& w = c.weights.shape;
  const int64_t groups = grouped ? w[0] : 1, outputs = out[1] / groups, inputs = in[1] / groups;
  const int64_t kh = w[w.rank() - 2], kw = w[w.rank() - 1];
  // u8, as the instruction needs it, with the zero point shifted alike.
  const double shift = c.src.dtype == DType::kQuantizedS8 ? 128 : 0;
  const double zero = c.src.quantization.zero_point() + shift;
  const absl::Span<const float> scales = c.weights.quantization.scales();
  const float scale = c.output.quantization.scale();
  const int32_t to = c.output.quantization.zero_point();
  const auto bound = [&](double real) {
    return std::clamp<double>(std::nearbyint(static_cast<float>(real) / scale) + to,
                              LeastOf(c.output.dtype), MostOf(c.output.dtype));
  };
  double least = LeastOf(c.output.dtype), most = MostOf(c.output.dtype);
  if (c.param.nonlineMode == ScalarFunction::kRelu) least = to;
  if (c.param.nonlineMode == ScalarFunction::kClamp) {
    least = bound(c.param.parameters[0]);
    most = bound(c.param.parameters[1]);
  }
  int64_t wrong = 0, at = 0;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t oc = 0; oc < out[1]; ++oc) {
      const float factor = c.src.quantization.scale() *
                           scales[scales.size() > 1 ? static_cast<size_t>(oc) : 0] / scale;
      for (int64_t oy = 0; oy < out[2]; ++oy) {
        for (int64_t ox = 0; ox < out[3]; ++ox, ++at) {
          double sum = c.bias.At(oc);
          for (int64_t y = 0; y < kh; ++y) {
            for (int64_t x = 0; x < kw; ++x) {
              const int64_t iy = oy * c.param.stride_h + y * c.param.dilate_h - c.param.pad_h;
              const int64_t ix = ox * c.param.stride_w + x * c.param.dilate_w - c.param.pad_w;
              const bool inside = iy >= 0 && iy < in[2] && ix >= 0 && ix < in[3];
              for (int64_t ic = 0; ic < inputs; ic += 2) {
                double pair = 0;
                for (int64_t i = ic; i < std::min(ic + 2, inputs); ++i) {
                  const double weight = c.filter.At(((oc * inputs + i) * kh + y) * kw + x);
                  const int64_t channel = oc / outputs * inputs + i;
                  if (inside) {
                    pair += weight *
                            (c.x.At(((n * in[1] + channel) * in[2] + iy) * in[3] + ix) + shift);
                  }
                  if (inside || mistake == Mistake::kAllTaps) sum -= weight * zero;
                }
                sum += mistake == Mistake::kPairs ? std::clamp(pair, -32768.0, 32767.0) : pair;
              }
            }
          }
          const double steps = static_cast<float>(sum) * factor;
          const double got = std::clamp(Rounded(steps, mistake) + to, least, most);
          wrong += got != c.want.At(at);
        }
      }
    }
  }
  EXPECT_EQ(at, c.want.num_elements());
  return wrong;
}

TEST(WrongKernels, EachMistakeIsSeenInTheGoldenConvolutions) {
  if (kSanitized) GTEST_SKIP() << "this is about the data";
  std::map<Mistake, std::map<std::string, int64_t>> wrong;  // if there are any
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/int8/nodes"))) {
    const std::string name = entry.path().stem();
    const bool convolves = absl::StartsWith(name, "conv_") || absl::StartsWith(name, "depthwise_");
    if (entry.path().extension() != ".onnx" || !convolves) continue;
    SCOPED_TRACE(name);
    ++cases;
    const GoldenConvolution golden = ReadConvolution(SharedData("data/int8/nodes") + "/" + name);
    EXPECT_EQ(WrongElements(golden, Mistake::kNone), 0);
    const bool padded = std::max({golden.param.pad_h, golden.param.pad_w, golden.param.pad_h_end,
                                  golden.param.pad_w_end}) > 0;
    const bool has_zero_point = golden.src.quantization.zero_point() != 0;
    const int64_t elements = golden.want.num_elements();
    const int64_t all_taps = WrongElements(golden, Mistake::kAllTaps);
    EXPECT_EQ(all_taps > 0, padded && has_zero_point) << all_taps;
    EXPECT_GT(WrongElements(golden, Mistake::kTruncation), elements / 8);
    for (const Mistake mistake : {Mistake::kPairs, Mistake::kAwayFrom0}) {
      if (const int64_t count = WrongElements(golden, mistake)) wrong[mistake][name] = count;
    }
  }
  EXPECT_EQ(cases, 20);
  EXPECT_THAT(wrong[Mistake::kPairs], ::testing::Contains(::testing::Key("conv_extreme")));
  EXPECT_THAT(wrong[Mistake::kAwayFrom0],
              ::testing::ElementsAre(::testing::Pair("conv_ties", 71),
                                     ::testing::Pair("depthwise_ties", 102)));
}

}  // namespace
}  // namespace ashlar::testing
