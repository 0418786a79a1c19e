// Inputs of several dtypes that inference refuses; Rejection suffices for Float32 alone.
#ifndef ASHLAR_TESTS_OPR_REFUSAL_H_
#define ASHLAR_TESTS_OPR_REFUSAL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/operator.h"
#include "tests/support/status.h"

namespace ashlar::testing {

// Expects that inference refuses inputs of these types, with an error that contains `message`.
inline void ExpectRefused(const Operator& op, const std::vector<TensorType>& types,
                          const std::string& message) {
  std::vector<InputInfo> inputs;
  for (const TensorType& type : types) inputs.push_back({type});
  EXPECT_TRUE(FailsWith(op.Infer(inputs).status(), message)) << message;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_OPR_REFUSAL_H_
