// The scalar functions, each said once: Elemwise, chains and the activations behind convolutions
// and products are instances of this table, in the reference and on every device. Compiles for the
// host and for devices, so it includes nothing of Ashlar.
//
// A new function is a row of the table, and its cases.
#ifndef ASHLAR_OPR_SCALAR_FUNCTIONS_H_
#define ASHLAR_OPR_SCALAR_FUNCTIONS_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

// Always inlined on the host: what calls a formula is compiled for several instruction sets.
#if defined(__CUDACC__)
#define ASHLAR_FORMULA __host__ __device__ inline
#else
#define ASHLAR_FORMULA [[gnu::always_inline]] inline
#endif

namespace ashlar {

// The formulas that are longer than an expression, or part of several. Comparisons hand a NaN on.
namespace formulas {

template <typename T>
ASHLAR_FORMULA T Relu(T a) {
  return a < 0 ? 0 : a;
}

template <typename T>
ASHLAR_FORMULA T Sigmoid(T a) {
  return 1 / (1 + std::exp(-a));
}

template <typename T, typename U>
ASHLAR_FORMULA T Clamp(T a, U lo, U hi) {
  const T raised = a < lo ? lo : a;
  return raised > hi ? hi : raised;
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

// The quotient without its fraction, which a rounded quotient may have lost.
template <typename T>
ASHLAR_FORMULA T TruncDiv(T a, T b) {
  return std::rint((a - std::fmod(a, b)) / b);
}

// The remainder of C's division, moved to the divisor's side of zero.
template <typename T>
ASHLAR_FORMULA T Mod(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// IEEE 754-2019's maximum: of two zeros the positive one, of a NaN and a number the NaN.
template <typename T>
ASHLAR_FORMULA T Maximum(T a, T b) {
  return a < b || b != b ? b : a == 0 && b == 0 ? a + b : a;
}

}  // namespace formulas

// clang-format off
// The table. A row: the enumerator without its k, the properties (ScalarRow, below), the formula of
// a, b and c. They are of a type T, and b and c, which may be parameters, of a type U: where the
// properties say Arithmetic, T may be a vector of U's. Comparisons give 1 or 0 in the dtype of what
// they compare. Chains number the functions in this order.
#define ASHLAR_SCALAR_FUNCTIONS(ROW)                                                               \
  ROW(Relu, Row("RELU", 1).Integers().Activation().Arithmetic().Onnx("Relu"), Relu(a))             \
  ROW(Exp, Row("EXP", 1).InFloat32().Onnx("Exp"), std::exp(a))                                     \
  ROW(Log, Row("LOG", 1).InFloat32().Onnx("Log"), std::log(a))                                     \
  ROW(Sqrt, Row("SQRT", 1).Onnx("Sqrt"), std::sqrt(a))                                             \
  ROW(Abs, Row("ABS", 1).Integers().Onnx("Abs"), std::fabs(a))                                     \
  ROW(Negate, Row("NEGATE", 1).Integers().Arithmetic().Onnx("Neg"), -a)                            \
  ROW(Sigmoid, Row("SIGMOID", 1).Activation().Onnx("Sigmoid"), Sigmoid(a))                         \
  ROW(Tanh, Row("TANH", 1).Onnx("Tanh"), std::tanh(a))                                             \
  ROW(Clamp, Row("CLAMP", 1).Parameter("lo", 0).Parameter("hi", 6).Integers()                      \
                 .Activation().Arithmetic(), Clamp(a, b, c))                                       \
  ROW(HSwish, Row("H_SWISH", 1).Activation().Arithmetic(), HSwish<U>(a))                           \
  ROW(Add, Row("ADD", 2).Commutative().Integers().OfSum(F::kIdentity).Onnx("Add"), a + b)          \
  ROW(Sub, Row("SUB", 2).Integers().Onnx("Sub"), a - b)                                            \
  ROW(Mul, Row("MUL", 2).Commutative().Integers().Booleans().Onnx("Mul"), a * b)                   \
  ROW(TrueDiv, Row("TRUE_DIV", 2).InFloat32().Onnx("Div"), a / b)                                  \
  ROW(Max, Row("MAX", 2).Commutative().Integers().Booleans().Onnx("Max"), Maximum(a, b))           \
  ROW(Min, Row("MIN", 2).Commutative().Integers().Onnx("Min"), -Maximum(-a, -b))                   \
  ROW(Pow, Row("POW", 2).InFloat32().Onnx("Pow"), std::pow(a, b))                                  \
  ROW(FuseAddRelu, Row("FUSE_ADD_RELU", 2).Commutative().Integers().OfSum(F::kRelu), Relu(a + b))  \
  ROW(FuseAddSigmoid, Row("FUSE_ADD_SIGMOID", 2).Commutative().OfSum(F::kSigmoid), Sigmoid(a + b)) \
  ROW(FuseAddTanh, Row("FUSE_ADD_TANH", 2).Commutative().OfSum(F::kTanh), std::tanh(a + b))        \
  ROW(FuseMulAdd3, Row("FUSE_MUL_ADD3", 3).Commutative().Integers(), a * b + c)                    \
  ROW(Identity, Row("IDENTITY", 1).Integers().Activation().Arithmetic().Onnx("Identity"), a)       \
  ROW(LeakyRelu, Row("LEAKY_RELU", 1).Parameter("alpha", 0.01).Activation().Arithmetic()           \
                     .Onnx("LeakyRelu"), a < 0 ? a * b : a)                                        \
  ROW(Erf, Row("ERF", 1).InFloat32().Onnx("Erf"), std::erf(a))                                     \
  ROW(Floor, Row("FLOOR", 1).Onnx("Floor"), std::floor(a))                                         \
  ROW(Ceil, Row("CEIL", 1).Onnx("Ceil"), std::ceil(a))                                             \
  ROW(Rint, Row("RINT", 1).Onnx("Round"), std::rint(a))                                            \
  ROW(Sin, Row("SIN", 1).InFloat32().Onnx("Sin"), std::sin(a))                                     \
  ROW(Cos, Row("COS", 1).InFloat32().Onnx("Cos"), std::cos(a))                                     \
  ROW(Sign, Row("SIGN", 1).Integers().Onnx("Sign"), Sign(a))                                       \
  ROW(TruncDiv, Row("TRUNC_DIV", 2).Integers(), TruncDiv(a, b))                                    \
  ROW(Mod, Row("MOD", 2).Integers(), Mod(a, b))                                                    \
  ROW(Fmod, Row("FMOD", 2).Integers(), std::fmod(a, b))                                            \
  ROW(Equal, Row("EQ", 2).Commutative().Integers().Booleans(), a == b)                             \
  ROW(Less, Row("LT", 2).Integers(), a < b)                                                        \
  ROW(LessOrEqual, Row("LEQ", 2).Integers(), a <= b)                                               \
  ROW(Select, Row("SELECT", 3).Integers().Booleans(), a != 0 ? b : c)                              \
  ROW(Silu, Row("SILU", 1).Activation(), a * Sigmoid(a))                                           \
  ROW(Gelu, Row("GELU", 1).InFloat32(), Gelu(a))                                                   \
  ROW(GeluTanh, Row("GELU_TANH", 1).InFloat32(), GeluTanh(a))                                      \
  ROW(Softplus, Row("SOFTPLUS", 1).InFloat32().Onnx("Softplus"), Softplus(a))                      \
  ROW(Mish, Row("MISH", 1).InFloat32(), a * std::tanh(Softplus(a)))                                \
  ROW(HardSigmoid, Row("HARD_SIGMOID", 1).Parameter("alpha", 0.2).Parameter("beta", 0.5)           \
                       .Activation().Arithmetic().Onnx("HardSigmoid"),                             \
      Clamp(a * b + c, U(0), U(1)))                                                                \
  ROW(Elu, Row("ELU", 1).Parameter("alpha", 1).Onnx("Elu"), a < 0 ? b * std::expm1(a) : a)         \
  ROW(ThresholdedRelu, Row("THRESHOLDED_RELU", 1).Parameter("alpha", 1).Arithmetic()               \
                           .Onnx("ThresholdedRelu"), a > b ? a : 0)
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
  int arity;         // tensors; in the formula the parameters come behind them
  int num_parameters = 0;
  const char* parameters[kMostParameters] = {};  // their names
  double defaults[kMostParameters] = {};
  bool commutative = false;    // the first two arguments may change places
  bool integers = false;       // integers give an integer; else the function is of floats only
  bool booleans = false;       // of Bool they give Bool: MUL is their and, MAX their or
  bool in_float32 = false;     // stays in Float32 where a model's precision is lowered
  bool arithmetic = false;     // the formula is arithmetic and comparisons, and takes vectors
  bool activation = false;     // may follow a convolution in its kernel
  bool adds = false;           // is `of_sum` of a + b
  ScalarFunction of_sum = {};  // where it adds
  const char* onnx = nullptr;  // the operator, where it is one, with the parameters as attributes

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

// By enumerator, as parameters of operators want them.
inline constexpr auto kScalarFunctionNames = [] {
  std::array<const char*, kNumScalarFunctions> names = {};
  for (size_t i = 0; i < kNumScalarFunctions; ++i) names[i] = scalar_rows::kRows[i].name;
  return names;
}();

using ScalarParameters = std::array<double, ScalarRow::kMostParameters>;

constexpr ScalarParameters DefaultsOf(ScalarFunction function) {
  ScalarParameters defaults = {};  // std::to_array is none of C++17, which device compilers have
  for (size_t i = 0; i < defaults.size(); ++i) defaults[i] = RowOf(function).defaults[i];
  return defaults;
}

namespace formulas {

// Formula<kFunction>::Of(a, b, c). The arguments behind the tensors are the parameters; what is
// behind these does not matter.
template <ScalarFunction kFunction>
struct Formula;

#define ASHLAR_FORMULA_OF(enumerator, row, formula)                                                \
  template <>                                                                                      \
  struct Formula<ScalarFunction::k##enumerator> {                                                  \
    template <typename T, typename U>                                                              \
    ASHLAR_FORMULA static T Of([[maybe_unused]] T a, [[maybe_unused]] U b, [[maybe_unused]] U c) { \
      return formula;                                                                              \
    }                                                                                              \
  };
ASHLAR_SCALAR_FUNCTIONS(ASHLAR_FORMULA_OF)
#undef ASHLAR_FORMULA_OF

}  // namespace formulas

using formulas::Formula;

// The same for a function that is known when the program runs.
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

// visit(std::integral_constant<ScalarFunction, function>()).
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

#endif  // ASHLAR_OPR_SCALAR_FUNCTIONS_H_
