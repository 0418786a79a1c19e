// What a run of tiles reads of an image of Float16, as floats in workspace.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_
#define ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_

#include "graph/region.h"
#include "opr/window.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/image_layout.h"

namespace ashlar::cpu {

// Of the input.
struct InputBox {
  Range images, rows, columns;
};

// The channels that one group sees of an image. Strides are in bytes.
struct WideningPlan {
  ImageStrides from;  // c: from block to block, or in a row-major image channel to channel
  int64_t blocks = 0, block_floats = 0;  // channels and 1 in a row-major image
  WidenFunction widen = nullptr;

  // The largest box: its copy has these strides for all of them.
  int64_t images = 0, rows = 0, columns = 0;
  void Include(const InputBox& box);

  ImageStrides strides() const;
  int64_t bytes() const { return images * strides().n; }

  // `src`: the first channel of the group in image 0.
  void Widen(const char* src, const InputBox& box, float* to) const;
  // Where the input's pixel (0, 0) of image 0 would lie, from the copy of the box.
  int64_t Origin(const InputBox& box) const {
    const ImageStrides step = strides();
    return -(box.images.begin * step.n + box.rows.begin * step.h + box.columns.begin * step.w);
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_
