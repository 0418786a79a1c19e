#include "library/yuv_frame.h"

namespace ashlar {

const YuvLayout* FindYuvLayout(absl::string_view name) {
  static constexpr YuvLayout kLayouts[] = {
      {"nv12", true, false}, {"nv21", true, true}, {"i420", false, false}, {"yv12", false, true}};
  for (const YuvLayout& layout : kLayouts) {
    if (name == layout.name) return &layout;
  }
  return nullptr;
}

YuvSums SumsOf(const YuvFrame& frame) {
  // Luma has these shares of red and blue. U is (blue - luma) / (2 - 2 * share of blue), and V the
  // same of red.
  const double red = frame.bt709 ? 0.2126 : 0.299, blue = frame.bt709 ? 0.0722 : 0.114;
  const double green = 1 - red - blue;
  const double luma = frame.full ? 1 : 255.0 / 219, chroma = frame.full ? 1 : 255.0 / 224;
  const double of_v = 2 * (1 - red) * chroma, of_u = 2 * (1 - blue) * chroma;
  YuvSums sums = {luma, {0, -of_u * blue / green, of_u}, {of_v, -of_v * red / green, 0}, {}};
  for (size_t c = 0; c < 3; ++c) {
    sums.offset[c] = -128 * (sums.u[c] + sums.v[c]) - (frame.full ? 0 : 16 * luma);
  }
  return sums;
}

}  // namespace ashlar
