// Copies of tensors as launches.
#ifndef ASHLAR_RUNTIME_CUDA_COPY_H_
#define ASHLAR_RUNTIME_CUDA_COPY_H_

#include <array>
#include <vector>

#include "graph/dtype.h"
#include "opr/base/strided.h"
#include "runtime/cuda/copy_code.h"
#include "runtime/cuda/launched_kernel.h"

namespace ashlar::cuda {

// A part of a copy, which walks `shape` in the output and the input from two given elements on.
struct CopyPart {
  Shape shape;
  std::array<Strides, 2> strides;
  std::array<int64_t, 2> base = {0, 0};
};

// Orders the parts by the output's memory and joins elements of `bytes` into wider ones as long as
// all parts allow it. Returns the bytes of the wider element. Shapes, strides and bases then count
// wider elements.
int WidenElements(std::vector<CopyPart>& parts, int bytes);

// Returns launches, without pointers, that copy part i from input i. Each launch except the last
// has kMaxParts parts.
std::vector<CopyParams> MakeCopies(std::vector<CopyPart> parts, DType dtype);

// Copies elements in the same order: Reshape, OutputCallback, a relayout to the same format.
absl::StatusOr<KernelList> PlainCopy(const KernelRequest& request);

// Copies input 0, read at `strides` from element `base` on, to output 0 in the output's order.
KernelList StridedCopy(const KernelRequest& request, int64_t base, Strides strides);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_COPY_H_
