// Compares updates with the formulas of torch.optim, written out in double, over five steps.
#include "opr/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/operators.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr double kRate = 0.1;
// Returns the gradient of the only weight at step t.
double GradientOf(int step) { return 0.7 * std::sin(1.3 * step) - 0.2; }
constexpr int kSteps = 5;

HostTensor One(double value, DType dtype = DType::kFloat32) {
  HostTensor tensor = HostTensor::Zeros(dtype, {1});
  tensor.Set(0, value);
  return tensor;
}

// Returns the weight after each step of the operator.
std::vector<double> StepsOf(const UpdateOperator& op, bool counts) {
  std::vector<HostTensor> states(op.StateInputs().size(), One(0));
  states[0] = One(1.5);
  std::vector<double> weights;
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<HostTensor> inputs = {states[0], One(GradientOf(step)), One(kRate)};
    if (counts) inputs.push_back(One(step, DType::kInt64));
    inputs.insert(inputs.end(), states.begin() + 1, states.end());
    states = Value(op.Evaluate(inputs));
    weights.push_back(states[0].At(0));
  }
  return weights;
}

void ExpectSteps(const UpdateOperator& op, bool counts, const std::vector<double>& expected) {
  const std::vector<double> weights = StepsOf(op, counts);
  for (int i = 0; i < kSteps; ++i) EXPECT_NEAR(weights[i], expected[i], 2e-6) << "step " << i + 1;
}

// torch.optim.SGD: the first velocity is the gradient, as if the velocity before were 0.
TEST(Update, SgdIsThatOfTorch) {
  for (const SgdUpdateParam& p :
       {SgdUpdateParam{0, 0, false}, SgdUpdateParam{0, 0.05, false},
        SgdUpdateParam{0.9, 0.05, false}, SgdUpdateParam{0.9, 0.05, true}}) {
    double w = 1.5, velocity = 0;
    std::vector<double> expected;
    for (int step = 1; step <= kSteps; ++step) {
      double d = GradientOf(step) + p.weight_decay * w;
      if (p.momentum != 0) {
        velocity = step == 1 ? d : p.momentum * velocity + d;
        d = p.nesterov ? d + p.momentum * velocity : velocity;
      }
      w -= kRate * d;
      expected.push_back(w);
    }
    ExpectSteps(SgdUpdate(p), false, expected);
  }
}

TEST(Update, AdamAndAdamWAreThoseOfTorch) {
  for (const bool decoupled : {false, true}) {
    const AdamUpdateParam p = {0.9, 0.999, 1e-8, 0.05, decoupled};
    double w = 1.5, mean = 0, square = 0;
    std::vector<double> expected;
    for (int step = 1; step <= kSteps; ++step) {
      double d = GradientOf(step);
      if (decoupled) {
        w *= 1 - kRate * p.weight_decay;
      } else {
        d += p.weight_decay * w;
      }
      mean = p.beta1 * mean + (1 - p.beta1) * d;
      square = p.beta2 * square + (1 - p.beta2) * d * d;
      const double correction1 = 1 - std::pow(p.beta1, step);
      const double correction2 = 1 - std::pow(p.beta2, step);
      w -= kRate / correction1 * mean / (std::sqrt(square) / std::sqrt(correction2) + p.epsilon);
      expected.push_back(w);
    }
    ExpectSteps(AdamUpdate(p), true, expected);
  }
}

// Running statistics: MegEngine's AddUpdate.
TEST(Update, AddUpdateIsThatOfMegEngine) {
  const AddUpdate op({0.9, 0.25, 0.5});
  EXPECT_NEAR(Value(op.Evaluate({{One(2), One(4)}}))[0].At(0), 0.9 * 2 + 0.25 * 4 + 0.5, 1e-6);
}

TEST(Update, NamesTheStatesThatItChanges) {
  const SgdUpdate op({0.9});
  const TensorType type{DType::kFloat32, {3}}, one{DType::kFloat32, {1}};
  const OwnedSite site{{{type}, {type}, {one}, {type}}, {type, type}};
  const Aliasing aliasing = op.aliasing(site);
  ASSERT_EQ(aliasing.updates.size(), 2u);
  EXPECT_EQ(aliasing.updates[0].input, SgdUpdate::kWeight);
  EXPECT_EQ(aliasing.updates[1].output, 1);
  EXPECT_EQ(aliasing.updates[1].input, SgdUpdate::kVelocity);
}

}  // namespace
}  // namespace ashlar::testing
