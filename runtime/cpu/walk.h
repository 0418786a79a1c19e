// Loops over the elements of several tensors that have different memory layouts.
//
// Each operand has a stride for each dimension of the loop, in elements, which is 0 if it is
// broadcast. In the blocked formats a tensor has five dimensions, [N, blocks, H, W, 16]. If its
// channels do not fill the last block, there are two loops: one over the whole blocks, one over the
// last block.
#ifndef ASHLAR_RUNTIME_CPU_WALK_H_
#define ASHLAR_RUNTIME_CPU_WALK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "opr/base/strided.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {

// A loop over K operands. Unused operands have strides of 0.
template <size_t K>
struct RowLoop {
  Shape shape;
  std::array<Strides, K> strides;
  std::array<int64_t, K> base = {};  // offset of the first element, in elements
  int split = 0;                     // the dimension that threads share
};

// Joins dimensions and chooses the one to split: the outermost that gives enough work to all
// threads, otherwise the longest.
template <size_t K>
void PrepareRowLoop(RowLoop<K>& loop, int threads) {
  JoinDimensions(loop.shape, loop.strides);
  loop.split = 0;
  for (int axis = 0; axis < loop.shape.rank(); ++axis) {
    if (loop.shape[axis] > loop.shape[loop.split]) loop.split = axis;
    if (loop.shape[loop.split] >= 4 * threads) break;
  }
}

// Calls row(offsets, length) from several threads, for pieces of at most `max_length` elements
// along the innermost dimension. offsets[k] is the piece's first element in operand k; elements are
// strides[k].back() apart. If these are groups of elements, `of_group` is their size.
template <size_t K, typename Row>
void ParallelRows(const RowLoop<K>& loop, int threads, int64_t max_length, const Row& row,
                  int64_t of_group = 1) {
  const int64_t elements = loop.shape.num_elements() * of_group;
  if (elements == 0) return;
  const int64_t count = loop.shape[loop.split];
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (elements / count));
  ParallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
    Shape shape = loop.shape;
    shape[loop.split] = end - begin;
    std::array<int64_t, K> base = loop.base;
    for (size_t k = 0; k < K; ++k) base[k] += begin * loop.strides[k][loop.split];
    ForEachRow(shape, loop.strides, max_length,
               [&](std::array<int64_t, K> offsets, int64_t length) {
                 for (size_t k = 0; k < K; ++k) offsets[k] += base[k];
                 row(offsets, length);
               });
  });
}

// Returns the strides of `type` over a logical shape to which it broadcasts. The dimensions are the
// shape's own, or [N, blocks, H, W, 16] if `blocked`.
Strides StridesOver(const TensorType& type, const Shape& shape, bool blocked);

// Returns loops that together visit each logical element of operand 0 once. The other operands, at
// most K-1, are broadcast to it.
template <size_t K>
std::vector<RowLoop<K>> LoopsOver(const TensorType& first, absl::Span<const TensorType> others,
                                  int threads) {
  bool blocked = IsBlocked(first.format);
  for (const TensorType& type : others) blocked = blocked || IsBlocked(type.format);
  RowLoop<K> loop;
  loop.shape = first.shape;
  if (blocked) {
    loop.shape[1] /= kChannelBlock;
    loop.shape.push_back(kChannelBlock);
  }
  loop.strides.fill(Strides(loop.shape.rank(), 0));
  loop.strides[0] = StridesOver(first, first.shape, blocked);
  for (size_t k = 1; k <= others.size(); ++k) {
    loop.strides[k] = StridesOver(others[k - 1], first.shape, blocked);
  }
  int blocks = 1;
  bool channels_last = !blocked && first.format == Format::kNHWC;
  for (size_t k = 1; channels_last && k <= others.size(); ++k) {
    const bool per_channel = loop.strides[k][2] == 0 && loop.strides[k][3] == 0;
    channels_last = others[k - 1].format == Format::kNHWC || per_channel;
  }
  if (channels_last) {
    loop.shape = {first.shape[0], first.shape[2], first.shape[3], first.shape[1]};
    for (Strides& strides : loop.strides)
      strides = {strides[0], strides[2], strides[3], strides[1]};
  }
  if (first.format == Format::kNHCW16c) {  // follow the order of operand 0's memory
    blocks = 2;
    std::swap(loop.shape[1], loop.shape[2]);
    for (Strides& strides : loop.strides) std::swap(strides[1], strides[2]);
  }
  std::vector<RowLoop<K>> loops;
  if (!blocked || loop.shape[blocks] > 0) loops.push_back(loop);
  if (blocked && first.shape[1] % kChannelBlock != 0) {
    for (size_t k = 0; k < K; ++k) loop.base[k] = loop.shape[blocks] * loop.strides[k][blocks];
    loop.shape[blocks] = 1;
    loop.shape[4] = first.shape[1] % kChannelBlock;
    loops.push_back(loop);
  }
  for (RowLoop<K>& each : loops) PrepareRowLoop(each, threads);
  return loops;
}

// Sets the padding channels to zero, if `type` has any.
void ZeroChannelPadding(const TensorType& type, void* data);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_WALK_H_
