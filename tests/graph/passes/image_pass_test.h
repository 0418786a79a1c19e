// A fixture for passes over convolutions: convolutions of one small image.
#ifndef ASHLAR_TESTS_GRAPH_PASSES_IMAGE_PASS_TEST_H_
#define ASHLAR_TESTS_GRAPH_PASSES_IMAGE_PASS_TEST_H_

#include <string>
#include <utility>

#include "opr/convolution.h"
#include "tests/graph/passes/pass_test.h"

namespace ashlar::testing {

class ImagePassTest : public PassTest {
 protected:
  using Rewrite = absl::StatusOr<Graph> (*)(const Graph&, const OperatorTable&);

  // Adds a convolution that keeps the size of the image.
  int Conv(int x, int64_t in_channels, int64_t out_channels, const std::string& name = "") {
    return make_.Add<ConvolutionForward>({.pad_h = 1, .pad_w = 1},
                                         {x, Random({out_channels, in_channels, 3, 3})}, name);
  }
  // Returns the rewritten graph; expects the same output as before.
  Graph Rewritten(Rewrite pass, int output) {
    make_.Output(output);
    const Graph before = std::move(make_).Build();
    Graph after = Value(pass(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 5, 6}), 1e-5);
    return after;
  }

  int x_ = make_.Input("x", {2, 3, 5, 6});
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_GRAPH_PASSES_IMAGE_PASS_TEST_H_
