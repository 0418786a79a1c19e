// Small nets that learn, for tests.
#ifndef ASHLAR_TESTS_TRAINING_SMALL_NET_H_
#define ASHLAR_TESTS_TRAINING_SMALL_NET_H_

#include <random>
#include <string>
#include <utility>

#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/reshape.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// Builds nets with random weights.
class Net : public GraphMaker {
 public:
  int Weight(const Shape& shape, double from = -0.2, double to = 0.2) {
    return Add(Operators().MakeConstant(RandomTensor(random_, shape, from, to)), {});
  }
  int Convolution(int x, int64_t channels, int64_t window, int64_t stride = 1,
                  const std::string& name = "") {
    ConvolutionParam param;
    param.pad_h = param.pad_w = window / 2;
    param.stride_h = param.stride_w = stride;
    const int weight = Weight({channels, var(x).type.shape[1], window, window});
    return GraphMaker::Add<ConvolutionForward>(param, {x, weight}, name);
  }
  int Norm(int x) {
    const Shape channels = {var(x).type.shape[1]};
    return GraphMaker::Add<BatchNorm>({1e-5}, {x, Weight(channels, 0.5, 1), Weight(channels),
                                               Weight(channels), Weight(channels, 0.5, 1)});
  }
  int Depthwise(int x) {
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    param.sparse = SparseMode::kGroup;
    const int weight = Weight({var(x).type.shape[1], 1, 1, 3, 3});
    return GraphMaker::Add<ConvolutionForward>(param, {x, weight});
  }
  int Clamp(int x) { return GraphMaker::Add<Elemwise>({ScalarFunction::kClamp}, {x}); }
  int Relu(int x, const std::string& name = "") {
    return GraphMaker::Add<Elemwise>({ScalarFunction::kRelu}, {x}, name);
  }
  // Returns the logits of three classes.
  Graph Classes(int x) && {
    const Shape& shape = var(x).type.shape;
    const int64_t features = shape.num_elements() / shape[0];
    const int flat =
        Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {int64_t{-1}, features}));
    x = GraphMaker::Add<Reshape>({}, {x, flat});
    Output(GraphMaker::Add<MatrixMul>({}, {x, Weight({features, 3})}));
    return std::move(*this).Build();
  }

 private:
  std::mt19937_64 random_{3};
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_TRAINING_SMALL_NET_H_
