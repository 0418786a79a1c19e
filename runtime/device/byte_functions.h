// Chooses among the kernels that devices have for functions of 8-bit tensors.
#ifndef ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_
#define ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_

#include "absl/strings/str_cat.h"
#include "opr/elemwise_multi_type.h"
#include "runtime/device/kernel.h"

namespace ashlar {

// Registers a table of 256 bytes for each function of one tensor, and a sum, optionally rectified,
// of two tensors.
template <typename Table, typename Sum>
void RegisterByteFunctions(KernelRegistry& registry, const Table& table, const Sum& sum) {
  const auto make = [=](const ElemwiseMultiType& op,
                        const KernelRequest& request) -> absl::StatusOr<KernelList> {
    const ScalarFunction mode = op.param().mode;
    if (Arity(mode) == 1) return table(op, request);
    if (mode == ScalarFunction::kAdd || mode == ScalarFunction::kFuseAddRelu) {
      return sum(op, request);
    }
    return absl::UnimplementedError(
        absl::StrCat("mode ", RowOf(mode).name, " of two quantised tensors"));
  };
  registry.Register<ElemwiseMultiType>(make, {DType::kQuantized8Asymm, DType::kQuantizedS8});
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_BYTE_FUNCTIONS_H_
