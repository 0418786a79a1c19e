// A kernel that does nothing, for tests of the choice among kernels.
#ifndef ASHLAR_TESTS_SUPPORT_FAKE_KERNEL_H_
#define ASHLAR_TESTS_SUPPORT_FAKE_KERNEL_H_

#include <cstdint>
#include <string>

#include "runtime/device/kernel.h"

namespace ashlar::testing {

class FakeKernel : public Kernel {
 public:
  FakeKernel(double time, int64_t workspace) : time_(time), workspace_(workspace) {}
  std::string implementation() const override { return "fake"; }
  double relative_time() const override { return time_; }
  int64_t workspace_bytes() const override { return workspace_; }
  absl::Status Run(const KernelArgs&, KernelState*) const override { return absl::OkStatus(); }

 private:
  const double time_;
  const int64_t workspace_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_FAKE_KERNEL_H_
