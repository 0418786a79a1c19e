#include "runtime/cuda/copy.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/walk.h"

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

namespace {

// Returns a kernel that copies input i by part i, in as many launches as needed.
KernelList CopyParts(std::string name, std::vector<CopyPart> parts, DType dtype) {
  const std::vector<CopyParams> launches = MakeCopies(std::move(parts), dtype);
  return OnlyLaunch(std::move(name), [launches](const KernelArgs& args, void* stream) {
    for (size_t l = 0; l < launches.size(); ++l) {
      CopyParams bound = launches[l];
      for (int i = 0; i < bound.parts; ++i) bound.in[i] = args.inputs[l * kMaxParts + i];
      bound.out = args.outputs[0];
      if (LaunchError error = Launch(bound, stream); error != nullptr) return error;
    }
    return LaunchError(nullptr);
  });
}

}  // namespace

absl::StatusOr<KernelList> PlainCopy(const KernelRequest& request) {
  const int64_t bytes = request.inputs[0].bytes();
  if (bytes == 0) return NoLaunch();
  return OnlyLaunch("copy", [bytes](const KernelArgs& args, void* stream) {
    return CopyBytes(args.outputs[0], args.inputs[0], bytes, stream);
  });
}

KernelList StridedCopy(const KernelRequest& request, int64_t base, Strides strides) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  CopyPart part{output.shape, {StridesOver(output, output.shape), std::move(strides)}, {0, base}};
  return CopyParts("copy:strided", {part}, output.dtype);
}

}  // namespace ashlar::cuda
