// The Float32 copy, in workspace, of the 16-bit input that a run of tiles reads.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_
#define ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_

#include "graph/region.h"
#include "opr/base/window.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/image_layout.h"

namespace ashlar::cpu {

// A box of the input.
struct InputBox {
  Range images, rows, columns;
};

// The layout of the copy of one group's input channels. Strides are in bytes.
struct WideningPlan {
  ImageStrides from;                     // c: between blocks, or between channels if row-major
  int64_t blocks = 0, block_floats = 0;  // if row-major: number of channels, and 1
  WidenFunction widen = nullptr;

  // The size of the largest box, whose strides are used for the copies of all boxes.
  int64_t images = 0, rows = 0, columns = 0;
  void Include(const InputBox& box);

  ImageStrides strides() const;
  int64_t bytes() const { return images * strides().n; }

  // Copies the box. `src` is the first channel of the group in image 0.
  void Widen(const char* src, const InputBox& box, float* to) const;
  // Returns the offset, from the copy of the box, of pixel (0, 0) of image 0.
  int64_t Origin(const InputBox& box) const {
    const ImageStrides step = strides();
    return -(box.images.begin * step.n + box.rows.begin * step.h + box.columns.begin * step.w);
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WIDENED_INPUT_H_
