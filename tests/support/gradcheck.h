// Gradients against central differences, both in Float64 by host evaluation.
#ifndef ASHLAR_TESTS_SUPPORT_GRADCHECK_H_
#define ASHLAR_TESTS_SUPPORT_GRADCHECK_H_

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "graph/graph.h"

namespace ashlar::testing {

struct GradcheckOptions {
  double step = 1e-6;
  double tolerance = 1e-6;    // of the error over max(1, |the difference quotient|)
  int64_t most_elements = 0;  // of each input, chosen at random; 0: all
  // Leaves out elements at which the differences to either side are not alike, as kinks are near.
  bool skip_kinks = false;
  int64_t* checked = nullptr;  // counts the elements that were compared
};

// Whether the gradients that Differentiate adds for `loss` by `wrt`, inputs of the graph (Role
// kInput), are those by differences. `values`: of all inputs, by their order in the graph. An
// empty gradient stands for zeros. The failure names the input and the element.
::testing::AssertionResult GradientsAgree(const GraphBuilder& builder, int loss,
                                          const std::vector<int>& wrt,
                                          const std::vector<HostTensor>& values,
                                          std::mt19937_64& random, GradcheckOptions options = {});

// The same for one operator, whose loss is the sum of its outputs of floats, each element times a
// number of its own. Inputs of Float64 that are read on the device are differentiated, all others
// are constants.
::testing::AssertionResult GradientsAgree(const OperatorPtr& op,
                                          const std::vector<HostTensor>& inputs,
                                          std::mt19937_64& random, GradcheckOptions options = {});

int AddInput(GraphBuilder& builder, const Shape& shape, DType dtype = DType::kFloat64);
// Adds the sum of all elements of vars, each times a number of its own: {1}.
int AddWeighedSum(GraphBuilder& builder, const std::vector<int>& vars, std::mt19937_64& random);

// Float64 in [low, high], evenly spaced and in any order, none near 0:
// nothing that compares them is near a kink.
HostTensor DistinctTensor(std::mt19937_64& random, const Shape& shape, double low = -1,
                          double high = 1);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_GRADCHECK_H_
