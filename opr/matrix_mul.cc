#include "opr/matrix_mul.h"

#include <algorithm>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/saturating_product.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(MatrixMul)

namespace {

// Returns the strides of an operand's matrices over the dimensions of `batch`, to which its own
// broadcast.
absl::InlinedVector<int64_t, Shape::kMaxRank> BatchStrides(const Shape& operand,
                                                           const Shape& batch) {
  absl::InlinedVector<int64_t, Shape::kMaxRank> strides(batch.rank(), 0);
  int64_t step = operand[operand.rank() - 2] * operand[operand.rank() - 1];
  const int missing = batch.rank() - (operand.rank() - 2);
  for (int i = batch.rank() - 1; i >= missing; --i) {
    const int64_t dim = operand[i - missing];
    if (dim != 1) strides[i] = step;
    step *= dim;
  }
  return strides;
}

// Computes out[m, n] = A x B row by row, with the inner loop along the stored rows of B.
void Multiply(const MatrixMulParam& param, const MatrixMulGeometry& geometry, const double* a,
              const double* b, double* out, std::vector<double>& row) {
  const int64_t m = geometry.m, k = geometry.k, n = geometry.n;
  const auto at_a = [&](int64_t i, int64_t l) -> double {
    return param.transposeA ? a[l * m + i] : a[i * k + l];
  };
  for (int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    if (param.transposeB) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t l = 0; l < k; ++l) row[j] += at_a(i, l) * b[j * k + l];
      }
    } else {
      for (int64_t l = 0; l < k; ++l) {
        for (int64_t j = 0; j < n; ++j) row[j] += at_a(i, l) * b[l * n + j];
      }
    }
    out = std::copy(row.begin(), row.end(), out);
  }
}

}  // namespace

int64_t MatrixMulGeometry::Offset(int64_t index, absl::Span<const int64_t> strides) const {
  int64_t offset = 0;
  for (int i = batch.rank() - 1; i >= 0; --i) {
    offset += index % batch[i] * strides[i];
    index /= batch[i];
  }
  return offset;
}

Shape MatrixMulGeometry::output() const {
  Shape shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  return shape;
}

absl::StatusOr<MatrixMulGeometry> InferMatrixMul(const MatrixMulParam& param, const TensorType& a,
                                                 const TensorType& b) {
  ASHLAR_RETURN_IF_ERROR(CheckFloat("A", a));
  ASHLAR_RETURN_IF_ERROR(CheckDType("B", b, a.dtype));
  const std::string both = absl::StrCat("A is ", a.ToString(), ", B is ", b.ToString());
  const int rank_a = a.shape.rank(), rank_b = b.shape.rank();
  if (rank_a < 2 || rank_b < 2) {
    return absl::InvalidArgumentError(absl::StrCat(both, ": expected rank 2 or more"));
  }
  MatrixMulGeometry geometry;
  geometry.m = a.shape[rank_a - 2];
  geometry.k = a.shape[rank_a - 1];
  if (param.transposeA) std::swap(geometry.m, geometry.k);
  int64_t k = b.shape[rank_b - 2];
  geometry.n = b.shape[rank_b - 1];
  if (param.transposeB) std::swap(k, geometry.n);
  if (geometry.k != k) {
    return absl::InvalidArgumentError(absl::StrCat(
        both, ": a row of A", param.transposeA ? " transposed" : "", " has ", geometry.k,
        " elements, a column of B", param.transposeB ? " transposed" : "", " has ", k));
  }
  const Shape batch_a(a.shape.dims().first(rank_a - 2));
  const Shape batch_b(b.shape.dims().first(rank_b - 2));
  absl::StatusOr<Shape> batch = Broadcast(batch_a, batch_b);
  if (!batch.ok()) return Annotate(batch.status(), both);
  geometry.batch = *std::move(batch);
  geometry.batch_strides_a = BatchStrides(a.shape, geometry.batch);
  geometry.batch_strides_b = BatchStrides(b.shape, geometry.batch);
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> MatrixMul::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(MatrixMulGeometry geometry,
                          InferMatrixMul(param(), inputs[0].type, inputs[1].type));
  return std::vector<TensorType>{{inputs[0].type.dtype, geometry.output()}};
}

absl::StatusOr<std::vector<HostTensor>> MatrixMul::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(MatrixMulGeometry geometry,
                          InferMatrixMul(param(), {inputs[0].dtype(), inputs[0].shape()},
                                         {inputs[1].dtype(), inputs[1].shape()}));
  const std::vector<double> a = ToDoubles(inputs[0]), b = ToDoubles(inputs[1]);
  std::vector<double> output(static_cast<size_t>(geometry.output().num_elements()));
  std::vector<double> row(geometry.n);
  for (int64_t i = 0; i < geometry.batch.num_elements(); ++i) {
    Multiply(param(), geometry, a.data() + geometry.OffsetOfA(i), b.data() + geometry.OffsetOfB(i),
             output.data() + i * geometry.m * geometry.n, row);
  }
  return std::vector<HostTensor>{FromDoubles(inputs[0].dtype(), geometry.output(), output)};
}

int64_t ProductOperator::Computation(const Site& site) const {
  const Shape& a = site.inputs[0].type.shape;
  const int64_t k = a[a.rank() - (product().transposeA ? 2 : 1)];
  return SaturatingProduct({site.outputs[0].shape.num_elements(), k, 2});
}

std::optional<std::vector<Region>> ProductOperator::InputRegions(const Region& output,
                                                                 const Site& site) const {
  const Shape &a = site.inputs[0].type.shape, &b = site.inputs[1].type.shape;
  const int rank = site.outputs[0].shape.rank();
  if (output[rank - 1] != Range{0, site.outputs[0].shape[rank - 1]}) return std::nullopt;
  // The output's rows need the same rows of A; batch dimensions need their own index.
  std::vector<Region> regions = {WholeRegion(a), WholeRegion(b)};
  const Shape* const shapes[] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    const int leading = rank - shapes[i]->rank();
    for (int axis = 0; axis < shapes[i]->rank() - 2; ++axis) {
      if ((*shapes[i])[axis] != 1) regions[i][axis] = output[leading + axis];
    }
  }
  regions[0][a.rank() - (product().transposeA ? 1 : 2)] = output[rank - 2];
  for (size_t i = 2; i < site.inputs.size(); ++i) {
    regions.push_back(WholeRegion(site.inputs[i].type.shape));
  }
  return regions;
}

}  // namespace ashlar
