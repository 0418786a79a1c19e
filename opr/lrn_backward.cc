#include "opr/lrn_backward.h"

#include <algorithm>
#include <cmath>

#include "graph/graph_builder.h"
#include "opr/checks.h"
#include "opr/composition.h"
#include "opr/doubles.h"
#include "opr/matrix_mul.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LRNBackward)

absl::StatusOr<std::vector<TensorType>> LRNBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_RETURN_IF_ERROR(CheckType("diff", inputs[kDiff].type, inputs[kX].type));
  return LRN(param()).Infer(inputs.first(1));
}

absl::StatusOr<std::vector<HostTensor>> LRNBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kX].shape();
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  const int64_t before = std::min((param().size - 1) / 2, channels);
  const int64_t after = std::min(param().size / 2, channels);
  const double factor = param().alpha / static_cast<double>(param().size);
  const std::vector<double> x = ToDoubles(inputs[kX]), diff = ToDoubles(inputs[kDiff]);
  std::vector<double> dx(x.size());
  std::vector<double> norm(static_cast<size_t>(channels)), terms(norm.size());
  for (int64_t i = 0; i < shape[0] * plane; ++i) {
    const auto at = [&](int64_t c) {
      return static_cast<size_t>((i / plane * channels + c) * plane + i % plane);
    };
    for (int64_t c = 0; c < channels; ++c) {
      double squares = 0;
      for (int64_t k = std::max<int64_t>(c - before, 0); k <= std::min(c + after, channels - 1);
           ++k) {
        squares += x[at(k)] * x[at(k)];
      }
      const double s = param().bias + factor * squares;
      norm[static_cast<size_t>(c)] = std::pow(s, -param().beta);
      terms[static_cast<size_t>(c)] = diff[at(c)] * x[at(c)] * norm[static_cast<size_t>(c)] / s;
    }
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t k = std::max<int64_t>(c - after, 0); k <= std::min(c + before, channels - 1);
           ++k) {
        sum += terms[static_cast<size_t>(k)];
      }
      dx[at(c)] =
          diff[at(c)] * norm[static_cast<size_t>(c)] - 2 * factor * param().beta * x[at(c)] * sum;
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kX].dtype(), shape, dx)};
}

int64_t LRNBackward::Computation(const Site& site) const {
  return 4 * site.outputs[0].shape.num_elements();
}

absl::StatusOr<std::vector<int>> LRNBackward::Compose(GraphBuilder& builder,
                                                      absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[kX]);
  const int64_t channels = x.shape[1];
  constexpr int64_t kMostChannels = 4096;
  if (channels > kMostChannels) return std::vector<int>();
  const double factor = param().alpha / static_cast<double>(param().size);
  HostTensor windows = HostTensor::Zeros(x.dtype, {channels, channels});
  for (int64_t of = 0; of < channels; ++of) {
    for (int64_t i = 0; i < channels; ++i) {
      const bool inside = i - of <= param().size / 2 && of - i <= (param().size - 1) / 2;
      if (inside) windows.Set(of * channels + i, 1);
    }
  }
  const int matrix = c.Constant(std::move(windows));
  const auto number = [&](double value) { return c.Constant(x.dtype, value); };
  const Shape planes = {x.shape[0], channels, x.shape[2] * x.shape[3]};
  const int rows = c.Reshaped(inputs[kX], planes), diff = c.Reshaped(inputs[kDiff], planes);
  const int squares = c.Add<MatrixMul>({}, {matrix, c.Apply(F::kMul, {rows, rows})});
  const int s = c.Apply(F::kFuseMulAdd3, {squares, number(factor), number(param().bias)});
  const int direct = c.Apply(F::kMul, {diff, c.Apply(F::kPow, {s, number(-param().beta)})});
  const int terms = c.Apply(F::kTrueDiv, {c.Apply(F::kMul, {direct, rows}), s});
  MatrixMulParam of_holders;
  of_holders.transposeA = true;
  const int sums = c.Add<MatrixMul>(of_holders, {matrix, terms});
  const int weighed =
      c.Apply(F::kMul, {c.Apply(F::kMul, {rows, number(2 * factor * param().beta)}), sums});
  return std::move(c).Finish({c.Reshaped(c.Apply(F::kSub, {direct, weighed}), x.shape)});
}

}  // namespace ashlar
