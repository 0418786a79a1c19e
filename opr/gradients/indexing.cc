// Gradients of operators that move elements to and from computed places.
#include <memory>
#include <utility>

#include "opr/base/along_axis.h"
#include "opr/base/axis.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/gather.h"
#include "opr/gradients/gradients.h"
#include "opr/matrix_mul.h"
#include "opr/rewrites/composition.h"
#include "opr/scatter.h"
#include "opr/top_k.h"
#include "opr/type_cvt.h"

namespace ashlar {

// Moves the indexed axis first, as ScatterND needs it, and makes tuples of one index.
absl::Status Gather::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  Shape indices = g.input_type(kIndices).shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  const int of_indices = indices.rank();
  DimshuffleParam to_front, back;
  for (int i = 0; i < of_indices; ++i) to_front.pattern.push_back(axis + i);
  Shape turned = {x.shape[axis]};
  for (int i = 0; i < x.shape.rank(); ++i) {
    back.pattern.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
    if (i == axis) continue;
    turned.push_back(x.shape[i]);
    to_front.pattern.push_back(i < axis ? i : i + of_indices - 1);
  }
  indices.push_back(1);
  const int updates = g.Add<Dimshuffle>(std::move(to_front), {g.of()});
  const int sums = g.Add<ScatterND>(
      {ScatterReduction::kAdd},
      {g.Filled(x.dtype, turned, 0), g.Reshaped(g.input(kIndices), indices), updates});
  return g.SetOnly(kX, g.Add<Dimshuffle>(std::move(back), {sums}));
}

absl::Status GatherElements::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  g.Set(kX, g.Add<ScatterElements>({param().axis, ScatterReduction::kAdd},
                                   {g.Filled(x.dtype, x.shape, 0), g.input(kIndices), g.of()}));
  return std::move(g).Finish();
}

// Adds the position in the batch to the tuples.
absl::Status GatherND::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(kX), indices = g.input_type(kIndices);
  int tuples = g.input(kIndices);
  const int last = indices.shape.rank() - 1;
  if (const int64_t batch = param().batch_dims; batch > 0) {
    Shape shape = indices.shape;
    shape[last] = batch;
    HostTensor places = HostTensor::Zeros(indices.dtype, shape);
    for (int64_t i = 0; i < places.num_elements(); ++i) {
      int64_t rest = i / batch;
      for (int axis = last - 1; axis > i % batch; --axis) rest /= shape[axis];
      places.Set(i, static_cast<double>(rest % shape[static_cast<int>(i % batch)]));
    }
    tuples = g.Add<Concat>({last}, {g.Constant(std::move(places)), tuples});
  }
  g.Set(kX, g.Add<ScatterND>({ScatterReduction::kAdd},
                             {g.Filled(x.dtype, x.shape, 0), tuples, g.of()}));
  return std::move(g).Finish();
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

absl::Status TopK::Gradient(GradientContext& context) const {
  Gradients g(context);
  const TensorType x = g.input_type(0);
  g.Set(0, g.Add<ScatterElements>({param().axis, ScatterReduction::kAdd},
                                  {g.Filled(x.dtype, x.shape, 0), g.output(1), g.of()}));
  return std::move(g).Finish();
}

}  // namespace ashlar
