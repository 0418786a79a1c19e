#include "runtime/cpu/float16_kernel.h"

#include <algorithm>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kKernelLine = 64;  // bytes; copies are aligned to it

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, kKernelLine); }

// A Float32 copy in workspace. A tensor of other types than 16-bit floats stays in place.
struct Copy {
  int64_t offset = 0, elements = 0;
  bool used = false;
  WidenFunction widen = nullptr;
  NarrowFunction narrow = nullptr;
};

class InFloats final : public Kernel {
 public:
  InFloats(std::unique_ptr<Kernel> kernel, const KernelRequest& request)
      : kernel_(std::move(kernel)), threads_(request.threads) {
    workspace_bytes_ = Aligned(kernel_->workspace_bytes());
    const Isa isa = request.processor.isa;
    const auto copy_of = [&](const TensorType& type, int64_t offset, bool used) {
      return Copy{offset, type.bytes() / kHalfBytes, used, WidenFor(type.dtype, isa),
                  NarrowFor(type.dtype, isa)};
    };
    const auto place = [&](const TensorType& type, bool used) {
      const Copy copy = copy_of(type, workspace_bytes_, used);
      if (used) workspace_bytes_ += Aligned(copy.elements * kFloatBytes);
      return copy;
    };
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const TensorType& type = request.inputs[i];
      const int index = static_cast<int>(i);
      const bool is_half =
          Is16BitFloat(type.dtype) && request.op->input_use(index) == InputUse::kDeviceValue;
      const bool constant = is_half && request.constant[i] &&
                            (type.format == Format::kDefault || kernel_->packing(index));
      inputs_.push_back(place(type, is_half && !constant));
      constants_.push_back(copy_of(type, 0, constant));
    }
    for (const TensorType& type : request.outputs) {
      outputs_.push_back(place(type, Is16BitFloat(type.dtype)));
    }
    pointers_ = workspace_bytes_;
    workspace_bytes_ +=
        static_cast<int64_t>((inputs_.size() + outputs_.size()) * sizeof(const void*));
  }

  std::string implementation() const override { return kernel_->implementation(); }
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  double relative_time() const override { return kernel_->relative_time(); }
  double relative_arithmetic() const override { return kernel_->relative_arithmetic(); }

  std::optional<Packing> packing(int input) const override {
    std::optional<Packing> packing = kernel_->packing(input);
    const Copy& constant = constants_[static_cast<size_t>(input)];
    if (!packing && constant.used) packing = Packing{"floats", constant.elements * kFloatBytes};
    return packing;
  }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override {
    const Copy& constant = constants_[static_cast<size_t>(input)];
    if (!constant.used) return kernel_->Pack(input, value, packed);
    const uint16_t* const halves = value.data<uint16_t>().data();
    if (!kernel_->packing(input)) {
      constant.widen(halves, static_cast<float*>(packed), value.num_elements());
      return absl::OkStatus();
    }
    HostTensor wide = HostTensor::Zeros(DType::kFloat32, value.shape());
    constant.widen(halves, wide.mutable_data<float>().data(), value.num_elements());
    return kernel_->Pack(input, wide, packed);
  }

  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return kernel_->NewState();
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    char* const workspace = static_cast<char*>(args.workspace);
    const void** const inputs = reinterpret_cast<const void**>(workspace + pointers_);
    void** const outputs = reinterpret_cast<void**>(workspace + pointers_) + inputs_.size();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Copy& copy = inputs_[i];
      inputs[i] = args.inputs[i];
      if (!copy.used || args.inputs[i] == nullptr) continue;
      float* const to = reinterpret_cast<float*>(workspace + copy.offset);
      const auto* const from = static_cast<const uint16_t*>(args.inputs[i]);
      ParallelFor(threads_, copy.elements, kElementsPerThread, [&](int64_t begin, int64_t end) {
        copy.widen(from + begin, to + begin, end - begin);
      });
      inputs[i] = to;
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const bool copied = outputs_[i].used && args.outputs[i] != nullptr;
      outputs[i] = copied ? workspace + outputs_[i].offset : args.outputs[i];
    }
    ASHLAR_RETURN_IF_ERROR(kernel_->Run({.inputs = {inputs, inputs_.size()},
                                         .outputs = {outputs, outputs_.size()},
                                         .workspace = workspace,
                                         .stream = args.stream},
                                        state));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs[i] == args.outputs[i]) continue;
      const auto* const from = static_cast<const float*>(outputs[i]);
      auto* const to = static_cast<uint16_t*>(args.outputs[i]);
      const Copy& copy = outputs_[i];
      ParallelFor(threads_, copy.elements, kElementsPerThread, [&](int64_t begin, int64_t end) {
        copy.narrow(from + begin, to + begin, end - begin);
      });
    }
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const int threads_;
  std::vector<Copy> inputs_, outputs_;
  std::vector<Copy> constants_;  // by input: stored as Float32, or packed from it
  int64_t workspace_bytes_ = 0;
  int64_t pointers_ = 0;  // workspace offset of the pointers to the tensors
};

// Returns the request in Float32. Returns nullopt if it has no tensor of 16-bit floats, or if the
// operator then computes a different result.
std::optional<KernelRequest> InFloat32(const KernelRequest& request) {
  KernelRequest wide = request;
  bool any = false;
  const auto widen = [&](TensorType& type) {
    if (!Is16BitFloat(type.dtype)) return;
    any = true;
    type.dtype = DType::kFloat32;
  };
  for (size_t i = 0; i < wide.inputs.size(); ++i) {
    const DType dtype = request.inputs[i].dtype;
    wide.exact_in.push_back(request.constant[i] && Is16BitFloat(dtype) ? dtype : DType::kFloat32);
    if (request.op->input_use(static_cast<int>(i)) != InputUse::kHostValue) widen(wide.inputs[i]);
  }
  for (TensorType& type : wide.outputs) widen(type);
  if (!any) return std::nullopt;
  const absl::StatusOr<std::vector<TensorType>> outputs = request.op->Infer(wide.infos());
  if (!outputs.ok() || outputs->size() != wide.outputs.size()) return std::nullopt;
  for (size_t i = 0; i < outputs->size(); ++i) {
    if ((*outputs)[i].dtype != wide.outputs[i].dtype) return std::nullopt;
  }
  return wide;
}

}  // namespace

KernelFactory With16BitFloats(KernelFactory factory) {
  return
      [factory = std::move(factory)](const KernelRequest& request) -> absl::StatusOr<KernelList> {
        absl::StatusOr<KernelList> kernels = factory(request);
        if (kernels.ok() || !absl::IsUnimplemented(kernels.status())) return kernels;
        const std::optional<KernelRequest> wide = InFloat32(request);
        if (!wide) return kernels;
        ASHLAR_ASSIGN_OR_RETURN(KernelList of_floats, factory(*wide));
        KernelList list;
        for (std::unique_ptr<Kernel>& kernel : of_floats) {
          list.push_back(std::make_unique<InFloats>(std::move(kernel), request));
        }
        return list;
      };
}

}  // namespace ashlar::cpu
