// Slices of an operator's output, computed from slices of its input.
#ifndef ASHLAR_TESTS_OPR_PARTS_H_
#define ASHLAR_TESTS_OPR_PARTS_H_

#include <vector>

#include "graph/operator.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

// A slice of output 0. Output 0 and input 0 have one type and are cut along dimensions 2 and 3;
// other inputs are given whole.
struct Part {
  OwnedSite site;
  Region wanted;  // of the output
  Region needed;  // of input 0, as the operator states it
};

// Returns a random slice of `whole`, the result of `op` on `inputs`.
Part RandomPart(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                const HostTensor& whole);

// Expects the slice of `whole`, computed from the needed region of `inputs` and from up to `more`
// additional rows and columns on every side.
void ExpectPartOfTheWhole(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                          const HostTensor& whole, const Part& part, int64_t more);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_PARTS_H_
