#include "runtime/cpu/resize_planes.h"

#include <utility>

namespace ashlar::cpu {

Taps AllOf(int64_t size) {
  Taps taps{1, size, std::vector<int32_t>(static_cast<size_t>(size)),
            std::vector<float>(static_cast<size_t>(size), 1.0f)};
  for (int64_t i = 0; i < size; ++i) taps.index[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  return taps;
}

Taps TapsFor(const ResizeParam& param, const ResizeAxis& axis) {
  ResizeTaps exact = TapsOf(param, axis);
  return {exact.taps, axis.output, std::move(exact.index),
          std::vector<float>(exact.weight.begin(), exact.weight.end())};
}

std::optional<Planes> PlanesOf(const ResizeParam& param, const std::vector<ResizeAxis>& axes,
                               const TensorType& x, const TensorType& y) {
  const Shape& shape = x.shape;
  int first = shape.rank(), last = -1;
  for (const ResizeAxis& axis : axes) {
    first = std::min(first, axis.axis);
    last = std::max(last, axis.axis);
  }
  if (axes.empty() || last - first > 1) return std::nullopt;
  // A single axis is combined with the next one, or the last axis with the one before, so that rows
  // are longer.
  if (first == last && last + 1 == shape.rank() && last > 0) --first;
  if (first == last && last + 1 < shape.rank()) ++last;
  if (x.format != Format::kDefault) first = 2, last = 3;
  Planes p;
  p.h = first == last ? Taps() : AllOf(shape[first]);
  p.w = AllOf(shape[last]);
  for (const ResizeAxis& axis : axes) {
    const Taps taps = TapsFor(param, axis);
    if (std::any_of(taps.index.begin(), taps.index.end(), [](int32_t i) { return i < 0; })) {
      return std::nullopt;
    }
    (axis.axis == last ? p.w : p.h) = taps;
  }
  p.columns = shape[last];
  if (IsBlocked(x.format)) {
    const ImageStrides from = StridesOf(x), to = StridesOf(y);
    p.images = shape[0];
    p.groups = ChannelBlocks(shape[1]);
    p.lanes = kChannelBlock;
    p.from = {from.n, from.c, from.h};
    p.to = {to.n, to.c, to.h};
    return p;
  }
  if (x.format == Format::kNHWC) {
    p.images = shape[0];
    p.lanes = shape[1];
  } else {
    for (int i = 0; i < std::min(first, last); ++i) p.images *= shape[i];
    for (int i = last + 1; i < shape.rank(); ++i) p.lanes *= shape[i];
  }
  p.from.row = shape[last] * p.lanes;
  p.from.image = p.from.row * (first == last ? 1 : shape[first]);
  p.to.row = p.w.outputs * p.lanes;
  p.to.image = p.to.row * p.h.outputs;
  return p;
}

}  // namespace ashlar::cpu
