#include "runtime/cuda/copies.h"

#include <algorithm>

#include "runtime/cuda/walks.h"

namespace ashlar::cuda {

int WidenElements(std::vector<CopyPart>& parts, int bytes) {
  for (CopyPart& part : parts) OrderByMemory(part.shape, part.strides);
  for (; bytes < 16; bytes *= 2) {
    for (const CopyPart& part : parts) {
      const int inner = part.shape.rank() - 1;
      if (part.shape[inner] % 2 != 0) return bytes;
      for (size_t k = 0; k < 2; ++k) {
        if (part.strides[k][inner] != 1 || part.base[k] % 2 != 0) return bytes;
        for (int axis = 0; axis < inner; ++axis) {
          if (part.strides[k][axis] % 2 != 0) return bytes;
        }
      }
    }
    for (CopyPart& part : parts) {
      const int inner = part.shape.rank() - 1;
      part.shape[inner] /= 2;
      for (size_t k = 0; k < 2; ++k) {
        part.base[k] /= 2;
        for (int axis = 0; axis < inner; ++axis) part.strides[k][axis] /= 2;
      }
    }
  }
  return bytes;
}

std::vector<CopyParams> MakeCopies(std::vector<CopyPart> parts, DType dtype) {
  const int element = WidenElements(parts, static_cast<int>(SizeOf(dtype)));
  std::vector<CopyParams> launches;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i % kMaxParts == 0) launches.emplace_back();
    CopyParams& params = launches.back();
    params.element = element;
    Walk<2>& walk = params.walk[params.parts++];
    walk = MakeWalk<2>(parts[i].shape, parts[i].strides);
    for (size_t k = 0; k < 2; ++k) walk.base[k] = parts[i].base[k];
    params.most_elements = std::max(params.most_elements, walk.extents.elements);
  }
  return launches;
}

}  // namespace ashlar::cuda
