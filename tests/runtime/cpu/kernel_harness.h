// Kernels of the CPU checked against the reference evaluation of their operators.
#ifndef ASHLAR_TESTS_RUNTIME_CPU_KERNEL_HARNESS_H_
#define ASHLAR_TESTS_RUNTIME_CPU_KERNEL_HARNESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/operator.h"
#include "tests/support/tensors.h"

namespace ashlar::cpu {

// An operator on given tensors. Tensors are row-major here, whatever format the kernel sees.
struct KernelCase {
  OperatorPtr op = {};
  std::vector<HostTensor> inputs = {};
  std::vector<Format> formats = {};  // by input; empty: all kDefault
  Format output_format = Format::kDefault;
  std::vector<bool> constant = {};   // by input, so that it may be packed; empty: none
  std::optional<int> in_place = {};  // this input and output 0 share their memory
  int threads = 1;
  bool unaligned = false;                 // tensors begin at odd elements instead of cache lines
  std::vector<HostTensor> expected = {};  // empty: by Operator::Evaluate
  // Errors are relative to the expected value, or to this where it is smaller; negative: the root
  // mean square of the expected tensor, which suits sums that cancel.
  double floor = -1;
};

struct KernelOutcome {
  std::string implementation;
  int64_t workspace_bytes = 0;
  double worst_error = 0;                 // relative, over all outputs
  std::vector<std::string> outputs = {};  // of the last run, their bytes
};

// Runs every kernel that the CPU has for the case, each twice, and expects of each run: outputs
// within `tolerance`, zeros in the padding of channels, inputs as they were, not a byte written
// outside outputs and workspace, and from the second on nothing allocated but by libraries.
// Failures are added to the running test, with the case in words.
std::vector<KernelOutcome> CheckKernels(const KernelCase& test, double tolerance);

using testing::RandomTensor;

}  // namespace ashlar::cpu

#endif  // ASHLAR_TESTS_RUNTIME_CPU_KERNEL_HARNESS_H_
