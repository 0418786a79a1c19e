// What a kernel is asked for, made of values.
#ifndef ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
#define ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel.h"

namespace ashlar::testing {

// By input its format (none given: all kDefault) and whether it may be packed (none given: none);
// outputs are row-major. `op` and `inputs` have to outlive the request.
absl::StatusOr<KernelRequest> RequestOf(const Operator& op, const std::vector<HostTensor>& inputs,
                                        const std::vector<Format>& formats,
                                        const std::vector<bool>& constant);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_KERNEL_REQUEST_H_
