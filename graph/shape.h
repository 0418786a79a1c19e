// Shapes and the storage format of a tensor, with checked sizes.
#ifndef ASHLAR_GRAPH_SHAPE_H_
#define ASHLAR_GRAPH_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/quantization.h"

namespace ashlar {

// Dimensions, outermost first. A shape from Make (or GraphBuilder) has at most kMaxRank dimensions,
// all of them non-negative, and a product that does not overflow.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  // The largest size of a tensor: 1 TiB. Sums of such sizes stay far from 2^63.
  static constexpr int64_t kMaxBytes = int64_t{1} << 40;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  // Checks the rank, the signs, and that elements x 8 bytes do not exceed kMaxBytes.
  static absl::StatusOr<Shape> Make(absl::Span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  void push_back(int64_t dim) { dims_.push_back(dim); }

  // The product of the dimensions; 1 for rank 0.
  int64_t num_elements() const;

  // "{10,3,224,224}"
  std::string ToString() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  absl::InlinedVector<int64_t, kMaxRank> dims_;
};

// How the elements of a tensor lie in memory.
enum class Format : uint8_t {
  kDefault,  // row-major, contiguous
  kNCHW16c,  // [N, ceil(C/16), H, W, 16]; the last block of channels is padded with zeros
  kNHCW16c,  // [N, H, ceil(C/16), W, 16]: as kNCHW16c, but each row of an image is contiguous
  kNHWC,     // [N, H, W, C]: channels last, no padding; the fastest for GPU kernels
};

// The formats that CPU kernels accept.
inline constexpr Format kFormats[] = {Format::kDefault, Format::kNCHW16c, Format::kNHCW16c};
inline constexpr int kNumFormats = 4;
inline constexpr int64_t kChannelBlock = 16;

absl::string_view Name(Format format);  // "NCHW", "NCHW16c", "NHCW16c", "NHWC"
// Returns the number of blocks of 16 that hold `channels`.
inline int64_t ChannelBlocks(int64_t channels) {
  return (channels + kChannelBlock - 1) / kChannelBlock;
}
inline bool IsBlocked(Format format) {
  return format == Format::kNCHW16c || format == Format::kNHCW16c;
}

// The type of a var. The shape is always the logical one (NCHW for images).
struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  Format format = Format::kDefault;
  Quantization quantization = {};  // empty unless the dtype is quantised

  // Returns the bytes of storage, including the padding of channels.
  int64_t bytes() const;
  // Returns the type with another shape, row-major.
  TensorType Reshaped(const Shape& other) const {
    return {dtype, other, Format::kDefault, quantization};
  }
  std::string ToString() const;  // "Float32{1,64,56,56}:NCHW16c", "QuantizedS8(0.5,3){1,8}"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Returns whether a tensor of this type may be stored in `format`, a device's image format. All
// hold Float32 and the 16-bit floats of rank 4; NHWC also holds quantised bytes.
bool MayBeImage(const TensorType& type, Format format);
// Returns the format of images of this type on a device with image format `format`: NHWC if
// quantised.
Format FormatOfImages(const TensorType& type, Format format);

// Distances in elements from one image, channel, row and pixel of a tensor {N,C,H,W} to the next.
// In blocked formats, `c` is the distance between blocks of channels.
struct ImageStrides {
  int64_t n = 0, c = 0, h = 0, w = 0;
  friend bool operator==(const ImageStrides&, const ImageStrides&) = default;
};
ImageStrides StridesOf(const TensorType& image);

// Broadcasts as NumPy does: aligned at the trailing dimension; in each pair the sizes are equal or
// one is 1.
absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b);

// Returns the distance in elements per dimension of a contiguous row-major tensor.
absl::InlinedVector<int64_t, Shape::kMaxRank> ContiguousStrides(const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_SHAPE_H_
