#include "graph/shape.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {

absl::StatusOr<Shape> Shape::Make(absl::Span<const int64_t> dims) {
  if (static_cast<int>(dims.size()) > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape of rank ", dims.size(), ", at most ", kMaxRank, " allowed"));
  }
  Shape shape(dims);
  int64_t bytes = 8;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(absl::StrCat("negative dimension in ", shape.ToString()));
    }
    empty = empty || dim == 0;
    // A zero elsewhere does not excuse an overflow of the other dimensions.
    if (dim > 0 && (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxBytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", shape.ToString(), " is larger than ", kMaxBytes, " bytes"));
    }
  }
  return shape;
}

int64_t Shape::num_elements() const {
  int64_t product = 1;
  for (int64_t dim : dims_) product *= dim;
  return product;
}

std::string Shape::ToString() const { return absl::StrCat("{", absl::StrJoin(dims_, ","), "}"); }

absl::string_view Name(Format format) {
  constexpr absl::string_view kNames[kNumFormats] = {"NCHW", "NCHW16c", "NHCW16c", "NHWC"};
  return kNames[static_cast<int>(format)];
}

ImageStrides StridesOf(const TensorType& image) {
  const Shape& shape = image.shape;
  const int64_t blocks = ChannelBlocks(shape[1]), row = shape[3] * kChannelBlock;
  switch (image.format) {
    case Format::kDefault:
      return {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
    case Format::kNCHW16c:
      return {blocks * shape[2] * row, shape[2] * row, row, kChannelBlock};
    case Format::kNHCW16c:
      return {blocks * shape[2] * row, row, blocks * row, kChannelBlock};
    case Format::kNHWC:
      return {shape[2] * shape[3] * shape[1], 1, shape[3] * shape[1], shape[1]};
  }
  return {};
}

int64_t TensorType::bytes() const {
  int64_t elements = shape.num_elements();
  if (IsBlocked(format)) {
    elements = shape[0] * ChannelBlocks(shape[1]) * kChannelBlock * shape[2] * shape[3];
  }
  return elements * SizeOf(dtype);
}

bool MayBeImage(const TensorType& type, Format format) {
  const bool dtype = IsFloat(type.dtype) && type.dtype != DType::kFloat64;
  const bool bytes = format == Format::kNHWC && IsQuantizedTo8Bits(type.dtype);
  return (dtype || bytes) && type.shape.rank() == 4;
}

Format FormatOfImages(const TensorType& type, Format format) {
  return IsQuantized(type.dtype) ? Format::kNHWC : format;
}

std::string TensorType::ToString() const {
  std::string text = absl::StrCat(Name(dtype), quantization.ToString(), shape.ToString());
  if (format != Format::kDefault) absl::StrAppend(&text, ":", Name(format));
  return text;
}

absl::StatusOr<Shape> Broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(), " do not broadcast"));
    }
    result.push_back(da == 1 ? db : da);
  }
  return Shape::Make(result.dims());
}

absl::InlinedVector<int64_t, Shape::kMaxRank> ContiguousStrides(const Shape& shape) {
  absl::InlinedVector<int64_t, Shape::kMaxRank> strides(shape.rank());
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

}  // namespace ashlar
