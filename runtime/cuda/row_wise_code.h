// Operators along rows: softmax in three passes over each row by a team (largest element, sum of
// exponentials, quotients). Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_ROW_WISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_ROW_WISE_CODE_H_

#include <cmath>

#include "runtime/cuda/fold.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// The parameters of a softmax over rows of `length` elements, `step` apart. Row r begins at r /
// step * step * length + r % step. The output is Float32; it may overwrite the input if that is
// Float32 too.
struct SoftmaxParams {
  int64_t rows = 0, length = 0, step = 1;
  Scalar from = Scalar::kFloat32;
  const void* in = nullptr;
  float* out = nullptr;
};
LaunchError Launch(const SoftmaxParams& params, void* stream);

template <typename From, typename Team>
ASHLAR_HD void SoftmaxAt(const SoftmaxParams& p, int64_t row, const Team& team) {
  const int64_t begin = row / p.step * p.step * p.length + row % p.step;
  const From* const in = static_cast<const From*>(p.in) + begin;
  float* const out = p.out + begin;
  const FoldTwo<float> most = {FoldKind::kMax}, sum = {FoldKind::kSum};
  float largest = -INFINITY;
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    largest = most(largest, ToFloat(in[i * p.step]));
  }
  largest = team.All(largest, most);
  float total = 0;
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    total += expf(ToFloat(in[i * p.step]) - largest);
  }
  total = team.All(total, sum);
  for (int64_t i = team.rank(); i < p.length; i += team.size()) {
    out[i * p.step] = expf(ToFloat(in[i * p.step]) - largest) / total;
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_ROW_WISE_CODE_H_
