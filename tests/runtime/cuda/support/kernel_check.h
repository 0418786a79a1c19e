// Kernels of a device with streams checked against the reference evaluation of their operators.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_KERNEL_CHECK_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_KERNEL_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/operator.h"
#include "runtime/device/device.h"

namespace ashlar::testing {

// An operator on given tensors. Tensors are row-major here, whatever format the kernel sees.
struct KernelCase {
  std::string name;
  OperatorPtr op;
  std::vector<HostTensor> inputs;
  std::vector<Format> formats = {};  // by input; empty: all kDefault
  Format output_format = Format::kDefault;
  std::vector<bool> constant = {};   // by input, so that it may be packed; empty: none
  std::optional<int> in_place = {};  // this input and output 0 share their memory
  KernelPolicy policy = {};
  // Of an element's error over its value, or over the root mean square of the tensor where that is
  // larger.
  double tolerance = 1e-5;
};

// Runs every kernel that the device has for the case: twice as it is and once recorded. Expects
// outputs within the tolerance, inputs as they were, and not a byte written outside outputs and
// workspace. Failures are added to the running test, with the case in words. Returns the names of
// the implementations.
std::vector<std::string> CheckKernels(Device& device, const KernelCase& test);

// Cases of every operator that computes or moves: all modes and formats, and dtypes that the
// operator takes. Made from `seed`.
std::vector<KernelCase> AllCases(uint64_t seed);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_SUPPORT_KERNEL_CHECK_H_
