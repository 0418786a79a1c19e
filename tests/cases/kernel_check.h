// Checks kernels of a device against the evaluation of their operators.
#ifndef ASHLAR_TESTS_CASES_KERNEL_CHECK_H_
#define ASHLAR_TESTS_CASES_KERNEL_CHECK_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/device/device.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

struct KernelOutcome {
  std::string implementation;
  int64_t workspace_bytes = 0;
  std::vector<std::string> outputs = {};  // bytes of the outputs of the last run
};

// Runs every kernel that the device has for the case twice, and once more as a recording if the
// device has streams. Expects:
// - outputs within the case's tolerance, and zeros in the padding of channels;
// - unchanged inputs, and no byte written outside of outputs and workspace;
// - on the host, from the second run on, no allocations except by libraries.
// Adds failures to the running test, with a description of the case.
std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test);
// Does the same with the kernels that the device has for a processor whose plans it runs. If `only`
// is not empty, with that implementation alone; then there may be none.
std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test,
                                        const Processor& processor, absl::string_view only = "");

// Runs concatenations whose first input overlaps the output at every distance (Aliasing::Move), on
// a device with the host's memory.
void CheckMoves(Device& device);

// Returns the operator's type, as the name of a test of its cases.
inline std::string TypeOf(const ::testing::TestParamInfo<CaseFile>& info) {
  return info.param.type;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_KERNEL_CHECK_H_
