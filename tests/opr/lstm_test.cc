#include "opr/lstm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

HostTensor Floats(const Shape& shape, std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// One element per tensor, so that each gate's weight is a number.
TEST(LSTM, IsItsFormulas) {
  const double i = 0.3, o = -0.2, f = 0.5, c = 0.9, ri = 0.7, ro = 0.1, rf = -0.6, rc = 0.4;
  const std::vector<HostTensor> inputs = {
      Floats({3, 1, 1}, {1, -2, 0.5}),
      Floats({1, 4, 1}, {static_cast<float>(i), static_cast<float>(o), static_cast<float>(f),
                         static_cast<float>(c)}),
      Floats({1, 4, 1}, {static_cast<float>(ri), static_cast<float>(ro), static_cast<float>(rf),
                         static_cast<float>(rc)}),
      Floats({1, 8}, {0.1f, 0.2f, 0.3f, 0.4f, 0.01f, 0.02f, 0.03f, 0.04f}),
      Floats({1, 1, 1}, {0.25f}),
      Floats({1, 1, 1}, {-0.5f})};
  for (const LstmDirection direction : {LstmDirection::kForward, LstmDirection::kReverse}) {
    const auto outputs = Value(LSTM({direction}).Evaluate(inputs));
    double h = 0.25, cell = -0.5;
    std::vector<double> expected(3);
    for (int step = 0; step < 3; ++step) {
      const int t = direction == LstmDirection::kReverse ? 2 - step : step;
      const double x = inputs[0].At(t), before = h;
      const double forget = Logistic(f * x + rf * before + 0.33);
      const double in = Logistic(i * x + ri * before + 0.11);
      const double out = Logistic(o * x + ro * before + 0.22);
      cell = forget * cell + in * std::tanh(c * x + rc * before + 0.44);
      h = out * std::tanh(cell);
      expected[static_cast<size_t>(t)] = h;
    }
    EXPECT_TRUE(Near(outputs[0], expected, 1e-6));
    EXPECT_NEAR(outputs[1].At(0), h, 1e-6);
    EXPECT_NEAR(outputs[2].At(0), cell, 1e-6);
  }
}

// Each direction equals the operator of that direction.
TEST(LSTM, DirectionsAreIndependent) {
  std::mt19937_64 random(3);
  const auto tensor = [&](const Shape& shape) { return RandomTensor(random, shape); };
  const HostTensor x = tensor({4, 2, 3});
  const std::vector<HostTensor> both = {x,
                                        tensor({2, 8, 3}),
                                        tensor({2, 8, 2}),
                                        tensor({2, 16}),
                                        tensor({2, 2, 2}),
                                        tensor({2, 2, 2})};
  const auto outputs = Value(LSTM({LstmDirection::kBidirectional}).Evaluate(both));
  ASSERT_EQ(outputs[0].shape(), (Shape{4, 2, 2, 2}));
  for (int64_t d = 0; d < 2; ++d) {
    std::vector<HostTensor> one = {x};
    for (size_t i = 1; i < both.size(); ++i) {
      Shape shape = both[i].shape();
      shape[0] = 1;
      HostTensor part = HostTensor::Zeros(DType::kFloat32, shape);
      for (int64_t k = 0; k < part.num_elements(); ++k) {
        part.Set(k, both[i].At(d * part.num_elements() + k));
      }
      one.push_back(part);
    }
    const auto direction = d == 0 ? LstmDirection::kForward : LstmDirection::kReverse;
    const auto expected = Value(LSTM({direction}).Evaluate(one));
    for (int64_t k = 0; k < expected[0].num_elements(); ++k) {
      EXPECT_EQ(outputs[0].At((k / 4 * 2 + d) * 4 + k % 4), expected[0].At(k));
    }
    for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(outputs[2].At(d * 4 + k), expected[2].At(k));
  }
}

TEST(LSTM, RefusesWhatItCannotCompute) {
  const auto op = std::make_shared<const LSTM>(LSTMParam());
  const auto both = std::make_shared<const LSTM>(LSTMParam{LstmDirection::kBidirectional});
  const Shape x{4, 2, 3}, w{1, 8, 3}, r{1, 8, 2}, b{1, 16}, h{1, 2, 2};
  ExpectRejected({{op, {x, w, r}, "3 inputs, expected 6"},
                  {op, {{4, 3}, w, r, b, h, h}, "expected rank 3"},
                  {op, {{5000, 2, 3}, w, r, b, h, h}, "at most 4096 steps"},
                  {op, {x, {1, 8, 4}, r, b, h, h}, "W is Float32{1,8,4}, expected {1,8,3}"},
                  {op, {x, w, r, {1, 8}, h, h}, "b is Float32{1,8}, expected {1,16}"},
                  {both, {x, w, r, b, h, h}, "W is Float32{1,8,3}, expected {2,8,3}"}});
}

}  // namespace
}  // namespace ashlar::testing
