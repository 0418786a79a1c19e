// Chooses among the kernels that devices have for functions of 8-bit tensors.
#ifndef ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_
#define ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_

#include <cstddef>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "opr/elemwise_multi_type.h"
#include "runtime/device/kernel.h"

namespace ashlar {

// Registers a table of 256 bytes for each function of one tensor, a sum, optionally rectified, of
// two 8-bit tensors of one shape or in fixed-point numbers, and `function` for others that
// HasByteFunction names; null: the device has no kernel for these.
template <typename Table, typename Sum, typename Function = std::nullptr_t>
void RegisterByteFunctions(KernelRegistry& registry, const Table& table, const Sum& sum,
                           const Function& function = nullptr) {
  const auto make = [=](const ElemwiseMultiType& op,
                        const KernelRequest& request) -> absl::StatusOr<KernelList> {
    const ScalarFunction mode = op.param().mode;
    if (Arity(mode) == 1) return table(op, request);
    const TensorType& other = request.inputs[1];
    const bool alike = other.dtype != DType::kFloat32 && other.shape == request.outputs[0].shape;
    if (op.param().adds() && (alike || op.param().fixed_point_sum)) {
      return sum(op, request);
    }
    if constexpr (!std::is_null_pointer_v<Function>) {
      if (HasByteFunction(mode)) return function(op, request);
    }
    return absl::UnimplementedError(
        absl::StrCat("mode ", RowOf(mode).name, " of a quantised tensor and ",
                     other.dtype == DType::kFloat32 ? "Float32" : "another"));
  };
  registry.Register<ElemwiseMultiType>(
      make, {DType::kQuantized8Asymm, DType::kQuantizedS8, DType::kFloat32});
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_
