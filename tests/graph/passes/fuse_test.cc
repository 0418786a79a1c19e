#include <functional>

#include "opr/batch_norm_training.h"
#include "opr/conv_bias.h"
#include "opr/elemwise_multi_type.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/type_cvt.h"
#include "tests/graph/passes/image_pass_test.h"
#include "tests/support/activations.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class FuseTest : public ImagePassTest {
 protected:
  int Bias(int64_t channels) { return Random({1, channels, 1, 1}); }
  Graph FuseTo(int output) { return Rewritten(Fuse, output); }
  static const OperatorNode& Producer(const Graph& graph, int var) {
    return graph.node(graph.var(var).producer);
  }
  static ScalarFunction ActivationOf(const OperatorNode& node) {
    return dynamic_cast<const ConvBiasForward&>(*node.op).param().nonlineMode;
  }
};

// A residual could raise the sum beyond the integers exact in floats; the reader allows for a bias.
TEST_F(FuseTest, ProductsThatAreToBeSummedAsTheyAreTakeABiasAlone) {
  const int conv = make_.Add<ConvolutionForward>({.compute_mode = ComputeMode::kFloat32},
                                                 {x_, Random({3, 3, 1, 1})});
  const int sum = Elem(ScalarFunction::kAdd, {conv, Bias(3)});
  EXPECT_THAT(ComputingTypes(FuseTo(Elem(ScalarFunction::kAdd, {sum, x_}))),
              ElementsAre("ConvBiasForward", "Elemwise"));
}

TEST_F(FuseTest, BiasAndActivation) {
  const int conv = Conv(x_, 3, 4, "conv");
  const int relu =
      Elem(ScalarFunction::kRelu, {Elem(ScalarFunction::kAdd, {Bias(4), conv})}, "relu");
  const Var relu_var = make_.var(relu);
  const int conv_id = make_.var(conv).id - 1;
  const Graph after = FuseTo(relu);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
  const OperatorNode& node = Producer(after, after.outputs()[0].var);
  EXPECT_EQ(ActivationOf(node), ScalarFunction::kRelu);
  EXPECT_EQ(node.name, "conv");
  EXPECT_EQ(after.var(node.outputs[0]).id, relu_var.id);
  EXPECT_EQ(after.var(node.outputs[0]).name, "relu");
  EXPECT_EQ(node.id, conv_id);
}

TEST_F(FuseTest, EveryActivation) {
  for (const ScalarFunction activation : Activations()) {
    if (activation == ScalarFunction::kIdentity) continue;
    SCOPED_TRACE(RowOf(activation).name);
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    const Graph after = FuseTo(Elem(activation, {Conv(x_, 3, 4)}));
    EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
    EXPECT_EQ(ActivationOf(Producer(after, after.outputs()[0].var)), activation);
  }
}

TEST_F(FuseTest, ClampKeepsItsBounds) {
  const int clamp = make_.Add<Elemwise>({ScalarFunction::kClamp, {-0.25, 0.5}}, {Conv(x_, 3, 4)});
  const Graph after = FuseTo(clamp);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
  const auto& op =
      dynamic_cast<const ConvBiasForward&>(*Producer(after, after.outputs()[0].var).op);
  EXPECT_EQ(op.param().parameters, (ScalarParameters{-0.25, 0.5}));
}

TEST_F(FuseTest, AnActivationEndsTheFusion) {
  const int relu = Elem(ScalarFunction::kRelu, {Conv(x_, 3, 4)});
  EXPECT_THAT(ComputingTypes(FuseTo(Elem(ScalarFunction::kAdd, {relu, Bias(4)}))),
              ElementsAre("ConvBiasForward", "Elemwise"));
}

// MegEngine's dump adds the residual first, then bias and activation together.
TEST_F(FuseTest, ResidualThenBiasAndRelu) {
  const int stem = Elem(ScalarFunction::kFuseAddRelu, {Bias(4), Conv(x_, 3, 4)});
  const int branch = Conv(stem, 4, 4);
  const int sum = Elem(ScalarFunction::kAdd, {stem, branch});
  const Graph after = FuseTo(Elem(ScalarFunction::kFuseAddRelu, {Bias(4), sum}));
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward", "ConvBiasForward"));
  const OperatorNode& node = Producer(after, after.outputs()[0].var);
  EXPECT_EQ(ActivationOf(node), ScalarFunction::kRelu);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(node.inputs[ConvBiasForward::kZ], node.inputs[ConvBiasForward::kSrc]);
}

TEST_F(FuseTest, FuseAddReluWithAResidual) {
  const int stem = Elem(ScalarFunction::kAdd, {Conv(x_, 3, 4), Bias(4)});
  const int branch = Elem(ScalarFunction::kAdd, {Conv(stem, 4, 4), Bias(4)});
  const Graph after = FuseTo(Elem(ScalarFunction::kFuseAddRelu, {stem, branch}));
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward", "ConvBiasForward"));
  EXPECT_EQ(Producer(after, after.outputs()[0].var).inputs.size(), 4u);
}

TEST_F(FuseTest, OfTwoConvolutionsTheLaterTakesTheOther) {
  for (const bool swapped : {false, true}) {
    SCOPED_TRACE(swapped);
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    const int first = Conv(x_, 3, 4, "first");
    const int second = Conv(x_, 3, 4, "second");
    const Graph after = FuseTo(Elem(
        ScalarFunction::kAdd, swapped ? std::vector{second, first} : std::vector{first, second}));
    EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvolutionForward", "ConvBiasForward"));
    const OperatorNode& node = Producer(after, after.outputs()[0].var);
    EXPECT_EQ(node.name, "second");
    EXPECT_EQ(Producer(after, node.inputs[ConvBiasForward::kZ]).name, "first");
  }
}

TEST_F(FuseTest, ABatchNormWithKnownStatisticsTakesASumAndAnActivation) {
  using F = ScalarFunction;
  const auto norm = [&] {
    const int positive = Elem(F::kAbs, {Random({1, 3, 1, 1})});
    return make_.Add<BatchNormApply>({}, {x_, Bias(3), Bias(3), Bias(3), positive});
  };
  const auto clamp = [&](double lo, double hi, int of) {
    return make_.Add<Elemwise>({F::kClamp, {lo, hi}}, {of});
  };
  const Graph after = FuseTo(clamp(0, 0.5, Elem(F::kAdd, {Elem(F::kNegate, {x_}), norm()})));
  const OperatorNode& node = Producer(after, after.outputs()[0].var);
  ASSERT_EQ(node.op->type(), BatchNormApply::kType);
  EXPECT_EQ(node.inputs.size(), 6u);
  const auto& param = dynamic_cast<const BatchNormApply&>(*node.op).param();
  EXPECT_TRUE(param.rectified);
  EXPECT_EQ(param.most, 0.5);

  const struct {
    const char* name;
    std::function<int()> output;
  } left[] = {
      {"what lets something below 0 through", [&] { return Elem(F::kTanh, {norm()}); }},
      {"another lower bound", [&] { return clamp(-1, 1, norm()); }},
      {"a sum behind the activation",
       [&] {
         return Elem(F::kAdd, {Elem(F::kRelu, {norm()}), Elem(F::kAbs, {x_})});
       }},
      {"an addend that is broadcast",
       [&] {
         return Elem(F::kAdd, {norm(), Bias(3)});
       }},
  };
  for (const auto& c : left) {
    SCOPED_TRACE(c.name);
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    const Graph kept = FuseTo(c.output());
    EXPECT_EQ(Producer(kept, kept.outputs()[0].var).op->type(), Elemwise::kType);
  }
}

// z is computed from the convolution's own input, after it: the merged node must come after z.
TEST_F(FuseTest, ZMayBeComputedAfterTheConvolution) {
  const int conv = Conv(x_, 3, 3);
  const int z = make_.Add<PoolingForward>(
      {.window_h = 3, .window_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1}, {x_});
  EXPECT_THAT(ComputingTypes(FuseTo(Elem(ScalarFunction::kAdd, {conv, z}))),
              ElementsAre("PoolingForward", "ConvBiasForward"));
}

TEST_F(FuseTest, LeavesWhatReadsAConvolutionTwiceOrBesideOthers) {
  const int twice = Conv(x_, 3, 4);
  const int shared = Conv(Elem(ScalarFunction::kAdd, {twice, twice}), 4, 4);
  const int relu = Elem(ScalarFunction::kRelu, {shared});
  EXPECT_THAT(
      ComputingTypes(FuseTo(Elem(ScalarFunction::kMul, {relu, shared}))),
      ElementsAre("ConvolutionForward", "Elemwise", "ConvolutionForward", "Elemwise", "Elemwise"));
}

TEST_F(FuseTest, LeavesAGraphOutput) {
  const int conv = Conv(x_, 3, 4);
  make_.Output(conv);
  EXPECT_THAT(ComputingTypes(FuseTo(Elem(ScalarFunction::kRelu, {conv}))),
              ElementsAre("ConvolutionForward", "Elemwise"));
}

TEST_F(FuseTest, LeavesAddendsThatDoNotFit) {
  const int along_width = Elem(ScalarFunction::kAdd, {Conv(x_, 3, 4), Random({6})});
  const int one_image = Elem(ScalarFunction::kAdd, {Conv(along_width, 4, 4), Random({1, 4, 5, 6})});
  const int two_residuals =
      Elem(ScalarFunction::kAdd,
           {Elem(ScalarFunction::kAdd, {Conv(one_image, 4, 4), one_image}), one_image});
  EXPECT_THAT(ComputingTypes(FuseTo(two_residuals)),
              ElementsAre("ConvolutionForward", "Elemwise", "ConvolutionForward", "Elemwise",
                          "ConvBiasForward", "Elemwise"));
}

TEST_F(FuseTest, ZerosAroundAnImageBecomePadding) {
  const auto zeros = [&](int x) {
    return make_.Add<Pad>({.begin = {0, 0, 2, 0}, .end = {0, 0, 1, 2}}, {x});
  };
  const Graph conv = FuseTo(Elem(ScalarFunction::kAdd, {Conv(zeros(x_), 3, 4), Bias(4)}));
  EXPECT_THAT(ComputingTypes(conv), ElementsAre("ConvBiasForward"));
  for (const PoolingMode mode :
       {PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding, PoolingMode::kMax}) {
    for (const int64_t own : {0, 1}) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(mode), " ", own));
      make_ = GraphMaker();
      x_ = make_.Input("x", {2, 3, 5, 6});
      const int y = make_.Add<PoolingForward>({.mode = mode,
                                               .window_h = 4,
                                               .window_w = 4,
                                               .stride_h = 2,
                                               .stride_w = 1,
                                               .pad_h = own,
                                               .pad_w = own},
                                              {zeros(x_)});
      const bool counted = mode == PoolingMode::kAverage ||
                           (mode == PoolingMode::kAverageCountExcludePadding && own == 0);
      const std::vector<std::string> types = ComputingTypes(FuseTo(y));
      EXPECT_EQ(types.size(), counted ? 1u : 2u);
      EXPECT_EQ(types.back(), "PoolingForward");
    }
  }
}

TEST_F(FuseTest, LeavesPaddingThatIsNoneOfAConvolution) {
  const PadParam cases[] = {
      {.begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}, .value = 0.5},
      {.mode = PadMode::kEdge, .begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}},
      {.begin = {0, 0, -1, 0}, .end = {0, 0, 1, 1}},
      {.begin = {1, 0, 0, 0}, .end = {0, 0, 1, 1}},
  };
  for (const PadParam& param : cases) {
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    EXPECT_THAT(ComputingTypes(FuseTo(Conv(make_.Add<Pad>(param, {x_}), 3, 4))),
                ElementsAre("Pad", "ConvolutionForward"));
  }
  // Another reader of the padded tensor needs it; a padded filter is no image.
  make_ = GraphMaker();
  x_ = make_.Input("x", {2, 3, 5, 6});
  const int padded = make_.Add<Pad>({.begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}}, {x_});
  make_.Output(Elem(ScalarFunction::kAbs, {padded}));
  const int filter =
      make_.Add<Pad>({.begin = {0, 0, 1, 1}, .end = {0, 0, 0, 0}}, {Random({4, 3, 2, 2})});
  EXPECT_THAT(ComputingTypes(FuseTo(make_.Add<ConvolutionForward>({}, {padded, filter}))),
              ElementsAre("Pad", "Elemwise", "Pad", "ConvolutionForward"));
}

// An addend with more channels than the convolution widens the sum.
TEST_F(FuseTest, LeavesAnAddendThatWidensTheOutput) {
  EXPECT_THAT(ComputingTypes(FuseTo(Elem(ScalarFunction::kAdd, {Conv(x_, 3, 1), Bias(4)}))),
              ElementsAre("ConvolutionForward", "Elemwise"));
}

class FuseQuantizedSumsTest : public FuseTest {
 protected:
  static constexpr OutputType kAddend = {DType::kQuantizedS8, 0.2, -5};
  static constexpr OutputType kSum = {DType::kQuantized8Asymm, 0.25, 100};

  // Returns the image in 8 bits.
  int Bytes() { return make_.Add<TypeCvt>({DType::kQuantized8Asymm, 0.01, 90}, {x_}); }
  int ConvOfBytes(int x, ConvBiasParam param = {}) {
    param.output = kAddend;
    const bool depthwise = param.sparse == SparseMode::kGroup;
    const Shape shape = depthwise ? Shape{3, 1, 1, 1, 1} : Shape{3, 3, 1, 1};
    const auto known = [&](DType dtype, const Shape& of, float scale, double most) {
      HostTensor integers = HostTensor::Zeros(StoredAs(dtype), of);
      for (int64_t i = 0; i < integers.num_elements(); ++i) {
        integers.Set(i, static_cast<double>(random_() % static_cast<uint64_t>(most)));
      }
      return make_.Constant(integers.As(dtype, Value(Quantization::Make(dtype, {scale}))));
    };
    return make_.Add<ConvBiasForward>(
        param, {x, known(DType::kQuantizedS8, shape, 0.02f, 127),
                known(DType::kQuantizedS32, {1, 3, 1, 1}, 0.01f * 0.02f, 900)});
  }
  int Sum(int a, int b, ScalarFunction mode = ScalarFunction::kAdd, bool fixed = false) {
    return make_.Add<ElemwiseMultiType>({{mode}, kSum, {}, fixed}, {a, b});
  }
  // Returns the types after the sum in floats, which must be the same to the bit.
  std::vector<std::string> Types(int sum) {
    make_.Output(make_.Add<TypeCvt>({DType::kFloat32}, {sum}));
    const Graph before = std::move(make_).Build();
    const Graph after = Value(FuseQuantizedSums(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 5, 6}), 0);
    return ComputingTypes(after);
  }
};

TEST_F(FuseQuantizedSumsTest, EitherOperandOfASum) {
  for (const bool first : {false, true}) {
    for (const ScalarFunction mode : {ScalarFunction::kAdd, ScalarFunction::kFuseAddRelu}) {
      for (const bool fixed : {false, true}) {
        make_ = GraphMaker();
        x_ = make_.Input("x", {2, 3, 5, 6});
        const int bytes = Bytes(), conv = ConvOfBytes(bytes);
        EXPECT_THAT(Types(first ? Sum(conv, bytes, mode, fixed) : Sum(bytes, conv, mode, fixed)),
                    ElementsAre("TypeCvt", "ConvBiasForward", "TypeCvt"));
      }
    }
  }
}

// The later of two convolutions takes the result of the other, once.
TEST_F(FuseQuantizedSumsTest, OfTwoConvolutionsTheLater) {
  const int bytes = Bytes();
  const int a = ConvOfBytes(bytes), b = ConvOfBytes(bytes);
  EXPECT_THAT(
      Types(Sum(Sum(a, b), bytes)),
      ElementsAre("TypeCvt", "ConvBiasForward", "ConvBiasForward", "ElemwiseMultiType", "TypeCvt"));
}

TEST_F(FuseQuantizedSumsTest, LeavesWhatRoundsOtherwiseOrHasOtherReaders) {
  const auto left = ElementsAre("TypeCvt", "ConvBiasForward", "ElemwiseMultiType", "TypeCvt");
  const auto again = [&] {
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    return Bytes();
  };
  int bytes = again();
  EXPECT_THAT(Types(Sum(ConvOfBytes(bytes, {{}, ScalarFunction::kRelu}), bytes)), left);
  bytes = again();
  ConvBiasParam depthwise;
  depthwise.sparse = SparseMode::kGroup;
  EXPECT_THAT(Types(Sum(ConvOfBytes(bytes, depthwise), bytes)), left);
  bytes = again();
  EXPECT_THAT(Types(Sum(ConvOfBytes(bytes), make_.Constant(RandomTensor(random_, {3, 1, 1})))),
              left);
  bytes = again();
  const int twice = ConvOfBytes(bytes);
  EXPECT_THAT(Types(Sum(twice, twice)), left);
  bytes = again();
  EXPECT_THAT(Types(make_.Add<ElemwiseMultiType>({{ScalarFunction::kMul}, kSum},
                                                 {ConvOfBytes(bytes), bytes})),
              left);
}

}  // namespace
}  // namespace ashlar::testing
