#include "opr/elemwise_chain.h"

#include <iterator>
#include <utility>

#include "tests/cases/cases.h"

namespace ashlar::testing {

// Random steps over operands that broadcast in every way.
template <>
void AddCases<ElemwiseChain>(Cases& cases) {
  constexpr ScalarFunction kModes[] = {
      ScalarFunction::kRelu,   ScalarFunction::kSigmoid,     ScalarFunction::kTanh,
      ScalarFunction::kHSwish, ScalarFunction::kAbs,         ScalarFunction::kAdd,
      ScalarFunction::kSub,    ScalarFunction::kMul,         ScalarFunction::kMax,
      ScalarFunction::kMin,    ScalarFunction::kFuseAddRelu, ScalarFunction::kFuseMulAdd3};
  for (const DType dtype : cases.scope().floats) {
    for (int turn = 0; turn < 12; ++turn) {
      const Shape shape = turn % 2 == 0 ? Shape{2, 16, 3, 8} : Shape{2, 3, 5, 7};
      const Shape others[] = {shape, {1, shape[1], 1, 1}, {shape[2], 1}, {1}, {1, 1, 1, shape[3]}};
      std::vector<HostTensor> inputs = {cases.Tensor(dtype, shape)};
      std::vector<bool> images = {true};
      for (int64_t i = cases.Pick(1, static_cast<int64_t>(ElemwiseChain::kMaxInputs) - 1); i > 0;
           --i) {
        const Shape& other = others[cases.Pick(0, 4)];
        inputs.push_back(cases.Tensor(dtype, other, -1, 1));
        images.push_back(other == shape);
      }
      ElemwiseChainParam param;
      const int64_t most = static_cast<int64_t>(inputs.size()) - 1;
      for (int64_t s = cases.Pick(1, static_cast<int64_t>(ElemwiseChain::kMaxSteps)); s > 0; --s) {
        const ScalarFunction mode =
            kModes[cases.Pick(0, static_cast<int64_t>(std::size(kModes)) - 1)];
        param.mode.push_back(static_cast<int64_t>(mode));
        param.a.push_back(ElemwiseChainParam::kChained);
        // No squares: they would grow without bounds.
        param.b.push_back(Arity(mode) > 1 ? cases.Pick(0, most) : ElemwiseChainParam::kChained);
        param.c.push_back(Arity(mode) > 2 ? cases.Pick(0, most) : ElemwiseChainParam::kChained);
        if (Arity(mode) > 1 && cases.Pick(0, 1) == 1) std::swap(param.a.back(), param.b.back());
      }
      KernelCase test{"chain", Make<ElemwiseChain>(param), std::move(inputs)};
      test.gpu_tolerance = 4 * ToleranceOf(dtype);
      cases.AddImages(test, images);
      test.in_place = 0;
      cases.AddImages(test, images);
    }
  }
  cases.Add(
      {"chain of nothing", Make<ElemwiseChain>({{0}, {-1}, {-1}, {-1}}), {cases.Tensor({3, 0})}});
}

}  // namespace ashlar::testing
