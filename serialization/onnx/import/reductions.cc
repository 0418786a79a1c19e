// Imports reductions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "opr/pooling.h"
#include "opr/reduce.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// The axes of a reduction, and the shapes with and without them.
struct Reduction {
  std::vector<int64_t> axes;  // ascending
  Shape kept, dropped;
  bool of_nothing = false;  // there are no elements to reduce
  bool noop = false;        // no axes, and noop_with_empty_axes
  bool keepdims = true;

  const Shape& shape() const { return keepdims ? kept : dropped; }
};

// Reads the axes, which are an input since operator set `since`.
Reduction ReductionOf(OnnxNode& node, OnnxVar x, int64_t since) {
  Reduction reduction;
  reduction.keepdims = node.Int("keepdims", 1) != 0;
  std::vector<int64_t> given;
  if (node.version() < since) {
    given = node.Ints("axes");
  } else {
    if (node.has(1)) given = node.KnownInts(1, "axes");
    reduction.noop = node.Int("noop_with_empty_axes", 0) != 0 && given.empty();
  }
  const Shape& shape = node.shape(x);
  std::vector<bool> listed(shape.rank(), given.empty() && !reduction.noop);
  for (const int64_t axis : given) {
    const int normal = node.Axis(axis, shape.rank());
    if (!node.ok()) return reduction;
    listed[normal] = true;
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    reduction.kept.push_back(listed[axis] ? 1 : shape[axis]);
    if (listed[axis]) {
      reduction.axes.push_back(axis);
    } else {
      reduction.dropped.push_back(shape[axis]);
    }
  }
  reduction.of_nothing = shape.num_elements() == 0;
  return reduction;
}

// Keeps the reduced axes with size 1.
OnnxVar Reduced(OnnxNode& node, OnnxVar x, ReduceMode mode, const Reduction& reduction) {
  const Shape& shape = node.shape(x);
  if (!node.ok()) return kNoOnnxVar;
  if (mode != ReduceMode::kSumSqr && shape == reduction.kept) return x;
  // The mean of whole images keeps their format if computed as a pooling.
  const bool image = mode == ReduceMode::kMean && shape.rank() == 4 &&
                     reduction.axes == std::vector<int64_t>{2, 3} &&
                     node.dtype(x) == DType::kFloat32;
  if (image) {
    PoolingParam param;
    param.mode = PoolingMode::kAverage;
    param.window_h = shape[2];
    param.window_w = shape[3];
    param.stride_h = param.stride_w = 1;
    return node.Add<PoolingForward>(param, {x});
  }
  if (reduction.axes.size() == 1) return node.Add<Reduce>({mode, reduction.axes[0]}, {x});
  std::vector<int64_t> target(reduction.kept.dims().begin(), reduction.kept.dims().end());
  // Keeps the number of images variable.
  if (!target.empty() && !reduction.axes.empty() && reduction.axes[0] != 0) target[0] = -1;
  return node.Add<Reduce>({mode}, {x, node.IntVector(target)});
}

OnnxVars Filled(OnnxNode& node, double value, const Reduction& reduction, OnnxVar x) {
  std::optional<HostTensor> result = node.NewTensor(node.dtype(x), reduction.shape().dims());
  if (!result) return kNoOnnxVar;
  for (int64_t i = 0; i < result->num_elements(); ++i) result->Set(i, value);
  return node.Constant(*std::move(result));
}

// Replaces fill by what changes no result, if an axis of a size that depends on data is reduced.
// Otherwise the count passes on to the result.
struct CountedReduction {
  OnnxVar x;
  std::vector<OnnxCount> passes;
  // The product of the counts of axes that are reduced, and of the sizes planned for these.
  OnnxVar counts = kNoOnnxVar;
  int64_t planned = 1;
  bool reduced() const { return counts != kNoOnnxVar; }
};

CountedReduction CountedOf(OnnxNode& node, OnnxVar x, const Reduction& reduction, double neutral) {
  CountedReduction result = {x, {}};
  if (!node.ok()) return result;
  for (const OnnxCount& count : node.counts(x)) {
    int before = 0;
    bool reduced = false;
    for (const int64_t axis : reduction.axes) {
      reduced = reduced || axis == count.axis;
      before += axis < count.axis;
    }
    if (reduced) {
      result.counts = result.reduced() ? node.Product(result.counts, count.count) : count.count;
      result.planned *= node.shape(x)[count.axis];
      continue;
    }
    result.passes.push_back({count.count, count.axis - (reduction.keepdims ? 0 : before)});
  }
  if (result.reduced()) result.x = Filled(node, x, neutral);
  return result;
}

// Returns the sum over the number of elements, which integers are divided by without a rest.
OnnxVar MeanOf(OnnxNode& node, const CountedReduction& of, const Reduction& reduction) {
  const DType dtype = node.dtype(of.x);
  const OnnxVar sum = Reduced(node, of.x, ReduceMode::kSum, reduction);
  if (!node.ok()) return kNoOnnxVar;
  const int64_t all = node.shape(of.x).num_elements() / reduction.kept.num_elements();
  OnnxVar number = node.Integer(of.reduced() ? all / of.planned : all);
  if (of.reduced()) number = node.Product(number, of.counts);
  number = node.Converted(number, dtype);
  return IsFloat(dtype) ? node.Quotient(sum, number) : node.Function(F::kTruncDiv, {sum, number});
}

OnnxVar Log(OnnxNode& node, OnnxVar x) { return node.Function(F::kLog, {x}); }

// A reduction besides its mode: the function before it, the result without elements, and the
// function after it.
struct ReductionKind {
  ReduceMode mode;
  double of_nothing;
  int64_t axes_are_input = 18;
  OnnxVar (*before)(OnnxNode& node, OnnxVar x) = nullptr;
  OnnxVar (*after)(OnnxNode& node, OnnxVar x) = nullptr;
};

OnnxVars ReduceAs(OnnxNode& node, const ReductionKind& kind) {
  OnnxVar x = node.input(0);
  const Reduction reduction = ReductionOf(node, x, kind.axes_are_input);
  if (!node.ok()) return kNoOnnxVar;
  const DType dtype = node.dtype(x);
  const bool mean = kind.mode == ReduceMode::kMean;
  const CountedReduction counted = CountedOf(node, x, reduction, mean ? 0 : kind.of_nothing);
  const bool logarithm = kind.of_nothing == -kInfinity && kind.mode != ReduceMode::kMax;
  const bool all_true = dtype == DType::kBool && kind.mode == ReduceMode::kMin;
  if (counted.reduced() && (logarithm || all_true)) {
    return node.Unsupported("along an axis whose size depends on data");
  }
  x = counted.x;
  const auto result = [&](OnnxVar y) { return node.ok() ? node.WithCounts(y, counted.passes) : y; };
  if (reduction.of_nothing && !reduction.noop) {
    const bool truth = dtype == DType::kBool;  // Bool has no infinity
    return Filled(node, truth ? kind.of_nothing > 0 : kind.of_nothing, reduction, x);
  }
  const bool floats = IsFloat(dtype);
  if (dtype == DType::kBool) {  // numbers 0 or 1
    x = Reduced(node, node.Converted(x, DType::kInt32), kind.mode, reduction);
    return result(node.Reshaped(node.Converted(x, dtype), reduction.shape()));
  }
  if (mean && (!floats || counted.reduced())) {
    return result(node.Reshaped(MeanOf(node, counted, reduction), reduction.shape()));
  }
  if (kind.before != nullptr) x = kind.before(node, x);
  x = Reduced(node, x, kind.mode, reduction);
  if (kind.after != nullptr) {  // of integers: without the fraction
    x = floats ? kind.after(node, x)
               : node.Converted(kind.after(node, node.Converted(x, DType::kFloat64)), dtype);
  }
  return result(node.Reshaped(x, reduction.shape()));
}

OnnxVar Magnitude(OnnxNode& node, OnnxVar x) { return node.Function(F::kAbs, {x}); }
OnnxVar Root(OnnxNode& node, OnnxVar x) { return node.Function(F::kSqrt, {x}); }

OnnxVars ReduceSum(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kSum, 0, 13}); }
OnnxVars ReduceMean(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kMean, std::nan("")}); }
OnnxVars ReduceMax(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kMax, -kInfinity}); }
OnnxVars ReduceMin(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kMin, kInfinity}); }
OnnxVars ReduceProd(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kProduct, 1}); }
OnnxVars ReduceSumSquare(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kSumSqr, 0}); }
OnnxVars ReduceL1(OnnxNode& node) { return ReduceAs(node, {ReduceMode::kSum, 0, 18, Magnitude}); }
OnnxVars ReduceL2(OnnxNode& node) {
  return ReduceAs(node, {ReduceMode::kSumSqr, 0, 18, nullptr, Root});
}
OnnxVars ReduceLogSum(OnnxNode& node) {
  return ReduceAs(node, {ReduceMode::kSum, -kInfinity, 18, nullptr, Log});
}

// Subtracts the largest element, so that nothing overflows. An infinite one is not subtracted,
// because the result would be NaN.
OnnxVars ReduceLogSumExp(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const Reduction reduction = ReductionOf(node, x, 18);
  if (!node.ok()) return kNoOnnxVar;
  if (reduction.of_nothing && !reduction.noop) return Filled(node, -kInfinity, reduction, x);
  constexpr double kLargest = std::numeric_limits<float>::max();
  const OnnxVar largest = node.Function(F::kClamp, {Reduced(node, x, ReduceMode::kMax, reduction)},
                                        {-kLargest, kLargest});
  const OnnxVar exponentials = node.Function(F::kExp, {node.Difference(x, largest)});
  const OnnxVar sum = Reduced(node, exponentials, ReduceMode::kSum, reduction);
  return node.Reshaped(node.Sum(largest, Log(node, sum)), reduction.shape());
}

constexpr OnnxRow kReductionRows[] = {
    OnnxRow("ReduceL1", 1, 2, ReduceL1).CountedTwice(CountedByItself),
    OnnxRow("ReduceL2", 1, 2, ReduceL2).CountedTwice(CountedByItself),
    OnnxRow("ReduceLogSum", 1, 2, ReduceLogSum).CountedTwice(CountedByItself),
    OnnxRow("ReduceLogSumExp", 1, 2, ReduceLogSumExp),
    OnnxRow("ReduceMax", 1, 2, ReduceMax).CountedTwice(CountedByItself).Rising(),
    OnnxRow("ReduceMean", 1, 2, ReduceMean).CountedTwice(CountedByItself),
    OnnxRow("ReduceMin", 1, 2, ReduceMin).CountedTwice(CountedByItself).Rising(),
    OnnxRow("ReduceProd", 1, 2, ReduceProd)
        .CountedTwice(CountedByItself)
        .Ranged(OnnxRangeRule::kProduct),
    OnnxRow("ReduceSum", 1, 2, ReduceSum).CountedTwice(CountedByItself).Rising(),
    OnnxRow("ReduceSumSquare", 1, 2, ReduceSumSquare).CountedTwice(CountedByItself),
};

}  // namespace

absl::Span<const OnnxRow> OnnxReductionRows() { return kReductionRows; }

}  // namespace ashlar
