// A request for a kernel, made of values, and the error of its answer.
#ifndef ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
#define ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/kernel.h"

namespace ashlar::testing {

// By input its format (none given: all kDefault) and whether it may be packed (none given: none);
// outputs are row-major. `op` and `inputs` have to outlive the request.
absl::StatusOr<KernelRequest> RequestOf(const Operator& op, const std::vector<HostTensor>& inputs,
                                        const std::vector<Format>& formats,
                                        const std::vector<bool>& constant);

// False for convolutions and products, which libraries compute, too: theirs have zeros of any sign
// behind a ReLU.
bool SignsOfZerosCount(const Operator& op);

// The largest error of an element over its value, or over `floor` where that is larger; a negative
// floor stands for the root mean square of the tensor. NaN is right where it is wanted. With
// `signs`, a zero of the other sign is infinitely wrong.
double WorstError(const HostTensor& got, const HostTensor& want, double floor, bool signs);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
