#include "tests/support/kernel_request.h"

#include "graph/status.h"

namespace ashlar::testing {

absl::StatusOr<KernelRequest> RequestOf(const Operator& op, const std::vector<HostTensor>& inputs,
                                        const std::vector<Format>& formats,
                                        const std::vector<bool>& constant) {
  KernelRequest request;
  request.op = &op;
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& input = inputs[i];
    TensorType type{input.dtype(), input.shape()};
    infos.push_back({type, &input});
    if (!formats.empty()) type.format = formats[i];
    const bool host_value = op.input_use(static_cast<int>(i)) == InputUse::kHostValue;
    request.inputs.push_back(type);
    request.constant.push_back(host_value || (!constant.empty() && constant[i]));
    request.host_values.push_back(host_value ? &input : nullptr);
  }
  ASHLAR_ASSIGN_OR_RETURN(request.outputs, op.Infer(infos));
  return request;
}

}  // namespace ashlar::testing
