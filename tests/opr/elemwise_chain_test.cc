#include "opr/elemwise_chain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "opr/table.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kChained = ElemwiseChainParam::kChained;

int64_t Number(ScalarFunction mode) { return static_cast<int64_t>(mode); }

std::vector<InputInfo> Infos(const std::vector<HostTensor>& tensors) {
  std::vector<InputInfo> infos;
  for (const HostTensor& tensor : tensors) infos.push_back({{tensor.dtype(), tensor.shape()}});
  return infos;
}

// sigmoid(x) * x + y, with one value of y per channel.
const ElemwiseChainParam kSwish = {
    {Number(ScalarFunction::kSigmoid), Number(ScalarFunction::kMul), Number(ScalarFunction::kAdd)},
    {kChained, kChained, kChained},
    {kChained, 1, 2},
    {kChained, kChained, kChained}};

TEST(ElemwiseChain, AppliesItsStepsInDouble) {
  std::mt19937_64 random(31);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const HostTensor x = RandomTensor(random, dtype, {2, 3, 4, 5}, -4, 4);
    const HostTensor y = RandomTensor(random, dtype, {1, 3, 1, 1}, -1, 1);
    const ElemwiseChain chain(kSwish);
    const std::vector<HostTensor> inputs = {x, x, y};
    const std::vector<TensorType> types = Value(chain.Infer(Infos(inputs)));
    EXPECT_EQ(types[0], (TensorType{dtype, {2, 3, 4, 5}}));
    const HostTensor output = Value(chain.Evaluate(inputs))[0];
    HostTensor expected = HostTensor::Zeros(dtype, x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const double v = x.At(i);
      expected.Set(i, v / (1 + std::exp(-v)) + y.At(i / 20 % 3));
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) ASSERT_EQ(output.At(i), expected.At(i)) << i;
  }
}

TEST(ElemwiseChain, IsMadeAgainFromItsParameters) {
  const OperatorPtr made = Value(Operators().Make("ElemwiseChain", ElemwiseChain(kSwish).params()));
  EXPECT_EQ(ToString(made->params()), ToString(ElemwiseChain(kSwish).params()));
  EXPECT_EQ(made->Computation(OwnedSite{{}, {{DType::kFloat32, {10}}}}), 30);
}

TEST(ElemwiseChain, RefusesWhatIsNoChain) {
  const std::vector<InputInfo> floats(3, InputInfo{{DType::kFloat32, {4}}});
  const auto error = [&](auto change, std::vector<InputInfo> inputs) {
    ElemwiseChainParam param = kSwish;
    change(param);
    return ElemwiseChain(param).Infer(inputs).status();
  };
  const auto nothing = [](ElemwiseChainParam&) {};
  EXPECT_TRUE(IsOk(error(nothing, floats)));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p.b.pop_back(); }, floats), "differ in length"));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p = {}; }, floats), "0 steps"));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p.b[2] = 3; }, floats), "argument 3 of 3 inputs"));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p.c[0] = -2; }, floats), "argument -2"));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p.mode[1] = 1000; }, floats), "holds 1000"));
  EXPECT_TRUE(FailsWith(error([](auto& p) { p.mode[1] = -1; }, floats), "holds -1"));
  EXPECT_TRUE(FailsWith(error(nothing, {}), "0 inputs"));
  EXPECT_TRUE(FailsWith(error(nothing, std::vector<InputInfo>(8, floats[0])), "8 inputs"));
  std::vector<InputInfo> mixed = floats;
  mixed[2].type.dtype = DType::kFloat16;
  EXPECT_TRUE(FailsWith(error(nothing, mixed), "input 2 is Float16, expected Float32"));
  EXPECT_TRUE(FailsWith(error(nothing, std::vector<InputInfo>(3, InputInfo{{DType::kInt32, {4}}})),
                        "Int32"));
}

}  // namespace
}  // namespace ashlar::testing
