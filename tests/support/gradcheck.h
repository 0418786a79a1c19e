// Compares gradients with central differences, both in Float64 by host evaluation.
#ifndef ASHLAR_TESTS_SUPPORT_GRADCHECK_H_
#define ASHLAR_TESTS_SUPPORT_GRADCHECK_H_

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "graph/graph_builder.h"

namespace ashlar::testing {

struct GradcheckOptions {
  double step = 1e-6;
  double tolerance = 1e-6;    // error over max(1, |the difference quotient|)
  int64_t most_elements = 0;  // elements of each input to check, chosen at random; 0: all
  // Leaves out elements at which the differences to either side disagree: a kink is near.
  bool skip_kinks = false;
  int64_t* checked = nullptr;  // counts the elements that were compared
};

// Returns whether the gradients that Differentiate adds for `loss` by `wrt` agree with differences.
// `wrt` are inputs of the graph (Role kInput). `values`: the values of all inputs, in their order
// in the graph. An empty gradient stands for zeros. The failure names the input and the element.
::testing::AssertionResult GradientsAgree(const GraphBuilder& builder, int loss,
                                          const std::vector<int>& wrt,
                                          const std::vector<HostTensor>& values,
                                          std::mt19937_64& random, GradcheckOptions options = {});

// The same for one operator. Its loss is the sum of its floating-point outputs, each element times
// a random weight. Float64 inputs that are read on the device are differentiated; all others are
// constants.
::testing::AssertionResult GradientsAgree(const OperatorPtr& op,
                                          const std::vector<HostTensor>& inputs,
                                          std::mt19937_64& random, GradcheckOptions options = {});

int AddInput(GraphBuilder& builder, const Shape& shape, DType dtype = DType::kFloat64);
// Adds the sum of all elements of vars, each times a random weight: shape {1}.
int AddWeighedSum(GraphBuilder& builder, const std::vector<int>& vars, std::mt19937_64& random);

// Returns Float64 values in [low, high], evenly spaced in random order, none near 0. Comparisons of
// them are not near a kink.
HostTensor DistinctTensor(std::mt19937_64& random, const Shape& shape, double low = -1,
                          double high = 1);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_GRADCHECK_H_
