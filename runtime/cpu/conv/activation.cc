#include "runtime/cpu/conv/activation.h"

#include <algorithm>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

template <ScalarFunction kFunction>
void ActivateBlock(char* block, int64_t pixels, int64_t step, int channels,
                   const ConvFinish& call) {
  const float b = call.parameters[0], c = call.parameters[1];
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    float* const values = reinterpret_cast<float*>(block + pixel * step);
#pragma omp simd
    for (int i = 0; i < channels; ++i) values[i] = Formula<kFunction>::Of(values[i], b, c);
  }
}

ConvFinish CallOf(const ConvBiasParam& param) {
  ConvFinish call{param.nonlineMode};
  std::copy(param.parameters.begin(), param.parameters.end(), call.parameters);
  return call;
}

}  // namespace

ConvFinish FinishOf(const ConvBiasParam& param) {
  return RowOf(param.nonlineMode).arithmetic ? CallOf(param) : ConvFinish{};
}

BlockActivation::BlockActivation(const ConvBiasParam& param, Isa isa) : call_(CallOf(param)) {
  function_ = WithFunction(param.nonlineMode, [isa](auto function) -> Function {
    if constexpr (!RowOf(function()).activation || function() == ScalarFunction::kIdentity) {
      return nullptr;
    } else {
      return Versions<ActivateBlock<function()>>::For(isa);
    }
  });
}

BlockActivation BlockActivation::BehindFinish(const ConvBiasParam& param, Isa isa) {
  return RowOf(param.nonlineMode).arithmetic ? BlockActivation() : BlockActivation(param, isa);
}

}  // namespace ashlar::cpu
