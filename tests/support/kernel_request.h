// Builds a kernel request from values, and measures the error of the result.
#ifndef ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
#define ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/kernel.h"

namespace ashlar::testing {

// Returns a request with each input's format (none given: all kDefault) and whether it may be
// packed (none given: none); outputs are row-major. `op` and `inputs` must outlive the request.
absl::StatusOr<KernelRequest> RequestOf(const Operator& op, const std::vector<HostTensor>& inputs,
                                        const std::vector<Format>& formats,
                                        const std::vector<bool>& constant);

// Returns false for convolutions and products, which libraries compute too: their results after a
// ReLU have zeros of either sign.
bool SignsOfZerosCount(const Operator& op);

// Returns the largest error of an element relative to its value, or to `floor` if that is larger. A
// negative floor stands for the root mean square of the tensor. NaN is right if it is expected.
// With `signs`, a zero of the wrong sign is an infinite error.
double WorstError(const HostTensor& got, const HostTensor& want, double floor, bool signs);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
