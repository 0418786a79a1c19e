// Imports products of matrices.
#include "opr/conv_bias.h"
#include "opr/matrix_mul.h"
#include "serialization/tflite/import/linear.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::BuiltinOperator;

// Inputs: x of rows [m, k], in any number of dimensions; weights [n, k]; optionally a bias. Rows of
// 8 bits become images of one pixel.
void FullyConnected(TfliteNode& node) {
  const auto* const options = node.Options<tflite::FullyConnectedOptions>();
  TfliteVar x = node.Numbers(0);
  const Shape from = node.shape(x), weights = node.shape(node.Input(1));
  if (!node.ok()) return;
  if (options->weights_format() != tflite::WeightsFormat::DEFAULT) {
    node.Unsupported("weights in format ", static_cast<int>(options->weights_format()));
    return;
  }
  const int64_t depth = weights.rank() == 2 ? weights[1] : 0;
  if (depth == 0 || from.rank() == 0 || from.num_elements() % depth != 0 ||
      (options->keep_num_dims() && from[from.rank() - 1] != depth)) {
    node.Invalid("the input is ", from.ToString(), ", the weights are ", weights.ToString(),
                 ", expected {n,k} with rows of k elements");
    return;
  }
  const int64_t rows = from.num_elements() / depth, outputs = weights[0];
  TfliteLinear linear;
  linear.channels = outputs;
  linear.per_channel = {outputs};
  linear.weights_axis = 0;
  linear.floats = [&](TfliteVar a, TfliteVar b, bool exact) {
    MatrixMulParam param;
    param.transposeB = true;
    if (exact) param.compute_mode = ComputeMode::kFloat32;
    return node.Add<MatrixMul>(param, {node.Reshaped(a, {rows, depth}), b});
  };
  linear.integers = [&](TfliteVar a, TfliteVar b, TfliteVar bias, const ConvBiasParam& param) {
    const TfliteVar pixels = node.Reshaped(a, {rows, depth, 1, 1});
    return node.Add<ConvBiasForward>(param, {pixels, b, bias});
  };
  linear.arranged = [&](TfliteVar b) { return node.Reshaped(b, {outputs, depth, 1, 1}); };
  const TfliteVar y = Computed(node, linear, x, 1, 2, options->activation());
  Shape to = {rows, outputs};
  if (options->keep_num_dims()) {
    to = from;
    to[to.rank() - 1] = outputs;
  }
  node.Result(0, node.Reshaped(y, to));
}

// The sums of products of 8-bit integers are exact in floats below 2^24.
void BatchMatMul(TfliteNode& node) {
  const auto* const options = node.Options<tflite::BatchMatMulOptions>();
  if (!node.ok()) return;
  MatrixMulParam param;
  param.transposeA = options->adj_x();
  param.transposeB = options->adj_y();
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  if (!output || !node.IsQuantizedInput(0) || !node.IsQuantizedInput(1)) {
    node.Result(0, node.Add<MatrixMul>(param, {node.Floats(0), node.Floats(1)}));
    return;
  }
  param.compute_mode = ComputeMode::kFloat32;
  const TfliteVar a = node.Input(0), b = node.Input(1);
  const TfliteVar sums = node.Add<MatrixMul>(param, {node.Centred(a), node.Centred(b)});
  if (!node.ok()) return;
  const float scale = node.type(a).quantization.scale() * node.type(b).quantization.scale();
  const TfliteVar factor = node.Scalar(scale / static_cast<float>(output->scale));
  node.Result(0, node.FromSteps(node.Function(F::kMul, {sums, factor}), *output));
}

constexpr TfliteRow kProductRows[] = {
    {BuiltinOperator::BATCH_MATMUL, 2, 2, BatchMatMul},
    {BuiltinOperator::FULLY_CONNECTED, 2, 3, FullyConnected},
};

}  // namespace

absl::Span<const TfliteRow> TfliteProductRows() { return kProductRows; }

}  // namespace ashlar
