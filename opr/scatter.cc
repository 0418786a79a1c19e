#include "opr/scatter.h"

#include <cstring>

#include "opr/base/aliasing.h"
#include "opr/base/inherited.h"
#include "opr/base/strided.h"
#include "opr/gather.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ScatterElements)
ASHLAR_MAKE_FROM_PARAMS(ScatterND)

Aliasing ScatteringOperator::aliasing(const Site& site) const { return OverwritesInput(kX, site); }

absl::StatusOr<std::vector<TensorType>> ScatteringOperator::InferScattered(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckIndexedInputs(inputs, 3));
  const TensorType &x = inputs[kX].type, &indices = inputs[kIndices].type;
  ASHLAR_RETURN_IF_ERROR(RunsOf(x.shape, indices.shape).status());
  const TensorType updates = {x.dtype, UpdatesOf(x.shape, indices.shape)};
  if (inputs[kUpdates].type.dtype != updates.dtype ||
      inputs[kUpdates].type.shape != updates.shape) {
    return absl::InvalidArgumentError(absl::StrCat("updates are ", inputs[kUpdates].type.ToString(),
                                                   ", expected ", updates.ToString()));
  }
  const bool numbers = x.dtype != DType::kByte && x.dtype != DType::kBool;
  if (reduction() != ScatterReduction::kNone && !numbers) {
    return absl::InvalidArgumentError(
        absl::StrCat(kScatterReductionNames[static_cast<size_t>(reduction())],
                     " is not defined for ", Name(x.dtype)));
  }
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> ScatteringOperator::EvaluateScattered(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &x = inputs[kX], &indices = inputs[kIndices], &updates = inputs[kUpdates];
  ASHLAR_ASSIGN_OR_RETURN(const IndexedRuns runs, RunsOf(x.shape(), indices.shape()));
  HostTensor y = HostTensor::Zeros(x.dtype(), x.shape());
  if (x.bytes() > 0) std::memcpy(y.mutable_raw(), x.raw(), static_cast<size_t>(x.bytes()));
  if (updates.num_elements() == 0) return std::vector<HostTensor>{std::move(y)};
  ASHLAR_RETURN_IF_ERROR(runs.CheckIndices(indices.raw(), indices.dtype()));
  for (int64_t r = 0; r < runs.count; ++r) {
    const int64_t begin = indices.dtype() == DType::kInt64
                              ? runs.Begin(indices.data<int64_t>().data(), r)
                              : runs.Begin(indices.data<int32_t>().data(), r);
    if (reduction() == ScatterReduction::kNone) {
      const int64_t size = SizeOf(x.dtype());
      std::memcpy(static_cast<char*>(y.mutable_raw()) + begin * size,
                  static_cast<const char*>(updates.raw()) + r * runs.length * size,
                  static_cast<size_t>(runs.length * size));
      continue;
    }
    WithNumber(x.dtype(), [&]<typename Number>(Number) {
      for (int64_t i = 0; i < runs.length; ++i) {
        SetNumber(y, begin + i,
                  Updated(reduction(), NumberAt<Number>(y, begin + i),
                          NumberAt<Number>(updates, r * runs.length + i)));
      }
    });
  }
  return std::vector<HostTensor>{std::move(y)};
}

ASHLAR_INHERITS(ScatterElements, InferScattered, EvaluateScattered)
ASHLAR_INHERITS(ScatterND, InferScattered, EvaluateScattered)

Shape ScatterND::UpdatesOf(const Shape& x, const Shape& indices) const {
  return ShapeByTuples(x, indices, 0);
}

}  // namespace ashlar
