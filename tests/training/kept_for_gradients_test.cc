// Rewrites of the tensors that gradients read: the same values, with fewer saved bytes.
#include "training/kept_for_gradients.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "opr/batch_norm_training.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/pooling.h"
#include "tests/support/gradcheck.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

// A loss of a few layers, and its gradients by all inputs.
class Way {
 public:
  explicit Way(uint64_t seed) : random_(seed) {}

  int Input(const Shape& shape) {
    wrt_.push_back(AddInput(builder_, shape));
    values_.push_back(RandomTensor(random_, DType::kFloat64, shape, -1, 1));
    return wrt_.back();
  }
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return Value(builder_.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs)))[0];
  }
  int Apply(ElemwiseParam param, int x) { return Add<Elemwise>(std::move(param), {x}); }
  Graph Build(std::vector<int> outputs) && {
    const int loss = AddWeighedSum(builder_, outputs, random_);
    std::vector<int> results = {loss};
    for (const auto& gradient : Value(Differentiate(builder_, loss, wrt_, Operators()))) {
      results.push_back(*gradient);
    }
    for (const int result : results) {
      Value(builder_.Add(std::make_shared<const OutputCallback>(OutputParam()), {result}));
    }
    return Value(std::move(builder_).Build());
  }
  absl::flat_hash_map<std::string, HostTensor> ValuesFor(const Graph& graph) const {
    absl::flat_hash_map<std::string, HostTensor> inputs;
    for (size_t i = 0; i < values_.size(); ++i) inputs[graph.inputs()[i].name] = values_[i];
    return inputs;
  }

 private:
  std::mt19937_64 random_;
  GraphBuilder builder_;
  std::vector<int> wrt_;
  std::vector<HostTensor> values_;
};

int64_t NumberOf(const Graph& graph, const std::string& type) {
  const std::vector<std::string> types = ComputingTypes(graph);
  return std::count(types.begin(), types.end(), type);
}

void ExpectSame(const Way& way, const Graph& before, const Graph& after, double tolerance) {
  const auto a = Value(EvaluateGraph(before, way.ValuesFor(before)));
  const auto b = Value(EvaluateGraph(after, way.ValuesFor(after)));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(Near(b[i], a[i], tolerance)) << "output " << i;
}

TEST(KeptForGradients, PoolsKeepAByteAnElementAndTheReluBehindThem) {
  for (const bool relu : {true, false}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Way way(seed);
      const int x = way.Input({2, 3, 7, 6});
      const int y = relu ? way.Apply({ScalarFunction::kRelu}, x) : x;
      const PoolingParam windows = {
          .window_h = 3, .window_w = 2, .stride_h = 2, .stride_w = 1, .pad_h = 1};
      const Graph before = std::move(way).Build({way.Add<PoolingForward>(windows, {y})});
      const Graph after = Value(KeepPoolingIndices(before));
      EXPECT_EQ(NumberOf(after, "PoolingBackward"), 0);
      EXPECT_EQ(NumberOf(after, "PoolingIndexBackward"), 1);
      if (relu) {
        const std::vector<std::string> types = ComputingTypes(after);
        EXPECT_EQ(types[0], "PoolingForward");  // the ReLU comes later
        EXPECT_EQ(NumberOf(after, "Elemwise"), NumberOf(before, "Elemwise"));
      }
      ExpectSame(way, before, after, 0);
    }
  }
}

TEST(KeptForGradients, AnImageThatIsKeptAnywayHasNoIndex) {
  Way way(1);
  const int x = way.Apply({ScalarFunction::kRelu}, way.Input({1, 2, 6, 6}));
  const int pooled = way.Add<PoolingForward>({}, {x});
  // The gradient of the square reads it.
  const Graph before =
      std::move(way).Build({pooled, way.Add<Elemwise>({ScalarFunction::kMul}, {x, x})});
  const Graph after = Value(KeepPoolingIndices(before));
  EXPECT_EQ(NumberOf(after, "PoolingBackward"), 1);
  EXPECT_EQ(NumberOf(after, "PoolingIndex"), 0);
  ExpectSame(way, before, after, 0);
}

TEST(KeptForGradients, MasksAreSeenFromTheNormsInput) {
  for (const ScalarFunction function : {ScalarFunction::kRelu, ScalarFunction::kClamp}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Way way(seed);
      const int x = way.Input({3, 4, 3, 2}), scale = way.Input({4}), bias = way.Input({4});
      ElemwiseParam activation{function};
      if (function == ScalarFunction::kClamp) activation.parameters = {0, 0.5};
      const int y = way.Apply(activation, way.Add<BatchNormTraining>({1e-3}, {x, scale, bias}));
      const Graph before = std::move(way).Build({y});
      const Graph after = Value(MaskFromNormInputs(before));
      EXPECT_EQ(NumberOf(after, "BatchNormBackward"), 1);
      EXPECT_LT(NumberOf(after, "Elemwise"), NumberOf(before, "Elemwise"));
      ExpectSame(way, before, after, 1e-12);
    }
  }
}

// An operator between the norm and the activation, and another reader of the gradient.
TEST(KeptForGradients, OtherMasksStay) {
  Way way(1);
  const int x = way.Input({3, 4, 3, 2}), scale = way.Input({4}), bias = way.Input({4});
  const int y = way.Add<BatchNormTraining>({1e-3}, {x, scale, bias});
  const int sum = way.Add<Elemwise>({ScalarFunction::kAdd}, {y, way.Input({3, 4, 3, 2})});
  const Graph before = std::move(way).Build({way.Apply({ScalarFunction::kRelu}, sum)});
  EXPECT_EQ(ComputingTypes(Value(MaskFromNormInputs(before))), ComputingTypes(before));
}

}  // namespace
}  // namespace ashlar::testing
