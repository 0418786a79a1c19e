#include "opr/scatter.h"

#include <cstring>

#include "opr/aliasing.h"
#include "opr/gather.h"
#include "opr/gradient.h"
#include "opr/inherited.h"
#include "opr/strided.h"

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

// An overwritten element has no gradient. The gradient of a smallest or largest element goes to x
// if x had it, and to each update that had it.
absl::Status ScatteringOperator::GradientScattered(GradientContext& context, Reducing reducing,
                                                   const OperatorPtr& gathering) const {
  using F = ScalarFunction;
  Gradients g(context);
  const int indices = g.input(kIndices), updates = g.input(kUpdates);
  const auto gathered = [&](int var) { return g.Add(gathering, {var, indices}); };
  const auto where_equal = [&](int a, int b, int gradient) {
    return g.Apply(F::kMul, {g.Apply(F::kEqual, {a, b}), gradient});
  };
  const TensorType type = g.input_type(kUpdates);
  int by_x = g.of(), by_updates = 0;
  switch (reduction()) {
    case ScatterReduction::kNone:
      by_updates = gathered(g.of());
      if (!g.wants(kX)) break;
      by_x = g.Add(reducing(ScatterReduction::kNone),
                   {g.of(), indices, g.Filled(type.dtype, type.shape, 0)});
      break;
    case ScatterReduction::kAdd:
      by_updates = gathered(g.of());
      break;
    case ScatterReduction::kMul: {
      by_updates =
          g.Apply(F::kTrueDiv, {gathered(g.Apply(F::kMul, {g.of(), g.output()})), updates});
      if (g.wants(kX)) by_x = g.Add(reducing(ScatterReduction::kMul), {g.of(), indices, updates});
      break;
    }
    case ScatterReduction::kMax:
    case ScatterReduction::kMin:
      by_updates = where_equal(gathered(g.output()), updates, gathered(g.of()));
      by_x = where_equal(g.output(), g.input(kX), g.of());
      break;
  }
  g.Set(kX, by_x);
  g.Set(kUpdates, by_updates);
  return std::move(g).Finish();
}

absl::Status ScatterElements::Gradient(GradientContext& context) const {
  const auto reducing = [&](ScatterReduction reduction) -> OperatorPtr {
    return std::make_shared<const ScatterElements>(ScatterElementsParam{param().axis, reduction});
  };
  return GradientScattered(context, reducing,
                           std::make_shared<const GatherElements>(GatherParam{param().axis}));
}

absl::Status ScatterND::Gradient(GradientContext& context) const {
  const auto reducing = [](ScatterReduction reduction) -> OperatorPtr {
    return std::make_shared<const ScatterND>(ScatterNDParam{reduction});
  };
  return GradientScattered(context, reducing, std::make_shared<const GatherND>(GatherNDParam{}));
}

}  // namespace ashlar
