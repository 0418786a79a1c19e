// ScatterElements and ScatterND: change elements of a tensor at positions given by another tensor.
// Indices are Int32 or Int64; negative ones count from the end. An index out of range is a run-time
// error; on a GPU, whose kernels cannot fail, its update is skipped.
#ifndef ASHLAR_OPR_SCATTER_H_
#define ASHLAR_OPR_SCATTER_H_

#include "absl/functional/function_ref.h"
#include "opr/base/base.h"
#include "opr/base/indexed_runs.h"
#include "opr/base/scatter_reduction.h"

namespace ashlar {

inline constexpr const char* kScatterReductionNames[] = {"NONE", "ADD", "MUL", "MAX", "MIN"};

// Inputs: x, indices, and updates of x's dtype. Output: x's type; it may overwrite x.
class ScatteringOperator : public Operator {
 public:
  static constexpr int kX = 0, kIndices = 1, kUpdates = 2;

  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow};
  }
  Aliasing aliasing(const Site& site) const override;
  virtual absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const = 0;
  virtual ScatterReduction reduction() const = 0;

 protected:
  virtual Shape UpdatesOf(const Shape& x, const Shape& indices) const = 0;
  absl::StatusOr<std::vector<TensorType>> InferScattered(absl::Span<const InputInfo> inputs) const;
  absl::StatusOr<std::vector<HostTensor>> EvaluateScattered(
      absl::Span<const HostTensor> inputs) const;
  // Returns this operator with another reduction.
  using Reducing = absl::FunctionRef<OperatorPtr(ScatterReduction)>;
  // `gathering` reads the elements that are updated, from a tensor of x's shape. With kNone, no
  // element may be updated twice.
  absl::Status GradientScattered(GradientContext& context, Reducing reducing,
                                 const OperatorPtr& gathering) const;
};

struct ScatterElementsParam {
  int64_t axis = 0;  // negative: from the end
  ScatterReduction reduction = ScatterReduction::kNone;

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v("reduction", reduction, kScatterReductionNames);
  }
};

// y[indices[i][j][k]][j][k] = updates[i][j][k] for axis 0. Indices and updates have one shape, x's
// rank, and are no larger than x except along the axis.
class ScatterElements final : public OperatorWithParam<ScatterElementsParam, ScatteringOperator> {
 public:
  ASHLAR_OPERATOR("ScatterElements", "scatter_elements")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override {
    return RunsByElements(x, indices, param().axis);
  }
  ScatterReduction reduction() const override { return param().reduction; }

 protected:
  Shape UpdatesOf(const Shape&, const Shape& indices) const override { return indices; }
};

struct ScatterNDParam {
  ScatterReduction reduction = ScatterReduction::kNone;

  template <typename V>
  void Visit(V& v) {
    v("reduction", reduction, kScatterReductionNames);
  }
};

// The last dimension of the indices holds tuples, one index for each of the first dimensions of x.
// Updates: the indices' other dimensions, then x's remaining ones.
class ScatterND final : public OperatorWithParam<ScatterNDParam, ScatteringOperator> {
 public:
  ASHLAR_OPERATOR("ScatterND", "scatter_nd")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override {
    return RunsByTuples(x, indices, 0);
  }
  ScatterReduction reduction() const override { return param().reduction; }

 protected:
  Shape UpdatesOf(const Shape& x, const Shape& indices) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SCATTER_H_
