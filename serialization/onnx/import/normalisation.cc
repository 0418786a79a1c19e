// Imports normalisations and softmax.
#include <cmath>
#include <limits>

#include "opr/batch_norm.h"
#include "opr/layer_norm.h"
#include "opr/lrn.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// Normalises by the statistics of the batch. These also update the given statistics, which are
// outputs 1 and 2.
OnnxVars BatchNormalizationInTraining(OnnxNode& node, double epsilon) {
  const OnnxVar x = node.input(0);
  const double momentum = node.Float("momentum", 0.9);
  const int rank = node.rank(x);
  if (!node.ok() || rank < 2) return node.Invalid("expected rank 2 or more");
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[1] = node.shape(x)[1];
  const auto mean_of = [&](OnnxVar of) {
    return node.Add<Reduce>({ReduceMode::kMean}, {of, node.IntVector(along)});
  };
  const OnnxVar mean = mean_of(x);
  const OnnxVar centred = node.Difference(x, mean);
  const OnnxVar variance = mean_of(node.Product(centred, centred));
  const auto moved = [&](OnnxVar given, OnnxVar seen) {
    return node.Sum(node.Product(given, momentum),
                    node.Product(node.Reshaped(seen, node.shape(given)), 1 - momentum));
  };
  const OnnxVar y =
      node.Add<BatchNorm>({epsilon}, {x, node.input(1), node.input(2), mean, variance});
  return {y, moved(node.input(3), mean), moved(node.input(4), variance)};
}

OnnxVars BatchNormalization(OnnxNode& node) {
  node.Ignore({"momentum", "consumed_inputs"});
  const OnnxVar x = node.input(0);
  const double epsilon = node.Float("epsilon", 1e-5);
  if (node.Int("training_mode", 0) != 0) return BatchNormalizationInTraining(node, epsilon);
  if (node.version() < 7 && node.Int("is_test", 0) == 0 && node.has_output(1)) {
    return node.Unsupported("is_test 0");
  }
  const bool by_channel = node.version() >= 9 || node.Int("spatial", 1) != 0;
  std::vector<OnnxVar> inputs;
  for (int i = 0; i < 5; ++i) inputs.push_back(node.input(i));
  if (!node.ok()) return kNoOnnxVar;
  const Shape from = node.shape(x);
  if (!by_channel) {  // statistics for each element [C, H, W]
    const OnnxVar deviation = node.Function(F::kSqrt, {node.Sum(inputs[4], epsilon)});
    const OnnxVar normal = node.Quotient(node.Difference(x, inputs[3]), deviation);
    return node.Sum(node.Product(normal, inputs[1]), inputs[2]);
  }
  // A vector is a batch with one channel.
  if (from.rank() == 1) inputs[0] = node.Reshaped(x, {from[0], 1});
  return node.Reshaped(node.Add<BatchNorm>({epsilon}, inputs), from);
}

OnnxVar MeanAlong(OnnxNode& node, OnnxVar x, int axis) {
  return node.Add<Reduce>({ReduceMode::kMean, axis}, {x});
}

// Normalises each row of a matrix to mean 0 and variance 1. The variance is biased, and computed
// from the differences to the mean.
OnnxVar StandardRows(OnnxNode& node, OnnxVar rows, double epsilon) {
  const OnnxVar centred = node.Difference(rows, MeanAlong(node, rows, 1));
  const OnnxVar variance = MeanAlong(node, node.Product(centred, centred), 1);
  return node.Quotient(centred, node.Function(F::kSqrt, {node.Sum(variance, epsilon)}));
}

// Reshapes [C] for a tensor of this rank.
OnnxVar AlongChannels(OnnxNode& node, OnnxVar vector, int64_t channels, int rank) {
  if (node.shape(vector) != Shape{channels}) {
    return node.Invalid(absl::StrCat("scale or bias is ", node.shape(vector).ToString(),
                                     ", expected {", channels, "}"));
  }
  Shape along = {1, channels};
  while (along.rank() < rank) along.push_back(1);
  return node.Reshaped(vector, along);
}

OnnxVars InstanceNormalization(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
  const double epsilon = node.Float("epsilon", 1e-5);
  const Shape from = node.shape(x);
  if (from.rank() < 3) return node.Invalid("expected [N, C, ...]");
  if (from.num_elements() == 0) return x;
  const OnnxVar scale = AlongChannels(node, node.input(1), from[1], from.rank());
  const OnnxVar bias = AlongChannels(node, node.input(2), from[1], from.rank());
  const OnnxVar rows = node.Reshaped(x, {from[0] * from[1], ElementsBetween(from, 2, from.rank())});
  const OnnxVar normal = node.Reshaped(StandardRows(node, rows, epsilon), from);
  return node.Sum(node.Product(normal, scale), bias);
}

OnnxVars GroupNormalization(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const double epsilon = node.Float("epsilon", 1e-5);
  const int64_t groups = node.Int("num_groups", 0);
  node.Ignore({"stash_type"});
  const Shape from = node.shape(x);
  if (!node.ok()) return kNoOnnxVar;
  if (from.rank() < 3 || groups < 1 || from[1] % groups != 0) {
    return node.Invalid(absl::StrCat("num_groups is ", groups, " for ", from.ToString()));
  }
  const int64_t row = ElementsBetween(from, 1, from.rank()) / groups;
  const OnnxVar normal = StandardRows(node, node.Reshaped(x, {from[0] * groups, row}), epsilon);
  if (node.version() < 21) {  // scale and bias for each group
    const Shape grouped = {from[0], groups, row};
    OnnxVar y = node.Reshaped(normal, grouped);
    y = node.Product(y, AlongChannels(node, node.input(1), groups, 3));
    y = node.Sum(y, AlongChannels(node, node.input(2), groups, 3));
    return node.Reshaped(y, from);
  }
  const OnnxVar scale = AlongChannels(node, node.input(1), from[1], from.rank());
  const OnnxVar bias = AlongChannels(node, node.input(2), from[1], from.rank());
  return node.Sum(node.Product(node.Reshaped(normal, from), scale), bias);
}

// Normalises all axes from `axis` on.
OnnxVars LayerNormalization(OnnxNode& node) {
  node.Ignore({"stash_type"});
  const OnnxVar x = node.input(0), scale = node.input(1);
  const double epsilon = node.Float("epsilon", 1e-5);
  const Shape from = node.shape(x);
  const int axis = node.Axis(node.Int("axis", -1), from.rank());
  if (!node.ok()) return kNoOnnxVar;
  if (!node.has_output(1) && !node.has_output(2)) {
    const Shape normalised = Shape(from.dims().subspan(axis));
    std::vector<OnnxVar> inputs = {x, node.BroadcastTo(scale, normalised)};
    if (node.has(2)) inputs.push_back(node.BroadcastTo(node.input(2), normalised));
    return node.Add<LayerNorm>({axis, epsilon}, std::move(inputs));
  }
  const OnnxVar rows =
      node.Reshaped(x, {ElementsBetween(from, 0, axis), ElementsBetween(from, axis, from.rank())});
  const OnnxVar mean = MeanAlong(node, rows, 1);
  const OnnxVar centred = node.Difference(rows, mean);
  const OnnxVar variance = MeanAlong(node, node.Product(centred, centred), 1);
  const OnnxVar deviation = node.Function(F::kSqrt, {node.Sum(variance, epsilon)});
  OnnxVar y = node.Product(node.Reshaped(node.Quotient(centred, deviation), from), scale);
  if (node.has(2)) y = node.Sum(y, node.input(2));
  Shape statistics = from;
  for (int i = axis; i < from.rank(); ++i) statistics[i] = 1;
  const OnnxVar inverse = node.Quotient(node.Scalar(1, node.dtype(deviation)), deviation);
  return {y, node.Reshaped(mean, statistics), node.Reshaped(inverse, statistics)};
}

OnnxVars RmsNormalization(OnnxNode& node) {
  node.Ignore({"stash_type"});
  const OnnxVar x = node.input(0);
  const double epsilon = node.Float("epsilon", 1e-5);
  const Shape from = node.shape(x);
  const int axis = node.Axis(node.Int("axis", -1), from.rank());
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar rows =
      node.Reshaped(x, {ElementsBetween(from, 0, axis), ElementsBetween(from, axis, from.rank())});
  const OnnxVar square = MeanAlong(node, node.Product(rows, rows), 1);
  const OnnxVar root = node.Function(F::kSqrt, {node.Sum(square, epsilon)});
  return node.Product(node.Reshaped(node.Quotient(rows, root), from), node.input(1));
}

OnnxVars LpNormalization(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int axis = node.Axis(node.Int("axis", -1), node.rank(x));
  const int64_t p = node.Int("p", 2);
  if (!node.ok()) return kNoOnnxVar;
  if (p != 1 && p != 2) return node.Invalid(absl::StrCat("p is ", p, ", expected 1 or 2"));
  OnnxVar norm;
  if (p == 1) {
    norm = node.Add<Reduce>({ReduceMode::kSum, axis}, {node.Function(F::kAbs, {x})});
  } else {
    norm = node.Function(F::kSqrt, {node.Add<Reduce>({ReduceMode::kSumSqr, axis}, {x})});
  }
  // Only zeros have the norm 0, and they stay zeros.
  return node.Quotient(x, node.Greatest(norm, std::numeric_limits<float>::min()));
}

OnnxVars MeanVarianceNormalization(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const std::vector<int64_t> axes = node.Ints("axes", {0, 2, 3});
  Shape kept = node.shape(x);
  for (const int64_t given : axes) {
    const int axis = node.Axis(given, kept.rank());
    if (!node.ok()) return kNoOnnxVar;
    kept[axis] = 1;
  }
  const auto mean = [&](OnnxVar var) {
    return node.Add<Reduce>({ReduceMode::kMean}, {var, node.IntVector(kept.dims())});
  };
  const OnnxVar centred = node.Difference(x, mean(x));
  const OnnxVar deviation = node.Function(F::kSqrt, {mean(node.Product(centred, centred))});
  return node.Quotient(centred, node.Sum(deviation, 1e-9));
}

OnnxVars LocalResponse(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const LRNParam param = {node.Int("size", 0), node.Float("alpha", 1e-4), node.Float("beta", 0.75),
                          node.Float("bias", 1)};
  const Shape from = node.shape(x);
  if (from.rank() < 3) return node.Invalid("expected [N, C, ...]");
  const Shape image = {from[0], from[1], from[2], ElementsBetween(from, 3, from.rank())};
  return node.Reshaped(node.Add<LRN>(param, {node.Reshaped(x, image)}), from);
}

// The rows of a softmax. Below operator set 13, all dimensions from the axis on are joined.
struct SoftmaxRows {
  OnnxVar x;
  int axis = 0;
  Shape shape;  // shape of the result
};

SoftmaxRows RowsOf(OnnxNode& node) {
  SoftmaxRows rows;
  rows.x = node.input(0);
  rows.shape = node.shape(rows.x);
  const int rank = rows.shape.rank();
  const bool joined = node.version() < 13;
  const int64_t given = node.Int("axis", joined ? 1 : -1);
  // [N] from axis 1 on: rows of one element.
  rows.axis = joined && given == rank ? rank : node.Axis(given, rank);
  if (!node.ok() || !joined || (rows.axis == rank - 1 && rank > 0)) return rows;
  rows.x = node.Reshaped(rows.x, {ElementsBetween(rows.shape, 0, rows.axis),
                                  ElementsBetween(rows.shape, rows.axis, rank)});
  rows.axis = 1;
  return rows;
}

OnnxVars SoftmaxOf(OnnxNode& node) {
  const SoftmaxRows rows = RowsOf(node);
  return node.Reshaped(node.Add<Softmax>({rows.axis}, {rows.x}), rows.shape);
}

OnnxVars ImportLogSoftmax(OnnxNode& node) {
  const SoftmaxRows rows = RowsOf(node);
  if (node.ok() && rows.shape.num_elements() == 0) return node.input(0);
  const OnnxVar largest = node.Add<Reduce>({ReduceMode::kMax, rows.axis}, {rows.x});
  const OnnxVar shifted = node.Difference(rows.x, largest);
  const OnnxVar sum =
      node.Add<Reduce>({ReduceMode::kSum, rows.axis}, {node.Function(F::kExp, {shifted})});
  return node.Reshaped(node.Difference(shifted, node.Function(F::kLog, {sum})), rows.shape);
}

constexpr OnnxRow kNormalisationRows[] = {
    OnnxRow("BatchNormalization", 5, 5, BatchNormalization)
        .Counted(CountedBatch)
        .Limits("in training from 14 on"),
    OnnxRow("GroupNormalization", 3, 3, GroupNormalization),
    OnnxRow("InstanceNormalization", 3, 3, InstanceNormalization),
    OnnxRow("LRN", 1, 1, LocalResponse),
    OnnxRow("LayerNormalization", 2, 3, LayerNormalization).Counted(CountedAlong),
    OnnxRow("LogSoftmax", 1, 1, ImportLogSoftmax).Counted(CountedAlong),
    OnnxRow("LpNormalization", 1, 1, LpNormalization),
    OnnxRow("MeanVarianceNormalization", 1, 1, MeanVarianceNormalization),
    OnnxRow("RMSNormalization", 2, 2, RmsNormalization),
    OnnxRow("Softmax", 1, 1, SoftmaxOf).Counted(CountedAlong),
};

}  // namespace

absl::Span<const OnnxRow> OnnxNormalisationRows() { return kNormalisationRows; }

}  // namespace ashlar
