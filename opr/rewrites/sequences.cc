// Attention and recurrent networks as products, sums and scalar functions.
#include <limits>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/attention.h"
#include "opr/concat.h"
#include "opr/lstm.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/rewrites/composition.h"
#include "opr/softmax.h"

namespace ashlar {
namespace {

constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

}  // namespace

absl::StatusOr<std::vector<int>> Attention::Compose(GraphBuilder& builder,
                                                    absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  std::vector<TensorType> types;
  for (const int input : inputs) types.push_back(c.type(input));
  ASHLAR_ASSIGN_OR_RETURN(const AttentionGeometry g, GeometryOf(types));
  const DType dtype = types[0].dtype;
  // Sums and exponentials of 16-bit floats are in Float32.
  const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const int64_t group = g.heads / g.key_heads;
  // Heads that share their keys are stacked: [N, key_heads, group * queries, depth].
  const int queries =
      c.Reshaped(inputs[kQueries], {g.batch, g.key_heads, group * g.queries, g.depth});
  MatrixMulParam by_keys;
  by_keys.transposeB = true;
  int scores = c.Add<MatrixMul>(by_keys, {queries, inputs[kKeys]});
  scores = c.Converted(scores, wide);
  scores = c.Apply(F::kMul, {scores, c.Constant(wide, param().scale)});
  scores = c.Reshaped(scores, {g.batch, g.heads, g.queries, g.keys});
  if (inputs.size() > kMask) {
    scores = c.Apply(F::kAdd, {scores, c.Converted(inputs[kMask], wide)});
  }
  if (param().causal) {
    HostTensor hidden = HostTensor::Zeros(wide, {g.queries, g.keys});
    for (int64_t i = 0; i < g.queries; ++i) {
      for (int64_t j = g.Seen(param(), i); j < g.keys; ++j)
        hidden.Set(i * g.keys + j, kHiddenScore);
    }
    scores = c.Apply(F::kAdd, {scores, c.Constant(std::move(hidden))});
  }
  int weights = c.Add<Softmax>({-1}, {scores});
  if (inputs.size() > kMask || param().causal) {  // a row whose keys are all hidden is NaN here
    const int most = c.Add<Reduce>({ReduceMode::kMax, -1}, {scores});
    const int all_hidden = c.Apply(F::kEqual, {most, c.Constant(wide, kHiddenScore)});
    weights = c.Apply(F::kSelect, {all_hidden, c.Constant(wide, 0), weights});
  }
  if (param().zero_nan) {
    const int numbers = c.Apply(F::kEqual, {weights, weights});
    weights = c.Apply(F::kSelect, {numbers, weights, c.Constant(wide, 0)});
  }
  weights =
      c.Reshaped(c.Converted(weights, dtype), {g.batch, g.key_heads, group * g.queries, g.keys});
  const int sums = c.Add<MatrixMul>({}, {weights, inputs[kValues]});
  return std::move(c).Finish({c.Reshaped(sums, {g.batch, g.heads, g.queries, g.width})});
}

absl::StatusOr<std::vector<int>> LSTM::Compose(GraphBuilder& builder,
                                               absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  std::vector<InputInfo> infos;
  for (const int input : inputs) infos.push_back({c.type(input)});
  ASHLAR_ASSIGN_OR_RETURN(const LstmSizes s, InferLstm(param(), infos));
  const int64_t gates = kGates * s.hidden;
  MatrixMulParam transposed;
  transposed.transposeB = true;
  const int rows = c.Reshaped(inputs[kX], {s.steps * s.batch, s.inputs});
  // Returns one direction of a tensor whose first dimension is the directions.
  const auto of = [&](int input, int64_t d, const Shape& shape) {
    return c.Reshaped(c.Slice(inputs[input], 0, d, d + 1), shape);
  };
  std::vector<std::vector<int>> by_step(static_cast<size_t>(s.steps));
  std::vector<int> last_h, last_c;
  for (int64_t d = 0; d < s.directions; ++d) {
    const int biases = of(kB, d, {2, gates});
    const int bias = c.Apply(F::kAdd, {c.Slice(biases, 0, 0, 1), c.Slice(biases, 0, 1, 2)});
    // For all steps at once.
    const int projected = c.Apply(
        F::kAdd, {c.Add<MatrixMul>(transposed, {rows, of(kW, d, {gates, s.inputs})}), bias});
    const int recurrent = of(kR, d, {gates, s.hidden});
    int h = of(kH, d, {s.batch, s.hidden}), cell = of(kC, d, {s.batch, s.hidden});
    for (int64_t step = 0; step < s.steps; ++step) {
      const int64_t t = param().is_reverse(d) ? s.steps - 1 - step : step;
      const int sums = c.Apply(F::kAdd, {c.Slice(projected, 0, t * s.batch, (t + 1) * s.batch),
                                         c.Add<MatrixMul>(transposed, {h, recurrent})});
      const auto gate = [&](F function, int64_t which) {
        return c.Apply(function, {c.Slice(sums, 1, which * s.hidden, (which + 1) * s.hidden)});
      };
      const int kept = c.Apply(F::kMul, {gate(F::kSigmoid, 2), cell});
      const int added = c.Apply(F::kMul, {gate(F::kSigmoid, 0), gate(F::kTanh, 3)});
      cell = c.Apply(F::kAdd, {kept, added});
      h = c.Apply(F::kMul, {gate(F::kSigmoid, 1), c.Apply(F::kTanh, {cell})});
      by_step[static_cast<size_t>(t)].push_back(c.Reshaped(h, {1, 1, s.batch, s.hidden}));
    }
    last_h.push_back(c.Reshaped(h, {1, s.batch, s.hidden}));
    last_c.push_back(c.Reshaped(cell, {1, s.batch, s.hidden}));
  }
  std::vector<int> steps;
  for (std::vector<int>& directions : by_step) {
    steps.push_back(c.Add<Concat>({1}, std::move(directions)));
  }
  const int all = c.Add<Concat>({0}, std::move(steps));
  const int h = c.Add<Concat>({0}, std::move(last_h));
  const int cell = c.Add<Concat>({0}, std::move(last_c));
  return std::move(c).Finish({all, h, cell});
}

}  // namespace ashlar
