// Gradient cases of every scalar function, on operands far from its kinks.
#include "opr/elemwise.h"
#include "tests/opr/gradients/gradient_cases.h"

namespace ashlar::testing {
namespace {

// Returns operands on each side of the kinks of all functions. Kinks lie at whole numbers, at the
// parameters 0.25 and 1.5, and at -2.5 and 2.5. `positive`: for functions that need positive
// operands.
std::vector<double> Operands(bool positive) {
  std::vector<double> values = {0.13, 0.41, 0.83, 1.21, 1.77, 2.36, 2.71, 3.3, 6.4};
  if (positive) return values;
  for (const double value : {-0.13, -0.61, -1.33, -2.21, -2.84, -3.4, -6.7, -9.1}) {
    values.push_back(value);
  }
  return values;
}

bool WantsPositive(ScalarFunction mode) {
  return mode == ScalarFunction::kLog || mode == ScalarFunction::kSqrt ||
         mode == ScalarFunction::kPow || mode == ScalarFunction::kTrueDiv ||
         mode == ScalarFunction::kTruncDiv || mode == ScalarFunction::kMod ||
         mode == ScalarFunction::kFmod;
}

// Returns operand i of a function: the same values from another start, so that no two are equal.
HostTensor OperandOf(ScalarFunction mode, int i) {
  std::vector<double> values = Operands(WantsPositive(mode));
  const auto count = static_cast<int64_t>(values.size());
  for (double& value : values) value *= 1 + 0.07 * i;
  std::rotate(values.begin(), values.begin() + (3 * i) % count, values.end());
  return HostTensor::FromValues<double>(DType::kFloat64, {count}, values);
}

}  // namespace

void AddScalarCases(GradientCases& cases) {
  for (size_t m = 0; m < kNumScalarFunctions; ++m) {
    const auto mode = static_cast<ScalarFunction>(m);
    if (RowOf(mode).gradients[0] == nullptr) continue;
    std::vector<HostTensor> inputs;
    for (int i = 0; i < Arity(mode); ++i) inputs.push_back(OperandOf(mode, i));
    cases.Add<Elemwise>({mode, {0.25, 1.5}}, std::move(inputs));
  }
  // Broadcasts in every way, sometimes with the same var as several operands.
  const std::vector<Shape> kShapes[] = {{{2, 3}, {2, 3}, {2, 3}},
                                        {{2, 3}, {3}, {2, 1}},
                                        {{1}, {2, 1, 2}, {3, 1}},
                                        {{}, {4}, {1, 1}},
                                        {{2, 1, 3, 1}, {4, 1, 2}, {1, 1, 1, 2}}};
  for (const std::vector<Shape>& shapes : kShapes) {
    for (const ScalarFunction mode :
         {ScalarFunction::kAdd, ScalarFunction::kSub, ScalarFunction::kMul,
          ScalarFunction::kTrueDiv, ScalarFunction::kFuseAddTanh, ScalarFunction::kFuseMulAdd3}) {
      std::vector<HostTensor> inputs;
      for (int i = 0; i < Arity(mode); ++i) inputs.push_back(cases.Smooth(shapes[i], 0.5, 2));
      cases.Add<Elemwise>({mode}, std::move(inputs));
    }
  }
}

}  // namespace ashlar::testing
