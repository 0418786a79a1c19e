// Compares gradients of random graphs of several operators with central differences.
// ASHLAR_RANDOM_CASES=1000 tries more graphs than a usual run. ASHLAR_RANDOM_SEED=N runs only the
// case with that number, as printed by a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/graph_builder.h"
#include "opr/batch_norm_training.h"
#include "opr/concat.h"
#include "opr/convolution.h"
#include "opr/cross_entropy.h"
#include "opr/cum_sum.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/layer_norm.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/table.h"
#include "tests/support/environment.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sanitized.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using F = ScalarFunction;

// Images to which operators are applied one after another; values stay within some units.
class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {
    const Shape shape = {Pick(1, 2), Pick(1, 3), Pick(2, 5), Pick(2, 5)};
    images_ = {Input(shape), Input(shape)};
    const int64_t operators = Pick(3, 8);
    for (int64_t i = 0; i < operators; ++i) AddOperator();
    AddLoss();
  }

  ::testing::AssertionResult Check(int64_t* checked) {
    GradcheckOptions options;
    options.most_elements = 6;
    options.skip_kinks = true;
    options.checked = checked;
    return GradientsAgree(builder_, loss_, wrt_, values_, random_, options);
  }
  std::string ToString() const {
    std::string text;
    for (const OperatorNode& node : builder_.graph().nodes()) {
      if (node.op->role() != Role::kCompute) continue;
      absl::StrAppend(&text, " ", node.op->type(), "(", ashlar::ToString(node.op->params()), ")");
    }
    return text;
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return testing::Pick(random_, low, high); }
  const Shape& shape(int var) const { return builder_.graph().var(var).type.shape; }
  int Any() { return images_[static_cast<size_t>(Pick(0, int64_t(images_.size()) - 1))]; }

  int Input(const Shape& shape) {
    wrt_.push_back(AddInput(builder_, shape));
    values_.push_back(RandomTensor(random_, DType::kFloat64, shape, -1, 1));
    return wrt_.back();
  }
  int Constant(HostTensor value) {
    return Value(builder_.Add(Operators().MakeConstant(std::move(value)), {}))[0];
  }
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return Value(builder_.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs)))[0];
  }
  // Adds the operator, unless inference refuses it.
  template <typename Op>
  void Try(typename Op::Param param, std::vector<int> inputs) {
    const auto made = builder_.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs));
    if (made.ok()) images_.push_back((*made)[0]);
  }
  void Apply(F function, std::vector<int> inputs) {
    images_.push_back(Add<Elemwise>({function}, std::move(inputs)));
  }

  void AddOperator() {
    const int x = Pick(0, 2) == 0 ? Any() : images_.back();
    const Shape in = shape(x);
    switch (Pick(0, 12)) {
      case 0: {
        constexpr F kFunctions[] = {F::kTanh, F::kSigmoid,  F::kRelu,      F::kSilu,
                                    F::kGelu, F::kSoftplus, F::kSin,       F::kMish,
                                    F::kAbs,  F::kHSwish,   F::kLeakyRelu, F::kElu};
        return Apply(kFunctions[Pick(0, 11)], {x});
      }
      case 1: {
        constexpr F kFunctions[] = {F::kAdd, F::kSub, F::kMul, F::kMax, F::kFuseAddRelu, F::kPRelu};
        const Shape other = Pick(0, 1) == 0 ? in : Shape{1, in[1], 1, 1};
        return Apply(kFunctions[Pick(0, 5)], {x, Input(other)});
      }
      case 2: {
        ConvolutionParam param;
        param.stride_h = Pick(1, 2), param.pad_h = Pick(0, 1), param.pad_w = Pick(0, 1);
        param.dilate_w = Pick(1, 2);
        const Shape filter = {Pick(1, 3), in[1], Pick(1, 3), Pick(1, 3)};
        return Try<ConvolutionForward>(param, {x, Input(filter)});
      }
      case 3: {
        PoolingParam param;
        param.mode = static_cast<PoolingMode>(Pick(0, 2));
        param.stride_h = Pick(1, 2), param.stride_w = Pick(1, 2), param.pad_w = Pick(0, 1);
        return Try<PoolingForward>(param, {x});
      }
      case 4: {
        const Shape channels = {in[1]};
        return Try<BatchNormTraining>({0.1}, {x, Input(channels), Input(channels)});
      }
      case 5:
        return Try<LRN>({Pick(1, 4), 0.5, 0.75, 1}, {x});
      case 6:
        return Try<Softmax>({Pick(0, 3)}, {x});
      case 7:
        return Try<LayerNorm>({Pick(1, 3), 0.1}, {x});
      case 8:
        return Try<Dimshuffle>({{0, 1, 3, 2}}, {x});
      case 9:
        return Try<Pad>({static_cast<PadMode>(Pick(0, 2)), {0, 0, 1, 0}, {0, 0, Pick(-1, 1), 0}},
                        {x});
      case 10: {
        const int y = Any();
        const Shape& other = shape(y);
        if (other[0] == in[0] && other[2] == in[2] && other[3] == in[3]) {
          return Try<Concat>({1}, {x, y});
        }
        return Try<CumSum>({Pick(0, 3)}, {x});
      }
      case 11: {
        const int y = Any();
        if (Broadcast(shape(y), in).ok()) return Apply(F::kAdd, {x, y});
        return Try<Reduce>({static_cast<ReduceMode>(Pick(0, 1) * 5), Pick(1, 3)}, {x});
      }
      default:
        return Try<MatrixMul>({}, {x, Input({in[3], Pick(1, 4)})});
    }
  }

  // Adds a loss: a classification of the last image, so that it depends on chains of operators, and
  // a small share of all others.
  void AddLoss() {
    const int last = images_.back();
    const int64_t rows = shape(last)[0], columns = shape(last).num_elements() / rows;
    const int matrix = Add<Reshape>({}, {last, Constant(Int64Vector({rows, columns}))});
    const int64_t classes = Pick(2, 4);
    const int logits = Add<MatrixMul>({}, {matrix, Input({columns, classes})});
    const HostTensor labels =
        RandomTensor(random_, DType::kInt64, {rows}, 0, static_cast<double>(classes) - 0.01);
    const int loss = Add<CrossEntropy>({}, {logits, Constant(labels)});
    const int all = AddWeighedSum(builder_, images_, random_);
    loss_ = Add<Elemwise>({F::kAdd}, {loss, all});
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<int> images_, wrt_;
  std::vector<HostTensor> values_;
  int loss_ = 0;
};

TEST(GradientOfGraphs, IsThatByDifferences) {
  const int64_t only = NumberFrom("ASHLAR_RANDOM_SEED", -1);
  const int64_t cases = NumberFrom("ASHLAR_RANDOM_CASES", kSanitized ? 10 : 100);
  int64_t checked = 0;
  for (int64_t seed = std::max<int64_t>(only, 0); seed < (only < 0 ? cases : only + 1); ++seed) {
    RandomGraph graph(static_cast<uint64_t>(seed));
    EXPECT_TRUE(graph.Check(&checked))
        << "again: ASHLAR_RANDOM_SEED=" << seed << ":" << graph.ToString();
  }
  std::printf("%lld elements checked\n", static_cast<long long>(checked));
  if (only >= 0) return;
  EXPECT_GT(checked, 10 * cases) << "kinks must be few";
}

}  // namespace
}  // namespace ashlar::testing
