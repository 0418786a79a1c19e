#include "runtime/cpu/conv/widened_input.h"

#include <algorithm>

#include "runtime/cpu/element.h"

namespace ashlar::cpu {

void WideningPlan::Include(const InputBox& box) {
  images = std::max(images, box.images.size());
  rows = std::max(rows, box.rows.size());
  columns = std::max(columns, box.columns.size());
}

// The order is image, block, row, column.
ImageStrides WideningPlan::strides() const {
  ImageStrides step;
  step.w = block_floats * kFloatBytes;
  step.h = columns * step.w;
  step.c = rows * step.h;
  step.n = blocks * step.c;
  return step;
}

void WideningPlan::Widen(const char* src, const InputBox& box, float* to) const {
  const ImageStrides step = strides();
  const int64_t width = box.columns.size();
  const bool together = from.w == block_floats * kHalfBytes;
  for (int64_t n = 0; n < box.images.size(); ++n) {
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t y = 0; y < box.rows.size(); ++y) {
        const char* const row = src + (box.images.begin + n) * from.n + block * from.c +
                                (box.rows.begin + y) * from.h + box.columns.begin * from.w;
        float* const target = to + (n * step.n + block * step.c + y * step.h) / kFloatBytes;
        if (together) {
          widen(reinterpret_cast<const uint16_t*>(row), target, width * block_floats);
          continue;
        }
        for (int64_t x = 0; x < width; ++x) {
          widen(reinterpret_cast<const uint16_t*>(row + x * from.w), target + x * block_floats,
                block_floats);
        }
      }
    }
  }
}

}  // namespace ashlar::cpu
