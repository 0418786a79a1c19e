#include "opr/integer_elemwise.h"

#include <array>
#include <utility>

#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(IntegerElemwise)

absl::StatusOr<std::vector<TensorType>> IntegerElemwise::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsInteger(inputs[i].type.dtype)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " is ", Name(inputs[i].type.dtype), ", expected integers"));
  }
  ASHLAR_ASSIGN_OR_RETURN(Shape shape, Broadcast(inputs[0].type.shape, inputs[1].type.shape));
  return std::vector<TensorType>{{inputs[0].type.dtype, std::move(shape)}};
}

absl::StatusOr<std::vector<HostTensor>> IntegerElemwise::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &a = inputs[0], &b = inputs[1];
  ASHLAR_ASSIGN_OR_RETURN(Shape shape, Broadcast(a.shape(), b.shape()));
  HostTensor output = HostTensor::Zeros(a.dtype(), shape);
  std::array<Strides, 3> strides = {ContiguousStrides(shape), BroadcastStrides(a.shape(), shape),
                                    BroadcastStrides(b.shape(), shape)};
  JoinDimensions(shape, strides);
  const int bits = static_cast<int>(8 * SizeOf(a.dtype()));
  WithInteger(a.dtype(), [&]<typename A>() {
    WithInteger(b.dtype(), [&]<typename B>() {
      const absl::Span<const A> first = a.data<A>();
      const absl::Span<const B> second = b.data<B>();
      const absl::Span<A> to = output.mutable_data<A>();
      ForEachRow(shape, strides, Shape::kMaxBytes, [&](const auto& at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const auto place = [&](int k) { return at[k] + i * strides[k].back(); };
          to[place(0)] = static_cast<A>(
              Apply(param().mode, Widened(first[place(1)]), Widened(second[place(2)]), bits));
        }
      });
    });
  });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t IntegerElemwise::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

}  // namespace ashlar
