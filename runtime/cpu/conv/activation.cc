#include "runtime/cpu/conv/activation.h"

#include "runtime/cpu/isa.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

void SigmoidOf(char* block, int64_t pixels, int64_t step, int channels) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    float* const values = reinterpret_cast<float*>(block + pixel * step);
#pragma omp simd
    for (int i = 0; i < channels; ++i) values[i] = 1 / (1 + expf(-values[i]));
  }
}

}  // namespace

ConvFinish FinishOf(const ConvBiasParam& param) {
  using enum ConvFinish::Kind;
  switch (param.nonlineMode) {
    case Activation::kIdentity:
    case Activation::kSigmoid:
      break;
    case Activation::kRelu:
      return {kRelu, 0, 0};
    case Activation::kHSwish:
      return {kHSwish, 0, 0};
    case Activation::kClamp:
      return {kClamp, static_cast<float>(param.lo), static_cast<float>(param.hi)};
  }
  return {kNone, 0, 0};
}

void ApplySigmoid(Isa isa, char* block, int64_t pixels, int64_t step, int channels) {
  Versions<SigmoidOf>::For(isa)(block, pixels, step, channels);
}

}  // namespace ashlar::cpu
