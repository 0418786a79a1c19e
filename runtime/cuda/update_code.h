// Updates of states: element i of a state depends on element i of each input. Outputs may share
// inputs' addresses. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_UPDATE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_UPDATE_CODE_H_

#include <cmath>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

struct SgdParams {
  int64_t elements = 0;
  float momentum = 0, decay = 0;
  bool nesterov = false;
  const float *weight = nullptr, *gradient = nullptr, *rate = nullptr;
  const float* velocity = nullptr;  // null: no velocity
  float *new_weight = nullptr, *new_velocity = nullptr;
};
LaunchError Launch(const SgdParams& params, void* stream);

ASHLAR_HD void SgdAt(const SgdParams& p, int64_t i) {
  const float weight = p.weight[i], d = p.gradient[i] + p.decay * weight;
  if (p.velocity == nullptr) {
    p.new_weight[i] = weight - *p.rate * d;
    return;
  }
  const float velocity = p.momentum * p.velocity[i] + d;
  p.new_velocity[i] = velocity;
  p.new_weight[i] = weight - *p.rate * (p.nesterov ? d + p.momentum * velocity : velocity);
}

struct AdamParams {
  int64_t elements = 0;
  double beta1 = 0, beta2 = 0, epsilon = 0, decay = 0;
  bool decoupled = false;
  const float *weight = nullptr, *gradient = nullptr, *rate = nullptr;
  const int64_t* step = nullptr;
  const float *mean = nullptr, *square = nullptr;
  float *new_weight = nullptr, *new_mean = nullptr, *new_square = nullptr;
};
LaunchError Launch(const AdamParams& params, void* stream);

// The values shared by all elements of a step: opr/update.h, AdamFactors. Rate and step are only
// known when the kernel runs.
struct AdamCommon {
  float weight_factor, step_size, root_scale;
};
ASHLAR_HD AdamCommon AdamCommonOf(const AdamParams& p) {
  const double rate = static_cast<double>(*p.rate), step = static_cast<double>(*p.step);
  AdamCommon common;
  common.weight_factor = static_cast<float>(p.decoupled ? 1 - rate * p.decay : 1.0);
  common.step_size = static_cast<float>(rate / (1 - pow(p.beta1, step)));
  common.root_scale = static_cast<float>(1 / sqrt(1 - pow(p.beta2, step)));
  return common;
}

ASHLAR_HD void AdamAt(const AdamParams& p, const AdamCommon& common, int64_t i) {
  const float keep_mean = static_cast<float>(p.beta1), keep_square = static_cast<float>(p.beta2);
  const float weight = p.weight[i];
  const float d = p.gradient[i] + (p.decoupled ? 0 : static_cast<float>(p.decay)) * weight;
  const float mean = keep_mean * p.mean[i] + (1 - keep_mean) * d;
  const float square = keep_square * p.square[i] + (1 - keep_square) * d * d;
  p.new_mean[i] = mean;
  p.new_square[i] = square;
  p.new_weight[i] =
      weight * common.weight_factor -
      common.step_size * mean / (sqrtf(square) * common.root_scale + static_cast<float>(p.epsilon));
}

struct AddParams {
  int64_t elements = 0;
  float alpha = 1, beta = 1, bias = 0;
  const float *dest = nullptr, *delta = nullptr;
  float* sum = nullptr;
};
LaunchError Launch(const AddParams& params, void* stream);

ASHLAR_HD void AddUpdateAt(const AddParams& p, int64_t i) {
  p.sum[i] = p.alpha * p.dest[i] + p.beta * p.delta[i] + p.bias;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_UPDATE_CODE_H_
