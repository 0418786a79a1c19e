// Random cases of a test, each from its own seed.
#ifndef ASHLAR_TESTS_OPR_SEEDS_H_
#define ASHLAR_TESTS_OPR_SEEDS_H_

#include <gtest/gtest.h>

#include "absl/functional/function_ref.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

// Runs `test` for the seeds 0 to `count` - 1, until the first fatal failure.
inline void ForSeeds(int count, absl::FunctionRef<void(int seed, Random& random)> test) {
  for (int seed = 0; seed < count && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    test(seed, random);
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_SEEDS_H_
