// Copies of tensors, as launches.
#ifndef ASHLAR_RUNTIME_CUDA_COPY_H_
#define ASHLAR_RUNTIME_CUDA_COPY_H_

#include <array>
#include <vector>

#include "graph/dtype.h"
#include "opr/strided.h"
#include "runtime/cuda/copy_code.h"
#include "runtime/cuda/launched_kernel.h"

namespace ashlar::cuda {

// One part of a copy: `shape` walked in two tensors, the output and the input, from two first
// elements on.
struct CopyPart {
  Shape shape;
  std::array<Strides, 2> strides;
  std::array<int64_t, 2> base = {0, 0};
};

// Orders the parts by the output's memory and joins elements of `bytes` into wider ones, while all
// parts allow it. Returns the bytes of an element, which shapes, strides and bases then count.
int WidenElements(std::vector<CopyPart>& parts, int bytes);

// Launches, without pointers, that copy part i from input i: kMaxParts parts in each but the last.
std::vector<CopyParams> MakeCopies(std::vector<CopyPart> parts, DType dtype);

// The elements lie in the same order: Reshape, OutputCallback, a relayout to the same format.
absl::StatusOr<KernelList> PlainCopy(const KernelRequest& request);

// Output 0 from input 0, whose elements lie at `strides` from element `base` on in its order.
KernelList StridedCopy(const KernelRequest& request, int64_t base, Strides strides);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_COPY_H_
