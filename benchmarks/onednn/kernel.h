// oneDNN's kernels with Ashlar's kernel interface, as peers of its own: shared code.
//
// oneDNN's C++ interface throws. It is called only while kernels and states are created, always
// inside CallOneDnn. Runs use the C interface, which does not throw.
#ifndef ASHLAR_BENCHMARKS_ONEDNN_KERNEL_H_
#define ASHLAR_BENCHMARKS_ONEDNN_KERNEL_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/device/kernel.h"

namespace ashlar::onednn {

// Runs `body`; converts an exception of oneDNN to a status that begins with `what`.
template <typename Body>
absl::Status CallOneDnn(absl::string_view what, Body&& body) {
  try {
    std::forward<Body>(body)();
    return absl::OkStatus();
  } catch (const dnnl::error& error) {
    const std::string message = absl::StrCat(what, ": oneDNN: ", error.message);
    if (error.status == dnnl_out_of_memory) return absl::ResourceExhaustedError(message);
    return absl::InternalError(message);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

// Returns the process's CPU engine.
const dnnl::engine& OneDnnEngine();

// Returns attributes with a scratchpad from the caller, so that it is part of the memory plan.
dnnl::primitive_attr OneDnnAttributes();

// Whether oneDNN supports the dtype; whether it has more than reference code for the format.
bool OneDnnSupports(DType dtype);
inline bool OneDnnSupports(Format format) { return format != Format::kNHCW16c; }

// Returns oneDNN's descriptor of a type. kDefault: row-major; kNCHW16c: nChw16c with the logical
// number of channels. Throws if OneDnnSupports refuses the dtype; never with kNCHW16c.
dnnl::memory::desc OneDnnDesc(const TensorType& type);

// Returns a name of the layout: equal for equal descriptors only.
std::string PackingKey(const dnnl::memory::desc& desc);

// Copies from one layout to another. Allocates: only for weights, which are packed once.
absl::Status OneDnnReorder(const dnnl::memory::desc& from, const void* source,
                           const dnnl::memory::desc& to, void* target);

// Calls visit(pd) for `pd`, which may be empty, and for each further implementation of the same
// primitive, in oneDNN's order: fastest first. Leaves out reference code: if nothing is visited,
// oneDNN has no useful kernel.
template <typename PrimitiveDesc, typename Visit>
void ForEachImplementation(PrimitiveDesc pd, Visit&& visit) {
  if (!pd) return;
  do {
    if (!absl::StrContains(pd.impl_info_str(), "ref")) visit(std::as_const(pd));
  } while (pd.next_impl());
}

// An argument of a primitive, DNNL_ARG_SRC and so on, and the operator's tensor for it.
struct OneDnnArgument {
  enum class Tensor { kInput, kOutput };
  int arg = 0;
  Tensor tensor = Tensor::kInput;
  int index = 0;
  dnnl::memory::desc desc;
};

inline OneDnnArgument OneDnnInput(int arg, int index, dnnl::memory::desc desc) {
  return {arg, OneDnnArgument::Tensor::kInput, index, std::move(desc)};
}
inline OneDnnArgument OneDnnOutput(int arg, int index, dnnl::memory::desc desc) {
  return {arg, OneDnnArgument::Tensor::kOutput, index, std::move(desc)};
}

// A primitive as a kernel. A session stores the memory objects, which each run points at its
// tensors. The primitive, whose code is generated, is created with the first state: so unused
// candidates cost little.
class OneDnnKernel : public Kernel {
 public:
  // May throw. `pd` must have been created with OneDnnAttributes.
  OneDnnKernel(const dnnl::primitive_desc_base& pd, std::vector<OneDnnArgument> arguments,
               double relative_time = 1.0);

  std::string implementation() const override { return implementation_; }
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  double relative_time() const override { return relative_time_; }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override;
  absl::Status Run(const KernelArgs& args, KernelState* state) const override;

 protected:
  const std::vector<OneDnnArgument>& arguments() const { return arguments_; }

 private:
  dnnl::primitive_desc_base pd_;
  mutable std::once_flag made_;
  mutable dnnl::primitive primitive_;
  std::string implementation_;
  dnnl::memory::desc scratchpad_;
  int64_t workspace_bytes_ = 0;
  std::vector<OneDnnArgument> arguments_;
  double relative_time_;
};

}  // namespace ashlar::onednn

#endif  // ASHLAR_BENCHMARKS_ONEDNN_KERNEL_H_
