// Gather, GatherElements and GatherND: read elements of a tensor at positions given by another
// tensor. Indices are Int32 or Int64; negative ones count from the end. An index out of range is a
// run-time error; on a GPU, whose kernels cannot fail, it gives zeros.
#ifndef ASHLAR_OPR_GATHER_H_
#define ASHLAR_OPR_GATHER_H_

#include "opr/base/indexed_runs.h"
#include "opr/base/moving.h"

namespace ashlar {

// Inputs: x, of any dtype, and indices. A new subclass provides its parameters, the output's shape
// and the runs.
class GatheringOperator : public MovingOperator {
 public:
  static constexpr int kX = 0, kIndices = 1;

  virtual absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const = 0;

 protected:
  virtual absl::StatusOr<Shape> OutputOf(const Shape& x, const Shape& indices) const = 0;
  absl::StatusOr<std::vector<TensorType>> InferGathered(absl::Span<const InputInfo> inputs) const;
  absl::StatusOr<std::vector<HostTensor>> EvaluateGathered(
      absl::Span<const HostTensor> inputs) const;
};

// The `axis` of Gather and GatherElements: negative counts from the end.
struct GatherParam {
  int64_t axis = 0;

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// Output: x's shape, with the axis replaced by the indices' shape.
class Gather final : public OperatorWithParam<GatherParam, GatheringOperator> {
 public:
  ASHLAR_OPERATOR("Gather", "gather")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  // For floats, the product with a matrix that has a 1 in each row. Indices out of range give
  // zeros.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

 protected:
  absl::StatusOr<Shape> OutputOf(const Shape& x, const Shape& indices) const override;
};

// y[i][j][k] = x[indices[i][j][k]][j][k] for axis 0. Indices have x's rank, and are no larger than
// x except along the axis. Output: the indices' shape.
class GatherElements final : public OperatorWithParam<GatherParam, GatheringOperator> {
 public:
  ASHLAR_OPERATOR("GatherElements", "gather_elements")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override;

 protected:
  absl::StatusOr<Shape> OutputOf(const Shape&, const Shape& indices) const override {
    return indices;
  }
};

struct GatherNDParam {
  int64_t batch_dims = 0;  // leading dimensions that x and indices share

  template <typename V>
  void Visit(V& v) {
    v("batch_dims", batch_dims);
  }
};

// The last dimension of the indices holds tuples. A tuple has one index for each of the first
// dimensions of x after the batch dimensions. Output: the indices' other dimensions, then x's
// remaining ones.
class GatherND final : public OperatorWithParam<GatherNDParam, GatheringOperator> {
 public:
  ASHLAR_OPERATOR("GatherND", "gather_nd")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override {
    return RunsByTuples(x, indices, param().batch_dims);
  }

 protected:
  absl::StatusOr<Shape> OutputOf(const Shape& x, const Shape& indices) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GATHER_H_
