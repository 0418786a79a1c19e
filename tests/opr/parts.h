// Parts of an operator's output, made of parts of its input.
#ifndef ASHLAR_TESTS_OPR_PARTS_H_
#define ASHLAR_TESTS_OPR_PARTS_H_

#include <vector>

#include "graph/operator.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

// Output 0 and input 0 are Float32 and cut along dimensions 2 and 3; other inputs are given whole.
struct Part {
  OwnedSite site;
  Region wanted;  // of the output
  Region needed;  // of input 0, as the operator names it
};

// A random part of `whole`, what `op` makes of `inputs`.
Part RandomPart(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                const HostTensor& whole);

// Expects the part of `whole` when made of what it needs of `inputs`, and of up to `more` rows and
// columns beyond at every side.
void ExpectPartOfTheWhole(Random& random, const Operator& op, const std::vector<HostTensor>& inputs,
                          const HostTensor& whole, const Part& part, int64_t more);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_PARTS_H_
