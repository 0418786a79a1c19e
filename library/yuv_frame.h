// Frames of luma (Y) and two chroma planes (U, V) of half its height and width, as cameras and
// video decoders give them, and the sums that make red, green and blue of them (ITU-R BT.601-7,
// BT.709-6: sections on the derivation of luminance and on quantisation).
#ifndef ASHLAR_LIBRARY_YUV_FRAME_H_
#define ASHLAR_LIBRARY_YUV_FRAME_H_

#include <array>

#include "absl/strings/string_view.h"

namespace ashlar {

// The order of the chroma, which lies in the rows after the luma.
struct YuvLayout {
  const char* name;
  bool interleaved;  // U and V by turns; otherwise one plane after the other
  bool starts_with_v;
};
// Returns null if the name is no layout.
const YuvLayout* FindYuvLayout(absl::string_view name);

struct YuvFrame {
  YuvLayout layout;
  bool bt709 = false;  // otherwise BT.601
  bool full = false;   // bytes from 0 to 255; otherwise luma is 16 to 235, chroma 16 to 240
};

// A colour is luma * y + u[colour] * U + v[colour] * V + offset[colour], by red, green and blue,
// in 0 to 255.
struct YuvSums {
  double luma;
  std::array<double, 3> u, v, offset;
};
YuvSums SumsOf(const YuvFrame& frame);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_YUV_FRAME_H_
