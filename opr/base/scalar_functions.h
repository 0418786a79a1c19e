// The table of scalar functions. Elemwise, chains, and activations after convolutions and products
// use it, in the reference and on every device. It compiles for the host and for devices, and
// includes only headers of Ashlar that do, too.
//
// To add a function, add a row to the table, and its cases.
#ifndef ASHLAR_OPR_BASE_SCALAR_FUNCTIONS_H_
#define ASHLAR_OPR_BASE_SCALAR_FUNCTIONS_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "opr/base/wrapping_int.h"

// Always inlined on the host: callers of a formula are compiled for several instruction sets.
#if defined(__CUDACC__)
#define ASHLAR_FORMULA __host__ __device__ inline
#else
#define ASHLAR_FORMULA [[gnu::always_inline]] inline
#endif

namespace ashlar {

// Formulas that are longer than an expression, or shared by several functions. Comparisons
// propagate NaN.
namespace formulas {

template <typename T>
ASHLAR_FORMULA T Relu(T a) {
  return a < 0 ? 0 : a;
}

template <typename T, typename U>
ASHLAR_FORMULA T Clamp(T a, U lo, U hi) {
  const T raised = a < lo ? lo : a;
  return raised > hi ? hi : raised;
}

#if !defined(__CUDACC__)
// Computes e^a by arithmetic only, for a float or a vector of floats; Bits is as many 32-bit
// integers. With a = n ln 2 + r and |r| <= ln 2 / 2, ln 2 is split: the first term has few bits and
// is subtracted exactly (Cody and Waite 1980). e^r is a series up to r^7 / 7!, with an error of
// 6e-9. The result is within 2 units in the last place from -87.3 to 88.3; 0 below, and infinite
// above.
template <typename Real, typename Bits>
ASHLAR_FORMULA Real ExpInSingle(Real a) {
  constexpr float kRounder = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer
  const Real rounded = a * 1.44269504f + kRounder;
  const Real n = rounded - kRounder;
  const Real r = a - n * 0.693359375f - n * -2.12194440e-4f;
  Real power = r * (1.0f / 5040) + 1.0f / 720;
  power = power * r + 1.0f / 120;
  power = power * r + 1.0f / 24;
  power = power * r + 1.0f / 6;
  power = power * r + 0.5f;
  power = power * r + 1.0f;
  power = power * r + 1.0f;
  Bits bits;
  __builtin_memcpy(&bits, &rounded, sizeof bits);
  bits = (bits + 127) << 23;  // the last bits are n; the others are shifted out
  Real two_to_n;
  __builtin_memcpy(&two_to_n, &bits, sizeof bits);
  const Real large = a > 88.3f ? Real{} + __builtin_inff() : power * two_to_n;
  return a < -87.3f ? Real{} : large;
}
#endif

template <typename T>
ASHLAR_FORMULA T Exp(T a) {
#if defined(__CUDACC__)
  return std::exp(a);
#else
  if constexpr (std::is_same_v<T, float>) {
    return ExpInSingle<float, uint32_t>(a);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::exp(a);
  } else {
    return ExpInSingle<T, decltype(a < a)>(a);
  }
#endif
}

template <typename T>
ASHLAR_FORMULA T Sigmoid(T a) {
  return 1 / (1 + Exp(-a));
}

template <typename U, typename T>
ASHLAR_FORMULA T HSwish(T a) {
  return a * (Clamp(a + 3, U(0), U(6)) * (U(1) / 6));
}

template <typename T>
ASHLAR_FORMULA T Sign(T a) {
  return a > 0 ? 1 : a < 0 ? -1 : a;
}

template <typename T>
ASHLAR_FORMULA T Softplus(T a) {
  return Relu(a) + std::log1p(std::exp(-std::fabs(a)));
}

template <typename T>
ASHLAR_FORMULA T Gelu(T a) {
  return T(0.5) * a * (1 + std::erf(a * T(0.70710678118654752)));
}

template <typename T>
ASHLAR_FORMULA T GeluTanh(T a) {
  return T(0.5) * a * (1 + std::tanh(T(0.79788456080286536) * (a + T(0.044715) * a * a * a)));
}

template <typename T>
ASHLAR_FORMULA T Abs(T a) {
  return std::fabs(a);
}
template <typename Integer>
ASHLAR_FORMULA Wrapping<Integer> Abs(Wrapping<Integer> a) {
  return a < 0 ? -a : a;
}

// The remainder of C's division.
template <typename T>
ASHLAR_FORMULA T Fmod(T a, T b) {
  return std::fmod(a, b);
}
template <typename Integer>
ASHLAR_FORMULA Wrapping<Integer> Fmod(Wrapping<Integer> a, Wrapping<Integer> b) {
  return a % b;
}

// The quotient without its fraction. (a - fmod) / b is used because rounding a quotient can lose
// its fraction.
template <typename T>
ASHLAR_FORMULA T TruncDiv(T a, T b) {
  return std::rint((a - std::fmod(a, b)) / b);
}
template <typename Integer>
ASHLAR_FORMULA Wrapping<Integer> TruncDiv(Wrapping<Integer> a, Wrapping<Integer> b) {
  return a / b;
}

// The remainder of C's division, moved to the divisor's side of zero.
template <typename T>
ASHLAR_FORMULA T Mod(T a, T b) {
  const T rest = Fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// IEEE 754-2019's maximum: of two zeros the positive one; of a NaN and a number the NaN.
template <typename T>
ASHLAR_FORMULA T Maximum(T a, T b) {
  return a < b || b != b ? b : a == 0 && b == 0 ? a + b : a;
}
template <typename T>
ASHLAR_FORMULA T Minimum(T a, T b) {
  return -Maximum(-a, -b);
}
template <typename Integer>
ASHLAR_FORMULA Wrapping<Integer> Minimum(Wrapping<Integer> a, Wrapping<Integer> b) {
  return b < a ? b : a;
}

// The derivatives of the functions of these names.
template <typename T, typename U>
ASHLAR_FORMULA T HSwishGrad(T a, U b) {
  return a < -3 ? 0 : a > 3 ? b : (a + a + 3) * (U(1) / 6) * b;
}

template <typename T>
ASHLAR_FORMULA T SiluGrad(T a) {
  const T s = Sigmoid(a);
  return s * (1 + a * (1 - s));
}

template <typename T>
ASHLAR_FORMULA T GeluGrad(T a) {
  const T density = T(0.39894228040143268) * std::exp(T(-0.5) * a * a);
  return T(0.5) * (1 + std::erf(a * T(0.70710678118654752))) + a * density;
}

template <typename T>
ASHLAR_FORMULA T GeluTanhGrad(T a) {
  const T t = std::tanh(T(0.79788456080286536) * (a + T(0.044715) * a * a * a));
  const T slope = T(0.79788456080286536) * (1 + T(0.134145) * a * a);
  return T(0.5) * (1 + t + a * (1 - t * t) * slope);
}

template <typename T>
ASHLAR_FORMULA T MishGrad(T a) {
  const T t = std::tanh(Softplus(a));
  return t + a * (1 - t * t) * Sigmoid(a);
}

}  // namespace formulas

// clang-format off
// The table. A row has the enumerator without its k, the properties (ScalarRow, below), and the
// formula of a, b and c. Their type is T; b and c, which may be parameters, have type U. If the
// properties say Arithmetic, T may be a vector of U. Comparisons return 1 or 0 in the dtype that
// they compare. Chains number the functions in this order. Gradient lists the gradient with respect
// to each tensor, as an expression of functions of this table (opr/scalar_gradient.h); Flat means
// zero gradients. The functions at the end exist for gradients, under MegEngine's names.
#define ASHLAR_SCALAR_FUNCTIONS(ROW)                                                               \
  ROW(Relu, Row("RELU", 1).Integers().Activation().Arithmetic().Onnx("Relu")                       \
      .Gradient("SWITCH_GT0(y, g)"), Relu(a))                                                      \
  ROW(Exp, Row("EXP", 1).InFloat32().Onnx("Exp").Gradient("MUL(y, g)"), std::exp(a))               \
  ROW(Log, Row("LOG", 1).InFloat32().Onnx("Log").Gradient("TRUE_DIV(g, a)"), std::log(a))          \
  ROW(Sqrt, Row("SQRT", 1).Onnx("Sqrt").Gradient("TRUE_DIV(g, ADD(y, y))"), std::sqrt(a))          \
  ROW(Abs, Row("ABS", 1).Integers().Onnx("Abs").Gradient("ABS_GRAD(a, g)"), Abs(a))                \
  ROW(Negate, Row("NEGATE", 1).Integers().Arithmetic().Onnx("Neg").Gradient("NEGATE(g)"), -a)      \
  ROW(Sigmoid, Row("SIGMOID", 1).Activation().Arithmetic().Onnx("Sigmoid")                         \
      .Gradient("SIGMOID_GRAD(y, g)"), Sigmoid(a))                                                 \
  ROW(Tanh, Row("TANH", 1).Onnx("Tanh").Gradient("TANH_GRAD(y, g)"), std::tanh(a))                 \
  ROW(Clamp, Row("CLAMP", 1).Parameter("lo", 0).Parameter("hi", 6).Integers().Activation()         \
      .Arithmetic()                                                                                \
      .Gradient("COND_LT_MOV(p, y, COND_LT_MOV(y, q, g))"), Clamp(a, b, c))                        \
  ROW(HSwish, Row("H_SWISH", 1).Activation().Arithmetic()                                          \
      .Gradient("H_SWISH_GRAD(a, g)"), HSwish<U>(a))                                               \
  ROW(Add, Row("ADD", 2).Commutative().Integers().OfSum(F::kIdentity).Onnx("Add")                  \
      .Gradient("g", "g"), a + b)                                                                  \
  ROW(Sub, Row("SUB", 2).Integers().Onnx("Sub").Gradient("g", "NEGATE(g)"), a - b)                 \
  ROW(Mul, Row("MUL", 2).Commutative().Integers().Booleans().Onnx("Mul")                           \
      .Gradient("MUL(b, g)", "MUL(a, g)"), a * b)                                                  \
  ROW(TrueDiv, Row("TRUE_DIV", 2).InFloat32().Onnx("Div")                                          \
      .Gradient("TRUE_DIV(g, b)", "NEGATE(TRUE_DIV(MUL(y, g), b))"), a / b)                        \
  ROW(Max, Row("MAX", 2).Commutative().Integers().Booleans().Onnx("Max")                           \
      .Gradient("COND_LT_MOV(b, a, g)", "COND_LEQ_MOV(a, b, g)"), Maximum(a, b))                   \
  ROW(Min, Row("MIN", 2).Commutative().Integers().Onnx("Min")                                      \
      .Gradient("COND_LT_MOV(a, b, g)", "COND_LEQ_MOV(b, a, g)"), Minimum(a, b))                   \
  ROW(Pow, Row("POW", 2).InFloat32().Onnx("Pow")                                                   \
      .Gradient("MUL(MUL(POW(a, SUB(b, 1)), b), g)", "MUL(MUL(LOG(a), y), g)"), std::pow(a, b))    \
  ROW(FuseAddRelu, Row("FUSE_ADD_RELU", 2).Commutative().Integers().OfSum(F::kRelu)                \
      .Gradient("SWITCH_GT0(y, g)", "SWITCH_GT0(y, g)"), Relu(a + b))                              \
  ROW(FuseAddSigmoid, Row("FUSE_ADD_SIGMOID", 2).Commutative().OfSum(F::kSigmoid)                  \
      .Gradient("SIGMOID_GRAD(y, g)", "SIGMOID_GRAD(y, g)"), Sigmoid(a + b))                       \
  ROW(FuseAddTanh, Row("FUSE_ADD_TANH", 2).Commutative().OfSum(F::kTanh)                           \
      .Gradient("TANH_GRAD(y, g)", "TANH_GRAD(y, g)"), std::tanh(a + b))                           \
  ROW(FuseMulAdd3, Row("FUSE_MUL_ADD3", 3).Commutative().Integers()                                \
      .Gradient("MUL(b, g)", "MUL(a, g)", "g"), a * b + c)                                         \
  ROW(Identity, Row("IDENTITY", 1).Integers().Activation().Arithmetic().Onnx("Identity")           \
      .Gradient("g"), a)                                                                           \
  ROW(LeakyRelu, Row("LEAKY_RELU", 1).Parameter("alpha", 0.01).Activation().Arithmetic()           \
      .Onnx("LeakyRelu")                                                                           \
      .Gradient("LEAKY_RELU_GRAD(a, g)"), a < 0 ? a * b : a)                                       \
  ROW(Erf, Row("ERF", 1).InFloat32().Onnx("Erf")                                                   \
      .Gradient("MUL(MUL(EXP(NEGATE(MUL(a, a))), 1.1283791670955126), g)"), std::erf(a))           \
  ROW(Floor, Row("FLOOR", 1).Onnx("Floor").Flat(), std::floor(a))                                  \
  ROW(Ceil, Row("CEIL", 1).Onnx("Ceil").Flat(), std::ceil(a))                                      \
  ROW(Rint, Row("RINT", 1).Onnx("Round").Flat(), std::rint(a))                                     \
  ROW(Sin, Row("SIN", 1).InFloat32().Onnx("Sin").Gradient("MUL(COS(a), g)"), std::sin(a))          \
  ROW(Cos, Row("COS", 1).InFloat32().Onnx("Cos").Gradient("NEGATE(MUL(SIN(a), g))"), std::cos(a))  \
  ROW(Sign, Row("SIGN", 1).Integers().Onnx("Sign").Flat(), Sign(a))                                \
  ROW(TruncDiv, Row("TRUNC_DIV", 2).Integers().Flat(), TruncDiv(a, b))                             \
  ROW(Mod, Row("MOD", 2).Integers().Gradient("g", "MUL(TRUE_DIV(SUB(y, a), b), g)"), Mod(a, b))    \
  ROW(Fmod, Row("FMOD", 2).Integers()                                                              \
      .Gradient("g", "MUL(TRUE_DIV(SUB(y, a), b), g)"), Fmod(a, b))                                \
  ROW(Equal, Row("EQ", 2).Commutative().Integers().Booleans().Flat(), a == b)                      \
  ROW(Less, Row("LT", 2).Integers().Flat(), a < b)                                                 \
  ROW(LessOrEqual, Row("LEQ", 2).Integers().Flat(), a <= b)                                        \
  ROW(Select, Row("SELECT", 3).Integers().Booleans()                                               \
      .Gradient("0", "SELECT(a, g, 0)", "SELECT(a, 0, g)"), a != 0 ? b : c)                        \
  ROW(Silu, Row("SILU", 1).Activation().Arithmetic().Gradient("SILU_GRAD(a, g)"), a * Sigmoid(a))  \
  ROW(Gelu, Row("GELU", 1).InFloat32().Gradient("GELU_GRAD(a, g)"), Gelu(a))                       \
  ROW(GeluTanh, Row("GELU_TANH", 1).InFloat32().Gradient("GELU_TANH_GRAD(a, g)"), GeluTanh(a))     \
  ROW(Softplus, Row("SOFTPLUS", 1).InFloat32().Onnx("Softplus")                                    \
      .Gradient("MUL(SIGMOID(a), g)"), Softplus(a))                                                \
  ROW(Mish, Row("MISH", 1).InFloat32().Gradient("MISH_GRAD(a, g)"), a * std::tanh(Softplus(a)))    \
  ROW(HardSigmoid, Row("HARD_SIGMOID", 1).Parameter("alpha", 0.2).Parameter("beta", 0.5)           \
      .Activation().Arithmetic().Onnx("HardSigmoid")                                               \
      .Gradient("MUL(COND_LT_MOV(0, y, COND_LT_MOV(y, 1, g)), p)"), Clamp(a * b + c, U(0), U(1)))  \
  ROW(Elu, Row("ELU", 1).Parameter("alpha", 1).Onnx("Elu")                                         \
      .Gradient("ELU_GRAD(a, g)"), a < 0 ? b * std::expm1(a) : a)                                  \
  ROW(ThresholdedRelu, Row("THRESHOLDED_RELU", 1).Parameter("alpha", 1).Arithmetic()               \
      .Onnx("ThresholdedRelu")                                                                     \
      .Gradient("COND_LT_MOV(p, a, g)"), a > b ? a : 0)                                            \
  ROW(SwitchGt0, Row("SWITCH_GT0", 2).Gradient("0", "SWITCH_GT0(a, g)"), a > 0 ? b : 0)            \
  ROW(SigmoidGrad, Row("SIGMOID_GRAD", 2)                                                          \
      .Gradient("MUL(MUL(SUB(1, ADD(a, a)), b), g)", "SIGMOID_GRAD(a, g)"), a * (1 - a) * b)       \
  ROW(TanhGrad, Row("TANH_GRAD", 2)                                                                \
      .Gradient("NEGATE(MUL(MUL(ADD(a, a), b), g))", "TANH_GRAD(a, g)"), (1 - a * a) * b)          \
  ROW(AbsGrad, Row("ABS_GRAD", 2).Gradient("0", "ABS_GRAD(a, g)"), a > 0 ? b : a < 0 ? -b : 0)     \
  ROW(HSwishGrad, Row("H_SWISH_GRAD", 2)                                                           \
      .Gradient("MUL(MUL(COND_LT_MOV(ABS(a), 3, b), 0.3333333333333333), g)",                      \
                "H_SWISH_GRAD(a, g)"), HSwishGrad(a, b))                                           \
  ROW(LeakyReluGrad, Row("LEAKY_RELU_GRAD", 2).Parameter("alpha", 0.01)                            \
      .Gradient("0", "LEAKY_RELU_GRAD(a, g)"), a < 0 ? b * c : b)                                  \
  ROW(SiluGrad, Row("SILU_GRAD", 2), SiluGrad(a) * b)                                              \
  ROW(GeluGrad, Row("GELU_GRAD", 2).InFloat32(), GeluGrad(a) * b)                                  \
  ROW(GeluTanhGrad, Row("GELU_TANH_GRAD", 2).InFloat32(), GeluTanhGrad(a) * b)                     \
  ROW(MishGrad, Row("MISH_GRAD", 2).InFloat32(), MishGrad(a) * b)                                  \
  ROW(EluGrad, Row("ELU_GRAD", 2).Parameter("alpha", 1)                                            \
      .Gradient("COND_LT_MOV(a, 0, MUL(ELU_GRAD(a, b), g))", "ELU_GRAD(a, g)"),                    \
      a < 0 ? c * std::exp(a) * b : b)                                                             \
  ROW(CondLtMov, Row("COND_LT_MOV", 3).Gradient("0", "0", "COND_LT_MOV(a, b, g)"), a < b ? c : 0)  \
  ROW(CondLeqMov, Row("COND_LEQ_MOV", 3)                                                           \
      .Gradient("0", "0", "COND_LEQ_MOV(a, b, g)"), a <= b ? c : 0)                                \
  ROW(Atan, Row("ATAN", 1).InFloat32().Onnx("Atan")                                                \
      .Gradient("TRUE_DIV(g, ADD(1, MUL(a, a)))"), std::atan(a))                                   \
  ROW(Sinh, Row("SINH", 1).InFloat32().Onnx("Sinh").Gradient("MUL(COSH(a), g)"), std::sinh(a))     \
  ROW(Cosh, Row("COSH", 1).InFloat32().Onnx("Cosh").Gradient("MUL(SINH(a), g)"), std::cosh(a))     \
  ROW(Asinh, Row("ASINH", 1).InFloat32().Onnx("Asinh")                                             \
      .Gradient("TRUE_DIV(g, SQRT(ADD(1, MUL(a, a))))"), std::asinh(a))                            \
  ROW(PRelu, Row("PRELU", 2).Integers().Arithmetic().Onnx("PRelu")                                 \
      .Gradient("ADD(COND_LEQ_MOV(0, a, g), COND_LT_MOV(a, 0, MUL(b, g)))",                        \
                "COND_LT_MOV(a, 0, MUL(a, g))"), a < 0 ? a * b : a)
// clang-format on

enum class ScalarFunction : uint8_t {
#define ASHLAR_ENUMERATOR(enumerator, row, formula) k##enumerator,
  ASHLAR_SCALAR_FUNCTIONS(ASHLAR_ENUMERATOR)
#undef ASHLAR_ENUMERATOR
};

// The properties of a function.
struct ScalarRow {
  static constexpr int kMostParameters = 2;

  const char* name;  // in files and messages
  int arity;         // tensors; in the formula the parameters follow them
  int num_parameters = 0;
  const char* parameters[kMostParameters] = {};  // their names
  double defaults[kMostParameters] = {};
  bool commutative = false;  // the first two arguments may be exchanged
  bool integers = false;     // integers give an integer; otherwise for floats only
  bool booleans = false;     // Bool gives Bool: MUL is the logical and, MAX the logical or
  bool in_float32 = false;   // stays in Float32 when a model's precision is lowered
  bool arithmetic = false;   // the formula has only arithmetic and comparisons, and accepts vectors
  bool activation = false;   // may follow a convolution in its kernel
  bool adds = false;         // equals `of_sum` of a + b
  ScalarFunction of_sum = {};  // if it adds
  const char* onnx = nullptr;  // the ONNX operator, if there is one; parameters are its attributes
  const char* gradients[3] = {};  // by tensor; "0" for zero; null if there is none

  constexpr ScalarRow(const char* name_of, int tensors) : name(name_of), arity(tensors) {}
  constexpr ScalarRow& Parameter(const char* parameter, double fallback) {
    parameters[num_parameters] = parameter;
    defaults[num_parameters++] = fallback;
    return *this;
  }
  constexpr ScalarRow& Commutative() { return Set(commutative); }
  constexpr ScalarRow& Integers() { return Set(integers); }
  constexpr ScalarRow& Booleans() { return Set(booleans); }
  constexpr ScalarRow& InFloat32() { return Set(in_float32); }
  constexpr ScalarRow& Arithmetic() { return Set(arithmetic); }
  constexpr ScalarRow& Activation() { return Set(activation); }
  constexpr ScalarRow& OfSum(ScalarFunction function) {
    of_sum = function;
    return Set(adds);
  }
  constexpr ScalarRow& Onnx(const char* type) {
    onnx = type;
    return *this;
  }
  constexpr ScalarRow& Gradient(const char* by_a, const char* by_b = nullptr,
                                const char* by_c = nullptr) {
    gradients[0] = by_a;
    gradients[1] = by_b;
    gradients[2] = by_c;
    return *this;
  }
  constexpr ScalarRow& Flat() { return Gradient("0", "0", "0"); }

 private:
  constexpr ScalarRow& Set(bool& property) {
    property = true;
    return *this;
  }
};

namespace scalar_rows {

using Row = ScalarRow;
using F = ScalarFunction;
inline constexpr Row kRows[] = {
#define ASHLAR_ROW(enumerator, row, formula) row,
    ASHLAR_SCALAR_FUNCTIONS(ASHLAR_ROW)
#undef ASHLAR_ROW
};

}  // namespace scalar_rows

inline constexpr size_t kNumScalarFunctions = std::size(scalar_rows::kRows);

constexpr const ScalarRow& RowOf(ScalarFunction function) {
  return scalar_rows::kRows[static_cast<size_t>(function)];
}
constexpr int Arity(ScalarFunction function) { return RowOf(function).arity; }

// By enumerator, in the form that operator parameters use.
inline constexpr auto kScalarFunctionNames = [] {
  std::array<const char*, kNumScalarFunctions> names = {};
  for (size_t i = 0; i < kNumScalarFunctions; ++i) names[i] = scalar_rows::kRows[i].name;
  return names;
}();

using ScalarParameters = std::array<double, ScalarRow::kMostParameters>;

constexpr ScalarParameters DefaultsOf(ScalarFunction function) {
  ScalarParameters defaults = {};  // C++17, which device compilers use, has no std::to_array
  for (size_t i = 0; i < defaults.size(); ++i) defaults[i] = RowOf(function).defaults[i];
  return defaults;
}

namespace formulas {

// Formula<kFunction>::Of(a, b, c). The parameters follow the tensors; further arguments are
// ignored. For integers it returns `a` if the function is defined for floats only.
template <ScalarFunction kFunction>
struct Formula;

#define ASHLAR_FORMULA_OF(enumerator, row, formula)                                                \
  template <>                                                                                      \
  struct Formula<ScalarFunction::k##enumerator> {                                                  \
    template <typename T, typename U>                                                              \
    ASHLAR_FORMULA static T Of([[maybe_unused]] T a, [[maybe_unused]] U b, [[maybe_unused]] U c) { \
      if constexpr (RowOf(ScalarFunction::k##enumerator).integers || !kWraps<T>) {                 \
        return formula;                                                                            \
      } else {                                                                                     \
        return a;                                                                                  \
      }                                                                                            \
    }                                                                                              \
  };
ASHLAR_SCALAR_FUNCTIONS(ASHLAR_FORMULA_OF)
#undef ASHLAR_FORMULA_OF

}  // namespace formulas

using formulas::Formula;

// The same for a function that is known at run time only.
template <typename T>
ASHLAR_FORMULA T Apply(ScalarFunction function, T a, T b, T c) {
  switch (function) {
#define ASHLAR_CASE(enumerator, row, formula) \
  case ScalarFunction::k##enumerator:         \
    return Formula<ScalarFunction::k##enumerator>::Of(a, b, c);
    ASHLAR_SCALAR_FUNCTIONS(ASHLAR_CASE)
#undef ASHLAR_CASE
  }
  return a;
}

// Converts a parameter to the number type of the computation.
template <typename Number>
ASHLAR_ANYWHERE_CONSTEXPR Number ParameterAs(double parameter) {
  if constexpr (kWraps<Number>) {
    return Number::Truncated(parameter);
  } else {
    return static_cast<Number>(parameter);
  }
}

// Calls visit(std::integral_constant<ScalarFunction, function>()).
template <typename Visit>
auto WithFunction(ScalarFunction function, const Visit& visit) {
  switch (function) {
#define ASHLAR_CASE(enumerator, row, formula) \
  case ScalarFunction::k##enumerator:         \
    return visit(std::integral_constant<ScalarFunction, ScalarFunction::k##enumerator>());
    ASHLAR_SCALAR_FUNCTIONS(ASHLAR_CASE)
#undef ASHLAR_CASE
  }
  __builtin_unreachable();
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_SCALAR_FUNCTIONS_H_
