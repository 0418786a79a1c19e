// Gather, GatherElements and GatherND: elements of a tensor at places that another tensor names.
// Indices are Int32 or Int64; negative ones count from the end. One that is out of range is an
// error of the run; on a GPU, whose kernels cannot fail, it gives zeros.
#ifndef ASHLAR_OPR_GATHER_H_
#define ASHLAR_OPR_GATHER_H_

#include "opr/indexed_runs.h"
#include "opr/moving.h"

namespace ashlar {

// Inputs: x, of any dtype, and indices. One that is new gives parameters, the output's shape and
// the runs.
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

// `axis` of Gather and GatherElements: negative: from the end.
struct GatherParam {
  int64_t axis = 0;

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// Output: x's shape, with the indices' in the place of the axis.
class Gather final : public OperatorWithParam<GatherParam, GatheringOperator> {
 public:
  ASHLAR_OPERATOR("Gather", "gather")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<IndexedRuns> RunsOf(const Shape& x, const Shape& indices) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  // The product with a matrix that has a 1 in each row, for floats. An index that is out of range
  // gives zeros there.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

 protected:
  absl::StatusOr<Shape> OutputOf(const Shape& x, const Shape& indices) const override;
};

// y[i][j][k] = x[indices[i][j][k]][j][k] where the axis is 0. Indices are of x's rank, and no
// larger beside the axis. Output: the indices' shape.
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
  int64_t batch_dims = 0;  // leading dimensions that x and indices have in common

  template <typename V>
  void Visit(V& v) {
    v("batch_dims", batch_dims);
  }
};

// The last dimension of the indices holds tuples, one index for each dimension of x behind the
// batch's as far as they reach. Output: the indices' other dimensions, then x's that are left.
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
