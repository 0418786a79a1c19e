#include "opr/elemwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "opr/base/host_value.h"
#include "opr/table.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct ModeCase {
  ScalarFunction mode;
  const char* name;
  int arity;
  bool commutative;
  std::function<double(double, double, double)> expected;
};

double Logistic(double x) { return std::exp(x) / (1 + std::exp(x)); }

// Returns the slope by central differences of fourth order: off by about 1e-12.
double Slope(double (*function)(double), double x) {
  constexpr double kStep = 1e-3;
  const auto difference = [&](double step) {
    return (function(x + step) - function(x - step)) / (2 * step);
  };
  return (4 * difference(kStep) - difference(2 * kStep)) / 3;
}

// Returns the modes with a second, independent definition of each.
const std::vector<ModeCase>& Modes() {
  static const auto* const modes = new std::vector<ModeCase>{
      {ScalarFunction::kRelu, "RELU", 1, false,
       [](double a, double, double) { return std::fmax(a, 0); }},
      {ScalarFunction::kExp, "EXP", 1, false,
       [](double a, double, double) { return std::pow(M_E, a); }},
      {ScalarFunction::kLog, "LOG", 1, false,
       [](double a, double, double) { return std::log2(a) * M_LN2; }},
      {ScalarFunction::kSqrt, "SQRT", 1, false,
       [](double a, double, double) { return std::pow(a, 0.5); }},
      {ScalarFunction::kAbs, "ABS", 1, false,
       [](double a, double, double) { return a < 0 ? -a : a; }},
      {ScalarFunction::kNegate, "NEGATE", 1, false, [](double a, double, double) { return 0 - a; }},
      {ScalarFunction::kSigmoid, "SIGMOID", 1, false,
       [](double a, double, double) { return Logistic(a); }},
      {ScalarFunction::kTanh, "TANH", 1, false,
       [](double a, double, double) { return 2 * Logistic(2 * a) - 1; }},
      {ScalarFunction::kClamp, "CLAMP", 1, false,
       [](double a, double, double) { return std::fmin(std::fmax(a, 0.25), 1.5); }},
      {ScalarFunction::kHSwish, "H_SWISH", 1, false,
       [](double a, double, double) { return a * std::fmin(std::fmax(a + 3, 0), 6) / 6; }},
      {ScalarFunction::kAdd, "ADD", 2, true, [](double a, double b, double) { return a + b; }},
      {ScalarFunction::kSub, "SUB", 2, false, [](double a, double b, double) { return a - b; }},
      {ScalarFunction::kMul, "MUL", 2, true, [](double a, double b, double) { return a * b; }},
      {ScalarFunction::kTrueDiv, "TRUE_DIV", 2, false,
       [](double a, double b, double) { return a / b; }},
      {ScalarFunction::kMax, "MAX", 2, true,
       [](double a, double b, double) { return std::fmax(a, b); }},
      {ScalarFunction::kMin, "MIN", 2, true,
       [](double a, double b, double) { return std::fmin(a, b); }},
      {ScalarFunction::kPow, "POW", 2, false,
       [](double a, double b, double) { return std::exp(b * std::log(a)); }},
      {ScalarFunction::kFuseAddRelu, "FUSE_ADD_RELU", 2, true,
       [](double a, double b, double) { return std::fmax(a + b, 0); }},
      {ScalarFunction::kFuseAddSigmoid, "FUSE_ADD_SIGMOID", 2, true,
       [](double a, double b, double) { return Logistic(a + b); }},
      {ScalarFunction::kFuseAddTanh, "FUSE_ADD_TANH", 2, true,
       [](double a, double b, double) { return 2 * Logistic(2 * (a + b)) - 1; }},
      {ScalarFunction::kFuseMulAdd3, "FUSE_MUL_ADD3", 3, true,
       [](double a, double b, double c) { return a * b + c; }},
      {ScalarFunction::kIdentity, "IDENTITY", 1, false, [](double a, double, double) { return a; }},
      {ScalarFunction::kLeakyRelu, "LEAKY_RELU", 1, false,
       [](double a, double, double) { return std::fmax(a, 0) + 0.25 * std::fmin(a, 0); }},
      {ScalarFunction::kErf, "ERF", 1, false,
       [](double a, double, double) { return 1 - std::erfc(a); }},
      {ScalarFunction::kFloor, "FLOOR", 1, false,
       [](double a, double, double) { return -std::ceil(-a); }},
      {ScalarFunction::kCeil, "CEIL", 1, false,
       [](double a, double, double) { return -std::floor(-a); }},
      {ScalarFunction::kRint, "RINT", 1, false,
       [](double a, double, double) { return a - std::remainder(a, 1); }},
      {ScalarFunction::kSin, "SIN", 1, false,
       [](double a, double, double) { return std::cos(a - M_PI_2); }},
      {ScalarFunction::kCos, "COS", 1, false,
       [](double a, double, double) { return std::sin(a + M_PI_2); }},
      {ScalarFunction::kSign, "SIGN", 1, false,
       [](double a, double, double) { return static_cast<double>((a > 0) - (a < 0)); }},
      {ScalarFunction::kTruncDiv, "TRUNC_DIV", 2, false,
       [](double a, double b, double) { return std::trunc(a / b); }},
      {ScalarFunction::kMod, "MOD", 2, false,
       [](double a, double b, double) { return a - b * std::floor(a / b); }},
      {ScalarFunction::kFmod, "FMOD", 2, false,
       [](double a, double b, double) { return a - b * std::trunc(a / b); }},
      {ScalarFunction::kEqual, "EQ", 2, true,
       [](double a, double b, double) { return a <= b && a >= b ? 1.0 : 0.0; }},
      {ScalarFunction::kLess, "LT", 2, false,
       [](double a, double b, double) { return a >= b ? 0.0 : 1.0; }},
      {ScalarFunction::kLessOrEqual, "LEQ", 2, false,
       [](double a, double b, double) { return a > b ? 0.0 : 1.0; }},
      {ScalarFunction::kSelect, "SELECT", 3, false,
       [](double a, double b, double c) { return a < 0 || a > 0 ? b : c; }},
      {ScalarFunction::kSilu, "SILU", 1, false,
       [](double a, double, double) { return a * Logistic(a); }},
      {ScalarFunction::kGelu, "GELU", 1, false,
       [](double a, double, double) { return a * std::erfc(-a / M_SQRT2) / 2; }},
      {ScalarFunction::kGeluTanh, "GELU_TANH", 1, false,
       [](double a, double,
          double) { return a * Logistic(2 * std::sqrt(2 / M_PI) * (a + 0.044715 * std::pow(a, 3))); }},
      {ScalarFunction::kSoftplus, "SOFTPLUS", 1, false,
       [](double a, double, double) { return std::log(1 + std::exp(a)); }},
      {ScalarFunction::kMish, "MISH", 1, false,
       [](double a, double, double) { return a * std::tanh(std::log(1 + std::exp(a))); }},
      {ScalarFunction::kHardSigmoid, "HARD_SIGMOID", 1, false,
       [](double a, double, double) { return std::fmin(std::fmax(0.25 * a + 1.5, 0), 1); }},
      {ScalarFunction::kElu, "ELU", 1, false,
       [](double a, double, double) { return a < 0 ? 0.25 * (std::exp(a) - 1) : a; }},
      {ScalarFunction::kThresholdedRelu, "THRESHOLDED_RELU", 1, false,
       [](double a, double, double) { return a <= 0.25 ? 0 : a; }},
      {ScalarFunction::kSwitchGt0, "SWITCH_GT0", 2, false,
       [](double a, double b, double) { return a <= 0 ? 0 : b; }},
      {ScalarFunction::kSigmoidGrad, "SIGMOID_GRAD", 2, false,
       [](double a, double b, double) { return b * a - b * a * a; }},
      {ScalarFunction::kTanhGrad, "TANH_GRAD", 2, false,
       [](double a, double b, double) { return b - b * a * a; }},
      {ScalarFunction::kAbsGrad, "ABS_GRAD", 2, false,
       [](double a, double b, double) { return b * ((a > 0) - (a < 0)); }},
      {ScalarFunction::kHSwishGrad, "H_SWISH_GRAD", 2, false,
       [](double a, double b, double) {
         return b * Slope([](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }, a);
       }},
      {ScalarFunction::kLeakyReluGrad, "LEAKY_RELU_GRAD", 2, false,
       [](double a, double b, double) { return a >= 0 ? b : b / 4; }},
      {ScalarFunction::kSiluGrad, "SILU_GRAD", 2, false,
       [](double a, double b, double) {
         return b * Slope([](double x) { return x * Logistic(x); }, a);
       }},
      {ScalarFunction::kGeluGrad, "GELU_GRAD", 2, false,
       [](double a, double b, double) {
         return b * Slope([](double x) { return x * std::erfc(-x / M_SQRT2) / 2; }, a);
       }},
      {ScalarFunction::kGeluTanhGrad, "GELU_TANH_GRAD", 2, false,
       [](double a, double b, double) {
         return b * Slope(
                        [](double x) {
                          const double inner = x + 0.044715 * std::pow(x, 3);
                          return x * Logistic(2 * std::sqrt(2 / M_PI) * inner);
                        },
                        a);
       }},
      {ScalarFunction::kMishGrad, "MISH_GRAD", 2, false,
       [](double a, double b, double) {
         return b * Slope([](double x) { return x * std::tanh(std::log(1 + std::exp(x))); }, a);
       }},
      {ScalarFunction::kEluGrad, "ELU_GRAD", 2, false,
       [](double a, double b, double) { return a >= 0 ? b : b * std::exp(a) / 4; }},
      {ScalarFunction::kCondLtMov, "COND_LT_MOV", 3, false,
       [](double a, double b, double c) { return a >= b ? 0 : c; }},
      {ScalarFunction::kCondLeqMov, "COND_LEQ_MOV", 3, false,
       [](double a, double b, double c) { return a > b ? 0 : c; }},
      {ScalarFunction::kAtan, "ATAN", 1, false,
       [](double a, double, double) { return M_PI_2 - std::atan2(1, a); }},
      {ScalarFunction::kSinh, "SINH", 1, false,
       [](double a, double, double) { return (std::exp(a) - std::exp(-a)) / 2; }},
      {ScalarFunction::kCosh, "COSH", 1, false,
       [](double a, double, double) { return (std::exp(a) + std::exp(-a)) / 2; }},
      {ScalarFunction::kAsinh, "ASINH", 1, false,
       [](double a, double, double) { return std::log(a + std::hypot(a, 1)); }},
      {ScalarFunction::kPRelu, "PRELU", 2, false,
       [](double a, double b, double) { return std::fmax(a, 0) + b * std::fmin(a, 0); }},
  };
  return *modes;
}

ElemwiseParam ParamOf(ScalarFunction mode) { return {mode, {0.25, 1.5}}; }

// Returns a shape that broadcasts to `shape`: leading dimensions dropped, others set to 1.
Shape Broadcastable(Random& random, const Shape& shape) {
  Shape result;
  for (int axis = static_cast<int>(Pick(random, 0, shape.rank())); axis < shape.rank(); ++axis) {
    result.push_back(Pick(random, 0, 2) == 0 ? 1 : shape[axis]);
  }
  return result;
}

double AtBroadcast(const HostTensor& tensor, absl::Span<const int64_t> index) {
  std::vector<int64_t> own(index.end() - tensor.shape().rank(), index.end());
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
    if (tensor.shape()[axis] == 1) own[axis] = 0;
  }
  return tensor.At(OffsetOf(own, tensor.shape()));
}

// Returns values wide enough for each branch and narrow enough for 16-bit floats.
HostTensor Argument(Random& random, DType dtype, const Shape& shape, ScalarFunction mode) {
  const bool positive = mode == ScalarFunction::kLog || mode == ScalarFunction::kSqrt ||
                        mode == ScalarFunction::kPow || mode == ScalarFunction::kTrueDiv;
  const bool divides = mode == ScalarFunction::kTruncDiv || mode == ScalarFunction::kMod ||
                       mode == ScalarFunction::kFmod;
  if (divides) return RandomTensor(random, dtype, shape, 0.6, 60);  // none rounds to 0
  return RandomTensor(random, dtype, shape, positive ? 0.5 : -4, positive ? 3 : 4);
}

TEST(ElemwiseTest, EveryModeHasACase) {
  ASSERT_EQ(Modes().size(), kScalarFunctionNames.size());
  for (size_t i = 0; i < Modes().size(); ++i) {
    const ModeCase& mode = Modes()[i];
    EXPECT_EQ(static_cast<size_t>(mode.mode), i);
    EXPECT_STREQ(kScalarFunctionNames[i], mode.name);
    EXPECT_EQ(Arity(mode.mode), mode.arity) << mode.name;
    EXPECT_EQ(RowOf(mode.mode).commutative, mode.commutative) << mode.name;
    EXPECT_EQ(Elemwise(ElemwiseParam{mode.mode}).base_name(), mode.name);
  }
}

TEST(ElemwiseTest, EveryModeOnRandomShapes) {
  const struct {
    DType dtype;
    double tolerance;
  } kDTypes[] = {{DType::kFloat32, 1e-6}, {DType::kFloat16, 1e-3}, {DType::kBFloat16, 8e-3},
                 {DType::kInt64, 0},      {DType::kInt32, 0},      {DType::kInt8, 0}};
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const ModeCase& mode = Modes()[seed % Modes().size()];
    const auto& d = kDTypes[Pick(random, 0, 5)];
    const Elemwise op(ParamOf(mode.mode));
    const Shape shape = RandomShape(random, 0, 5, 5);
    std::vector<HostTensor> inputs;
    for (int i = 0; i < mode.arity; ++i) {
      inputs.push_back(
          Argument(random, d.dtype, i == 0 ? shape : Broadcastable(random, shape), mode.mode));
    }
    absl::StatusOr<std::vector<TensorType>> types = op.Infer(InfosOf(inputs));
    if (!types.ok()) {  // the mode's result is no integer
      EXPECT_FALSE(IsFloat(d.dtype)) << types.status();
      EXPECT_TRUE(FailsWith(types.status(), "is not defined for")) << mode.name;
      continue;
    }
    HostTensor expected = HostTensor::Zeros(d.dtype, shape);
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      const std::vector<int64_t> index = IndexOf(i, shape);
      double arguments[3] = {};
      for (int k = 0; k < mode.arity; ++k) arguments[k] = AtBroadcast(inputs[k], index);
      expected.Set(i, mode.expected(arguments[0], arguments[1], arguments[2]));
    }
    EXPECT_TRUE(Near(Evaluate(op, inputs), expected, d.tolerance)) << mode.name;
  }
}

TEST(ElemwiseTest, BothSidesBroadcast) {
  const Elemwise add({ScalarFunction::kAdd});
  const HostTensor column = HostTensor::FromValues<float>(DType::kFloat32, {2, 1}, {10, 20});
  const HostTensor row = HostTensor::FromValues<float>(DType::kFloat32, {3}, {1, 2, 3});
  const HostTensor sum =
      HostTensor::FromValues<float>(DType::kFloat32, {2, 3}, {11, 12, 13, 21, 22, 23});
  EXPECT_TRUE(Near(Evaluate(add, {column, row}), sum, 0));
}

TEST(ElemwiseTest, RowsLongerThanAPiece) {
  Random random(1);
  const Elemwise mul({ScalarFunction::kMul});
  const HostTensor x = RandomTensor(random, DType::kFloat32, {3, 2500});
  const HostTensor scale = RandomTensor(random, DType::kFloat32, {3, 1});
  HostTensor expected = HostTensor::Zeros(DType::kFloat32, {3, 2500});
  for (int64_t i = 0; i < 7500; ++i) expected.Set(i, x.At(i) * scale.At(i / 2500));
  EXPECT_TRUE(Near(Evaluate(mul, {x, scale}), expected, 1e-7));
}

TEST(ElemwiseTest, EmptyTensors) {
  const Elemwise add({ScalarFunction::kAdd});
  const HostTensor none = HostTensor::Zeros(DType::kFloat32, {0, 3});
  const HostTensor row = HostTensor::Zeros(DType::kFloat32, {3});
  EXPECT_EQ(Evaluate(add, {none, row}).shape(), (Shape{0, 3}));
}

TEST(ElemwiseTest, ComparisonsHandNaNOn) {
  EXPECT_TRUE(std::isnan(Apply({ScalarFunction::kRelu}, kNaN)));
  EXPECT_TRUE(std::isnan(Apply(ParamOf(ScalarFunction::kClamp), kNaN)));
  for (ScalarFunction mode :
       {ScalarFunction::kMax, ScalarFunction::kMin, ScalarFunction::kFuseAddRelu}) {
    EXPECT_TRUE(std::isnan(Apply({mode}, kNaN, 1)));
    EXPECT_TRUE(std::isnan(Apply({mode}, 1, kNaN)));
  }
  EXPECT_EQ(Apply({ScalarFunction::kSigmoid}, -1e4), 0);  // no overflow to NaN
  EXPECT_EQ(Apply({ScalarFunction::kSigmoid}, 1e4), 1);
}

TEST(ElemwiseTest, RemaindersHaveTheSignThatTheirNameSays) {
  const struct {
    double a, b, mod, fmod, quotient;
  } kRows[] = {{7, 3, 1, 1, 2},
               {-7, 3, 2, -1, -2},
               {7, -3, -2, 1, -2},
               {-7, -3, -1, -1, 2},
               {6, -3, 0, 0, -2}};
  for (const auto& row : kRows) {
    EXPECT_EQ(Apply({ScalarFunction::kMod}, row.a, row.b), row.mod);
    EXPECT_EQ(Apply({ScalarFunction::kFmod}, row.a, row.b), row.fmod);
    EXPECT_EQ(Apply({ScalarFunction::kTruncDiv}, row.a, row.b), row.quotient);
  }
}

TEST(ElemwiseTest, HalvesRoundToEven) {
  for (const auto& [a, expected] : {std::pair{0.5, 0}, {1.5, 2}, {2.5, 2}, {-1.5, -2}}) {
    EXPECT_EQ(Apply({ScalarFunction::kRint}, a), expected);
  }
}

TEST(ElemwiseTest, NaNEqualsNothing) {
  for (const ScalarFunction mode :
       {ScalarFunction::kEqual, ScalarFunction::kLess, ScalarFunction::kLessOrEqual}) {
    EXPECT_EQ(Apply({mode}, kNaN, kNaN), 0);
    EXPECT_EQ(Apply({mode}, 1, kNaN), 0);
  }
}

TEST(ElemwiseTest, BooleansAreLogical) {
  const auto flags = [](std::vector<uint8_t> values) {
    return HostTensor::FromValues<uint8_t>(DType::kBool, {4}, values);
  };
  const HostTensor a = flags({0, 0, 1, 1}), b = flags({0, 1, 0, 1}), c = flags({1, 1, 0, 0});
  const auto check = [&](ScalarFunction mode, const std::vector<HostTensor>& inputs,
                         const std::vector<double>& expected) {
    const HostTensor got = Evaluate(Elemwise({mode}), inputs);
    EXPECT_EQ(got.dtype(), DType::kBool);
    EXPECT_TRUE(Near(got, expected, 0)) << RowOf(mode).name;
  };
  check(ScalarFunction::kMul, {a, b}, {0, 0, 0, 1});
  check(ScalarFunction::kMax, {a, b}, {0, 1, 1, 1});
  check(ScalarFunction::kEqual, {a, b}, {1, 0, 0, 1});
  check(ScalarFunction::kSelect, {a, b, c}, {1, 1, 0, 1});
}

// Follows the maximum and minimum of IEEE 754-2019.
TEST(ElemwiseTest, ZerosHaveSigns) {
  for (const double a : {0.0, -0.0}) {
    for (const double b : {0.0, -0.0}) {
      const bool minus_a = std::signbit(a), minus_b = std::signbit(b);
      EXPECT_EQ(std::signbit(Apply({ScalarFunction::kMax}, a, b)), minus_a && minus_b);
      EXPECT_EQ(std::signbit(Apply({ScalarFunction::kMin}, a, b)), minus_a || minus_b);
    }
  }
}

TEST(ElemwiseTest, Rejects) {
  const TensorType f{DType::kFloat32, {2, 3}}, h{DType::kFloat16, {2, 3}}, i{DType::kInt32, {2, 3}};
  const TensorType other{DType::kFloat32, {2, 4}}, large{DType::kFloat32, {1 << 20, 1}};
  const TensorType wide{DType::kFloat32, {1, int64_t{1} << 30}};
  const TensorType byte{DType::kByte, {2}}, flag{DType::kBool, {2}};
  const struct {
    ElemwiseParam param;
    std::vector<InputInfo> inputs;
    const char* error;
  } kCases[] = {
      {{ScalarFunction::kAdd}, {{f}}, "1 inputs, expected 2"},
      {{ScalarFunction::kRelu}, {{f}, {f}}, "2 inputs, expected 1"},
      {{ScalarFunction::kFuseMulAdd3}, {{f}, {f}}, "2 inputs, expected 3"},
      {{ScalarFunction::kAdd}, {{f}, {h}}, "input 1 is Float16, expected Float32"},
      {{ScalarFunction::kAdd}, {{f}, {other}}, "{2,3} and {2,4} do not broadcast"},
      {{ScalarFunction::kAdd}, {{large}, {wide}}, "is larger than"},
      {{ScalarFunction::kExp}, {{i}}, "EXP is not defined for Int32"},
      {{ScalarFunction::kRelu}, {{byte}}, "RELU is not defined for Byte"},
      {{ScalarFunction::kRelu}, {{flag}}, "RELU is not defined for Bool"},
      {{ScalarFunction::kClamp, {1, 0}}, {{f}}, "lo must not exceed hi"},
      {{ScalarFunction::kClamp, kNaN, 0}, {{f}}, "lo must not exceed hi"},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(FailsWith(Elemwise(c.param).Infer(c.inputs).status(), c.error));
  }
}

TEST(ElemwiseTest, CountsOperations) {
  const TensorType x{DType::kFloat32, {10, 512, 28, 28}}, bias{DType::kFloat32, {1, 512, 1, 1}};
  EXPECT_EQ(Elemwise({ScalarFunction::kRelu}).Computation(OwnedSite{{{x}}, {x}}), 4014080);
  const Footprint footprint =
      FootprintOf(Elemwise({ScalarFunction::kFuseAddRelu}), OwnedSite{{{bias}, {x}}, {x}});
  EXPECT_EQ(footprint.computation, 4014080);  // operator 619 of MegEngine's dump
  EXPECT_EQ(footprint.memory, 32114688);
  EXPECT_EQ(Elemwise({ScalarFunction::kFuseMulAdd3}).Computation(OwnedSite{{{x}, {x}, {x}}, {x}}),
            2 * 4014080);
}

TEST(ElemwiseTest, OverwritesInputsOfTheOutputsTypeOnly) {
  const Elemwise add({ScalarFunction::kAdd});
  const TensorType x{DType::kFloat32, {1, 32, 2, 2}}, bias{DType::kFloat32, {1, 32, 1, 1}};
  const TensorType blocked{DType::kFloat32, {1, 32, 2, 2}, Format::kNCHW16c};
  EXPECT_EQ(OverwrittenBy(add, {{{x}, {x}}, {x}}), (std::vector<int>{0, 1}));
  EXPECT_EQ(OverwrittenBy(add, {{{bias}, {x}}, {x}}), (std::vector<int>{1}));
  EXPECT_EQ(OverwrittenBy(add, {{{x}, {blocked}}, {blocked}}), (std::vector<int>{1}));
}

TEST(ElemwiseTest, ParametersTravel) {
  const Elemwise clamp({ScalarFunction::kClamp, {-1, 1}});
  EXPECT_EQ(ToString(clamp.params()), "mode=CLAMP lo=-1 hi=1");
  EXPECT_EQ(ToString(Elemwise({ScalarFunction::kAdd}).params()), "mode=ADD");
  const OperatorPtr again = *Operators().Make("Elemwise", clamp.params());
  EXPECT_EQ(ToString(again->params()), ToString(clamp.params()));
  EXPECT_TRUE(FailsWith(Operators().Make("Elemwise", {{"mode", "SPIN"}}).status(), "SPIN"));
}

// If a mode says that it is affine, it must compute scale * x + shift.
TEST(ElemwiseTest, ChannelAffineIsTheFunction) {
  const Shape shape{2, 3, 2, 2};
  const Shape kConstants[] = {{1, 3, 1, 1}, {3, 1, 1}, {1}, {}, {1, 1, 1, 1}};
  int affine_cases = 0;
  for (const ModeCase& mode : Modes()) {
    for (int x = 0; x < mode.arity; ++x) {
      for (const Shape& constant : kConstants) {
        SCOPED_TRACE(::testing::Message()
                     << mode.name << " x at " << x << " constants " << constant.ToString());
        Random random(7);
        std::vector<HostTensor> values;
        for (int i = 0; i < mode.arity; ++i) {
          values.push_back(
              RandomTensor(random, DType::kFloat32, i == x ? shape : constant, 0.5, 2));
        }
        std::vector<InputInfo> infos = InfosOf(values);
        infos[x].value = nullptr;
        const Elemwise op(ParamOf(mode.mode));
        const std::optional<ChannelAffine> affine = op.AsChannelAffine(infos);
        if (!affine.has_value()) continue;
        ++affine_cases;
        EXPECT_EQ(affine->input, x);
        HostTensor expected = HostTensor::Zeros(DType::kFloat32, shape);
        for (int64_t i = 0; i < expected.num_elements(); ++i) {
          const int64_t c = i / 4 % 3;
          expected.Set(i, affine->scale[c] * values[x].At(i) + affine->shift[c]);
        }
        EXPECT_TRUE(Near(Evaluate(op, values), expected, 1e-6));
      }
    }
  }
  // NEGATE; ADD, SUB, MUL with x on either side; x / c; MUL_ADD3 with x a factor.
  EXPECT_EQ(affine_cases, 5 * (1 + 2 * 3 + 1 + 2));
}

TEST(ElemwiseTest, ChannelAffineNeedsOneConstantAChannel) {
  const Elemwise add({ScalarFunction::kAdd});
  const InputInfo x{{DType::kFloat32, {2, 3, 4, 4}}};
  EXPECT_FALSE(add.AsChannelAffine({x, x}));
  for (const Shape& shape : {Shape{4}, Shape{3}, Shape{1, 3, 4, 4}, Shape{2, 3, 1, 1},
                             Shape{1, 1, 1, 4}, Shape{1, 1, 1, 1, 1}}) {
    const HostTensor constant = HostTensor::Zeros(DType::kFloat32, shape);
    EXPECT_FALSE(add.AsChannelAffine({x, InfoOf(constant)})) << shape.ToString();
  }
  const HostTensor row = HostTensor::Zeros(DType::kFloat32, {3});
  const InputInfo matrix{{DType::kFloat32, {2, 3}}};
  EXPECT_FALSE(add.AsChannelAffine({matrix, InfoOf(row)}));
}

// Regression, found by fuzzing: one number beside 2^27 channels was expanded to that many.
TEST(ElemwiseTest, ANumberIsNotWrittenOutForAnyNumberOfChannels) {
  const HostTensor number = HostTensor::Zeros(DType::kFloat32, {});
  const InputInfo image{{DType::kFloat32, {1, int64_t{1} << 27, 8, 8}}};
  EXPECT_FALSE(Elemwise({ScalarFunction::kMul}).AsChannelAffine({image, InfoOf(number)}));
}

}  // namespace
}  // namespace ashlar::testing
