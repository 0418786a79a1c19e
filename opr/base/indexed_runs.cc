#include "opr/base/indexed_runs.h"

#include <cstring>

#include "opr/base/axis.h"
#include "opr/base/base.h"

namespace ashlar {
namespace {

template <typename Index>
absl::Status CheckAll(const IndexedRuns& runs, const Index* indices) {
  const size_t depth = runs.sizes.size();
  for (int64_t i = 0; i < runs.tuples * static_cast<int64_t>(depth); ++i) {
    const int64_t size = runs.sizes[static_cast<size_t>(i) % depth];
    if (indices[i] >= -size && indices[i] < size) continue;
    return absl::OutOfRangeError(
        absl::StrCat("index ", indices[i], " is out of range for size ", size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status IndexedRuns::CheckIndices(const void* indices, DType dtype) const {
  return dtype == DType::kInt64 ? CheckAll(*this, static_cast<const int64_t*>(indices))
                                : CheckAll(*this, static_cast<const int32_t*>(indices));
}

absl::Status CheckIndexedInputs(absl::Span<const InputInfo> inputs, size_t expected) {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, expected));
  const TensorType& indices = inputs[1].type;
  if (indices.dtype == DType::kInt32 || indices.dtype == DType::kInt64) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("indices are ", indices.ToString(), ", expected Int32 or Int64"));
}

absl::StatusOr<IndexedRuns> RunsByTuples(const Shape& x, const Shape& indices, int64_t batch) {
  const std::string both =
      absl::StrCat("x is ", x.ToString(), ", indices are ", indices.ToString());
  if (indices.rank() < 1 || batch < 0 || batch > std::min(x.rank(), indices.rank() - 1)) {
    return absl::InvalidArgumentError(absl::StrCat(both, ", batch_dims is ", batch));
  }
  for (int i = 0; i < batch; ++i) {
    if (x[i] != indices[i]) {
      return absl::InvalidArgumentError(absl::StrCat(both, ": dimension ", i, " of the batch"));
    }
  }
  const int64_t depth = indices[indices.rank() - 1];
  if (depth < 1 || depth > x.rank() - batch) {
    return absl::InvalidArgumentError(absl::StrCat(both, ": tuples of ", depth, " indices for ",
                                                   x.rank() - batch, " dimensions"));
  }
  const auto steps = ContiguousStrides(x);
  IndexedRuns runs;
  for (int i = 0; i + 1 < indices.rank(); ++i) {
    runs.walk.push_back(indices[i]);
    runs.strides.push_back(i < batch ? steps[i] : 0);
  }
  runs.count = runs.tuples = runs.walk.num_elements();
  for (int i = static_cast<int>(batch); i < x.rank(); ++i) {
    if (i < batch + depth) {
      runs.sizes.push_back(x[i]);
      runs.steps.push_back(steps[i]);
    } else {
      runs.length *= x[i];
    }
  }
  return runs;
}

Shape ShapeByTuples(const Shape& x, const Shape& indices, int64_t batch) {
  Shape shape(indices.dims().first(static_cast<size_t>(indices.rank() - 1)));
  const int64_t taken = batch + indices[indices.rank() - 1];
  for (int i = static_cast<int>(taken); i < x.rank(); ++i) shape.push_back(x[i]);
  return shape;
}

absl::StatusOr<IndexedRuns> RunsByElements(const Shape& x, const Shape& indices, int64_t axis) {
  ASHLAR_ASSIGN_OR_RETURN(const int along, NormalizeAxis(axis, x.rank()));
  bool fits = indices.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == along || indices[i] <= x[i];
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("indices are ", indices.ToString(),
                                                   ", larger than x, ", x.ToString(),
                                                   ", beside axis ", along));
  }
  IndexedRuns runs;
  runs.walk = indices;
  runs.count = runs.tuples = indices.num_elements();
  const auto steps = ContiguousStrides(x);
  for (int i = 0; i < x.rank(); ++i) runs.strides.push_back(i == along ? 0 : steps[i]);
  runs.sizes = {x[along]};
  runs.steps = {steps[along]};
  return runs;
}

IndexedRuns RunsAlongAxis(const Shape& x, const Shape& indices, int axis) {
  const auto steps = ContiguousStrides(x);
  IndexedRuns runs;
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= x[i];
  runs.tuples = indices.num_elements();
  runs.walk = {outer, runs.tuples};
  runs.strides = {steps[axis] * x[axis], 0};
  runs.count = outer * runs.tuples;
  runs.length = steps[axis];
  runs.sizes = {x[axis]};
  runs.steps = {steps[axis]};
  return runs;
}

absl::StatusOr<HostTensor> GatherRuns(const IndexedRuns& runs, const HostTensor& x,
                                      const HostTensor& indices, const Shape& shape) {
  HostTensor y = HostTensor::ZerosLike(x, shape);
  if (y.num_elements() == 0) return y;
  ASHLAR_RETURN_IF_ERROR(runs.CheckIndices(indices.raw(), indices.dtype()));
  const int64_t bytes = runs.length * SizeOf(x.dtype());
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t begin = indices.dtype() == DType::kInt64
                              ? runs.Begin(indices.data<int64_t>().data(), r)
                              : runs.Begin(indices.data<int32_t>().data(), r);
    std::memcpy(static_cast<char*>(y.mutable_raw()) + r * bytes,
                static_cast<const char*>(x.raw()) + begin * SizeOf(x.dtype()),
                static_cast<size_t>(bytes));
  }
  return y;
}

}  // namespace ashlar
