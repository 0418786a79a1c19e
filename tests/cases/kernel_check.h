// Kernels of a device checked against what their operators mean.
#ifndef ASHLAR_TESTS_CASES_KERNEL_CHECK_H_
#define ASHLAR_TESTS_CASES_KERNEL_CHECK_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

struct KernelOutcome {
  std::string implementation;
  int64_t workspace_bytes = 0;
  std::vector<std::string> outputs = {};  // of the last run, their bytes
};

// Runs every kernel that the device has for the case, twice, and where it has streams once more
// recorded. Expects outputs within the case's tolerance, zeros in the padding of channels, inputs
// as they were, not a byte written outside outputs and workspace, and on the host from the second
// run on nothing allocated but by libraries. Failures are added to the running test, with the case
// in words.
std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test);
// The kernels that it has for a processor that it runs the plans of.
std::vector<KernelOutcome> CheckKernels(Device& device, const KernelCase& test,
                                        const Processor& processor);

// The operator's type, as the name of a test of its cases.
inline std::string TypeOf(const ::testing::TestParamInfo<CaseFile>& info) {
  return info.param.type;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_KERNEL_CHECK_H_
