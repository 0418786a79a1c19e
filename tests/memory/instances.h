// Instances of problems and checks of their plans, for tests of single algorithms.
#ifndef ASHLAR_TESTS_MEMORY_INSTANCES_H_
#define ASHLAR_TESTS_MEMORY_INSTANCES_H_

#include <gtest/gtest.h>

#include "absl/functional/function_ref.h"
#include "memory/problem/instance.h"
#include "memory/problem/validator.h"
#include "tests/memory/problems.h"

namespace ashlar::memory::testing {

// `problem` is valid.
inline Instance InstanceOf(const Problem& problem) { return *Instance::Create(problem); }

inline ::testing::AssertionResult IsValid(const Problem& problem, const Plan& plan) {
  const Verdict verdict = ValidatePlan(problem, plan);
  if (verdict.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << verdict.message;
}

// Runs `test` on random problems of all kinds in turn, until the first fatal failure.
inline void ForRandomProblems(
    uint32_t count, absl::FunctionRef<void(uint32_t seed, const Problem&, const Instance&)> test,
    const Variety& variety = {.buffers = 120, .steps = 60, .largest = 1000}) {
  for (uint32_t seed = 0; seed < count && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem = RandomProblemInTurn(seed, variety);
    test(seed, problem, InstanceOf(problem));
  }
}

}  // namespace ashlar::memory::testing

#endif  // ASHLAR_TESTS_MEMORY_INSTANCES_H_
