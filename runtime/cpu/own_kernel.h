// Ashlar's own kernels: a name and a function.
#ifndef ASHLAR_RUNTIME_CPU_OWN_KERNEL_H_
#define ASHLAR_RUNTIME_CPU_OWN_KERNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// A kernel whose `run` cannot fail, allocates nothing and keeps no state between runs.
class OwnKernel final : public Kernel {
 public:
  using Function = std::function<void(const KernelArgs&)>;
  OwnKernel(std::string implementation, Function run, int64_t workspace_bytes = 0,
            double relative_time = 1.0)
      : implementation_(std::move(implementation)),
        run_(std::move(run)),
        workspace_bytes_(workspace_bytes),
        relative_time_(relative_time) {}

  std::string implementation() const override { return implementation_; }
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  double relative_time() const override { return relative_time_; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    run_(args);
    return absl::OkStatus();
  }

 private:
  std::string implementation_;
  Function run_;
  int64_t workspace_bytes_;
  double relative_time_;
};

// Returns a list with the only kernel for a request.
inline KernelList OnlyKernel(std::string implementation, OwnKernel::Function run,
                             int64_t workspace_bytes = 0) {
  KernelList kernels;
  kernels.push_back(
      std::make_unique<OwnKernel>(std::move(implementation), std::move(run), workspace_bytes));
  return kernels;
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_OWN_KERNEL_H_
