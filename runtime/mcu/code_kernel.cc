#include "runtime/mcu/code_kernel.h"

namespace ashlar::mcu {

std::string CodeKernel::implementation() const {
  return calls_.empty() ? "c99:nothing" : absl::StrCat("c99:", calls_[0].name);
}

absl::Status CodeKernel::Pack(int /*input*/, const HostTensor& value, void* packed) const {
  reorder_(value, packed);
  return absl::OkStatus();
}

absl::Status CodeKernel::Run(const KernelArgs& args, KernelState* /*state*/) const {
  for (const CodeCall& call : calls_) {
    void* pointers[CodeCall::kMostOperands] = {};
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const CodeOperand& operand = call.operands[i];
      if (operand.kind == CodeOperand::Kind::kNull) continue;
      const auto index = static_cast<size_t>(operand.index);
      // The functions take inputs and tables as pointers to const.
      void* const base = operand.kind == CodeOperand::Kind::kInput
                             ? const_cast<void*>(args.inputs[index])
                         : operand.kind == CodeOperand::Kind::kOutput
                             ? args.outputs[index]
                             : const_cast<char*>(tables_[index].bytes.data());
      if (base != nullptr) pointers[i] = static_cast<char*>(base) + operand.offset;
    }
    void* const written = pointers[call.operands.size() - 1];
    if (written == nullptr || (call.is_copy && written == pointers[0])) continue;
    call.run(pointers);
  }
  return absl::OkStatus();
}

KernelList OnlyKernel(std::vector<CodeCall> calls, std::vector<CodeTable> tables) {
  KernelList kernels;
  kernels.push_back(std::make_unique<CodeKernel>(std::move(calls), std::move(tables)));
  return kernels;
}

}  // namespace ashlar::mcu
