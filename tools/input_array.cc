#include "tools/input_array.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "serialization/image.h"

namespace ashlar {
namespace {

// Transposes [N, rows, columns] to [N, columns, rows], in this shape.
HostTensor Transposed(const HostTensor& x, int64_t rows, int64_t columns, const Shape& shape) {
  HostTensor y = HostTensor::ZerosLike(x, shape);
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(y.mutable_raw());
  const int64_t size = SizeOf(x.dtype());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        std::memcpy(to + ((n * columns + c) * rows + r) * size,
                    from + ((n * rows + r) * columns + c) * size, static_cast<size_t>(size));
      }
    }
  }
  return y;
}

}  // namespace

HostTensor ToChannelsFirst(const HostTensor& x) {
  const Shape& s = x.shape();
  return Transposed(x, s[1] * s[2], s[3], {s[0], s[3], s[1], s[2]});
}

HostTensor ToChannelsLast(const HostTensor& x) {
  const Shape& s = x.shape();
  return Transposed(x, s[1], s[2] * s[3], {s[0], s[2], s[3], s[1]});
}

double OfChannel(const std::vector<double>& values, size_t c, double fallback) {
  if (values.empty()) return fallback;
  return values.size() == 1 ? values[0] : values[c];
}

HostTensor Normalised(const HostTensor& x, const std::vector<double>& mean,
                      const std::vector<double>& scale) {
  HostTensor y = HostTensor::Zeros(DType::kFloat32, x.shape());
  const int64_t channels = x.shape()[1];
  const int64_t plane = x.num_elements() / std::max<int64_t>(1, x.shape()[0] * channels);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i / plane % channels;
    y.mutable_data<float>()[i] =
        static_cast<float>((x.At(i) - OfChannel(mean, c, 0)) * OfChannel(scale, c, 1));
  }
  return y;
}

HostTensor Rounded(HostTensor x) {
  for (float& element : x.mutable_data<float>()) element = std::nearbyint(element);
  return x;
}

bool ArePixels(const HostTensor& array, const TensorType& type, bool nhwc) {
  const Shape& shape = array.shape();
  return array.dtype() == DType::kUint8 && shape.rank() == 3 && shape[2] == Pixels::kChannels &&
         (nhwc || shape[0] != Pixels::kChannels) && type.shape.rank() == 4 &&
         type.shape[1] == Pixels::kChannels;
}

HostTensor WithBatch(const HostTensor& array, const TensorType& type, bool nhwc) {
  const Shape& image = array.shape();
  const Shape& batch = type.shape;
  if (image.rank() + 1 != batch.rank()) return array;
  for (int i = 0; i < image.rank(); ++i) {
    const int dim = nhwc && batch.rank() == 4 ? (i + 1) % 3 : i;  // from H, W, C to C, H, W
    if (image[i] != batch[dim + 1]) return array;
  }
  std::vector<int64_t> dims(image.dims().begin(), image.dims().end());
  dims.insert(dims.begin(), 1);
  return array.Reshaped(*Shape::Make(dims));
}

HostTensor WithoutRuns(const HostTensor& array, const TensorType& type) {
  const Shape& runs = array.shape();
  const Shape& batch = type.shape;
  if (batch.rank() == 0 || runs.rank() != batch.rank() + 1 || runs[1] != batch[0]) return array;
  std::vector<int64_t> dims(runs.dims().begin() + 1, runs.dims().end());
  dims[0] *= runs[0];
  return array.Reshaped(Shape(dims));
}

}  // namespace ashlar
