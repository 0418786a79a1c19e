// Recognises layer normalisation written as means, differences and products, as exporters write it
// below ONNX's operator set 17: nine nodes, five of them with tensors as large as the input.
#include <utility>

#include "graph/passes/pattern.h"

namespace ashlar {
namespace {

// The mean of `of` along the axes from `axis` to the last.
struct RowMean {
  int of = 0;
  int axis = 0;
};

std::optional<RowMean> MatchMean(PatternMatcher& matcher, int var) {
  const OperatorNode* const node = matcher.Made(var, "Reduce");
  if (node == nullptr || TextParam(*node->op, "mode") != "MEAN") return std::nullopt;
  const int of = node->inputs[0];
  const Shape &whole = matcher.Type(of).shape, &kept = matcher.Type(var).shape;
  const int rank = whole.rank();
  if (kept.rank() != rank) return std::nullopt;
  int axis = rank;
  while (axis > 0 && kept[axis - 1] == 1 && whole[axis - 1] != 1) --axis;
  for (int i = 0; i < axis; ++i) {
    if (kept[i] != whole[i]) return std::nullopt;
  }
  if (axis == rank) return std::nullopt;  // rows of one element
  return RowMean{of, axis};
}

std::optional<RowMean> MatchCentred(PatternMatcher& matcher, int var) {
  const absl::Span<const int> difference = matcher.Function(var, "SUB");
  if (difference.empty()) return std::nullopt;
  const std::optional<RowMean> mean = MatchMean(matcher, difference[1]);
  if (!mean || mean->of != difference[0]) return std::nullopt;
  return mean;
}

// Matches the square root of the variance of these rows plus a number; returns the number.
std::optional<double> MatchDeviation(PatternMatcher& matcher, int var, int centred,
                                     const RowMean& rows) {
  const absl::Span<const int> root = matcher.Function(var, "SQRT");
  if (root.empty()) return std::nullopt;
  const absl::Span<const int> sum = matcher.Function(root[0], "ADD");
  for (size_t i = 0; i < sum.size(); ++i) {
    const std::optional<double> epsilon = matcher.Number(sum[i]);
    if (!epsilon || !(*epsilon >= 0)) continue;
    const std::optional<RowMean> variance = MatchMean(matcher, sum[1 - i]);
    if (!variance || variance->axis != rows.axis) continue;
    absl::Span<const int> square = matcher.Function(variance->of, "MUL");
    if (square.empty()) {
      square = matcher.Function(variance->of, "POW");
      if (square.empty() || matcher.Number(square[1]) != 2.0) continue;
    } else if (square[0] != square[1]) {
      continue;
    }
    if (square[0] == centred) return epsilon;
    // The difference may be computed twice.
    const std::optional<RowMean> again = MatchCentred(matcher, square[0]);
    if (again && again->of == rows.of && again->axis == rows.axis) return epsilon;
  }
  return std::nullopt;
}

struct Normalised {
  RowMean rows;
  double epsilon = 0;
};

std::optional<Normalised> MatchQuotient(PatternMatcher& matcher, int centred, int deviation) {
  const size_t before = matcher.size();
  if (const std::optional<RowMean> rows = MatchCentred(matcher, centred)) {
    if (const auto epsilon = MatchDeviation(matcher, deviation, centred, *rows)) {
      return Normalised{*rows, *epsilon};
    }
  }
  matcher.Forget(before);
  return std::nullopt;
}

std::optional<Normalised> MatchNormalised(PatternMatcher& matcher, int var) {
  const size_t before = matcher.size();
  if (const auto quotient = matcher.Function(var, "TRUE_DIV"); !quotient.empty()) {
    if (auto rows = MatchQuotient(matcher, quotient[0], quotient[1])) return rows;
  }
  for (size_t i = 0; i < 2; ++i) {
    const absl::Span<const int> product = matcher.Function(var, "MUL");
    if (product.empty()) break;
    const absl::Span<const int> inverse = matcher.Function(product[i], "TRUE_DIV");
    if (!inverse.empty() && matcher.Number(inverse[0]) == 1.0) {
      if (auto rows = MatchQuotient(matcher, product[1 - i], inverse[1])) return rows;
    }
    matcher.Forget(before);
  }
  matcher.Forget(before);
  return std::nullopt;
}

// Returns a scale or bias in the form that LayerNorm reads: with the shape of a row.
std::optional<PatternInput> RowOperand(const PatternMatcher& matcher, int var, int x, int axis) {
  const Shape row(matcher.Type(x).shape.dims().subspan(axis));
  const Shape& shape = matcher.Type(var).shape;
  if (shape == row) return PatternInput{var, {}, {}, {}};
  const HostTensor* const constant = matcher.Constant(var);
  if (constant == nullptr || !constant->has_data() || shape.rank() < row.rank())
    return std::nullopt;
  const int more = shape.rank() - row.rank();
  if (Shape(shape.dims().subspan(more)) != row || shape.num_elements() != row.num_elements()) {
    return std::nullopt;
  }
  return PatternInput{-1, constant->Reshaped(row), {}, {}};
}

PatternMatch LayerNormOf(const Normalised& normalised, std::vector<PatternInput> operands) {
  operands.insert(operands.begin(), PatternInput{normalised.rows.of, {}, {}, {}});
  return {"LayerNorm",
          {{"axis", int64_t{normalised.rows.axis}}, {"epsilon", normalised.epsilon}},
          std::move(operands)};
}

// Matches a normalisation with a scale; appends the scale to `operands`.
std::optional<Normalised> MatchScaled(PatternMatcher& matcher, int var,
                                      std::vector<PatternInput>& operands) {
  const size_t before = matcher.size();
  for (size_t i = 0; i < 2; ++i) {
    const absl::Span<const int> product = matcher.Function(var, "MUL");
    if (product.empty()) break;
    if (const std::optional<Normalised> normalised = MatchNormalised(matcher, product[1 - i])) {
      const RowMean& rows = normalised->rows;
      if (auto scale = RowOperand(matcher, product[i], rows.of, rows.axis)) {
        operands.push_back(*std::move(scale));
        return normalised;
      }
    }
    matcher.Forget(before);
  }
  matcher.Forget(before);
  return std::nullopt;
}

}  // namespace

std::optional<PatternMatch> MatchLayerNorm(PatternMatcher& matcher) {
  const int end = matcher.root().outputs[0];
  std::vector<PatternInput> operands;
  const absl::Span<const int> sum = matcher.Function(end, "ADD");
  for (size_t i = 0; i < sum.size(); ++i) {
    const size_t before = matcher.size();
    if (const auto scaled = MatchScaled(matcher, sum[1 - i], operands)) {
      if (auto bias = RowOperand(matcher, sum[i], scaled->rows.of, scaled->rows.axis)) {
        operands.push_back(*std::move(bias));
        return LayerNormOf(*scaled, std::move(operands));
      }
    }
    operands.clear();
    matcher.Forget(before);
  }
  if (const auto scaled = MatchScaled(matcher, end, operands)) {
    return LayerNormOf(*scaled, std::move(operands));
  }
  if (const auto normalised = MatchNormalised(matcher, end)) return LayerNormOf(*normalised, {});
  return std::nullopt;
}

}  // namespace ashlar
