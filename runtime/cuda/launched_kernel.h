// Our own kernels: a name and a launch.
#ifndef ASHLAR_RUNTIME_CUDA_LAUNCHED_KERNEL_H_
#define ASHLAR_RUNTIME_CUDA_LAUNCHED_KERNEL_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "graph/status.h"
#include "runtime/cuda/launch.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// A stream with the handle on which kernels launch.
class CudaStream : public Stream {
 public:
  virtual void* handle() const = 0;  // a cudaStream_t
};

inline absl::Status ToStatus(LaunchError error) {
  return error == nullptr ? absl::OkStatus() : absl::InternalError(absl::StrCat("CUDA: ", error));
}

class LaunchedKernel final : public Kernel {
 public:
  using Function = std::function<LaunchError(const KernelArgs& args, void* stream)>;
  LaunchedKernel(std::string implementation, Function launch, double relative_time)
      : implementation_(std::move(implementation)),
        launch_(std::move(launch)),
        relative_time_(relative_time) {}

  std::string implementation() const override { return implementation_; }
  double relative_time() const override { return relative_time_; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    return ToStatus(launch_(args, static_cast<CudaStream*>(args.stream)->handle()));
  }

 private:
  std::string implementation_;
  Function launch_;
  double relative_time_;
};

// Returns a list with the only kernel for a request.
inline KernelList OnlyLaunch(std::string implementation, LaunchedKernel::Function launch) {
  KernelList kernels;
  kernels.push_back(
      std::make_unique<LaunchedKernel>(std::move(implementation), std::move(launch), 1.0));
  return kernels;
}

// The same for parameters without pointers: `bind` sets the pointers in a copy of `params`.
template <typename Params, typename Bind>
KernelList OnlyLaunch(std::string implementation, const Params& params, Bind bind) {
  return OnlyLaunch(std::move(implementation),
                    [params, bind = std::move(bind)](const KernelArgs& args, void* stream) {
                      Params bound = params;
                      bind(bound, args);
                      return Launch(bound, stream);
                    });
}

// The same for a launch that reads input 0 and writes output 0.
template <typename Params>
KernelList OnlyLaunchOnFirst(std::string implementation, const Params& params) {
  return OnlyLaunch(std::move(implementation), params, [](Params& bound, const KernelArgs& args) {
    bound.in = args.inputs[0];
    bound.out = static_cast<decltype(bound.out)>(args.outputs[0]);
  });
}

// Checks that input 0 has the format of the output, for kernels that read it in that order.
inline absl::Status CheckSameFormat(const KernelRequest& request) {
  if (request.inputs[0].format == request.outputs[0].format) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("from ", request.inputs[0].ToString(), " to ", request.outputs[0].ToString()));
}

// Returns a kernel that does nothing, for requests without elements.
inline KernelList NoLaunch() {
  return OnlyLaunch("nothing", [](const KernelArgs&, void*) -> LaunchError { return nullptr; });
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_LAUNCHED_KERNEL_H_
