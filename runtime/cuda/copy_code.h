// Copies between layouts, one thread per element. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_COPY_CODE_H_
#define ASHLAR_RUNTIME_CUDA_COPY_CODE_H_

#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// Copies elements of `element` bytes (1, 2, 4, 8 or 16) from one or more tensors into one. Operand
// 0 of a walk is the output.
inline constexpr int kMaxParts = 6;
struct CopyParams {
  int parts = 0;
  int element = 4;
  int64_t most_elements = 0;  // in one part
  Walk<2> walk[kMaxParts];
  const void* in[kMaxParts] = {};
  void* out = nullptr;
};
LaunchError Launch(const CopyParams& params, void* stream);

template <typename Word>
ASHLAR_HD void CopyAt(const CopyParams& p, int part, int64_t number) {
  if (number >= p.walk[part].extents.elements) return;
  int64_t at[2];
  Locate(p.walk[part], number, at);
  static_cast<Word*>(p.out)[at[0]] = static_cast<const Word*>(p.in[part])[at[1]];
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_COPY_CODE_H_
