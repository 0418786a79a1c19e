// Compares the outputs of a network on candidates with its outputs on the kernels that are expected
// to be best. Libraries offer kernels that compute other values (an engine of cuDNN 9.19 that is
// compiled at run time gives no numbers for some sigmoids): such a kernel must not be chosen for
// its speed.
#ifndef ASHLAR_RUNTIME_MEASURE_OUTPUT_CHECK_H_
#define ASHLAR_RUNTIME_MEASURE_OUTPUT_CHECK_H_

#include <vector>

#include "graph/tensor.h"

namespace ashlar {

class OutputCheck {
 public:
  // `expected`: outputs to compare with. `rounds`: whether values are rounded to 16 bits or TF32 in
  // between, which many layers may enlarge: then half of an output's largest element is allowed,
  // and otherwise a hundredth.
  OutputCheck(std::vector<HostTensor> expected, bool rounds);

  // Returns whether all elements are near the expected ones, except where these are infinite or no
  // numbers.
  bool Agrees(const std::vector<HostTensor>& outputs) const;

 private:
  std::vector<HostTensor> expected_;
  double tolerance_;  // over the largest element
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_OUTPUT_CHECK_H_
