#include "opr/base/strided.h"

#include <cstring>

namespace ashlar {

Strides BroadcastStrides(const Shape& from, const Shape& to) {
  const Strides contiguous = ContiguousStrides(from);
  Strides strides(to.rank(), 0);
  const int leading = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1) strides[leading + axis] = contiguous[axis];
  }
  return strides;
}

void LoadRow(const HostTensor& tensor, int64_t offset, int64_t stride, absl::Span<double> row) {
  if (stride == 0) {
    std::fill(row.begin(), row.end(), tensor.At(offset));
  } else if (tensor.dtype() == DType::kFloat32) {
    const float* from = tensor.data<float>().data() + offset;
    for (size_t i = 0; i < row.size(); ++i) row[i] = from[static_cast<int64_t>(i) * stride];
  } else {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = tensor.At(offset + static_cast<int64_t>(i) * stride);
    }
  }
}

void StoreRow(absl::Span<const double> row, int64_t offset, HostTensor& tensor) {
  if (tensor.dtype() == DType::kFloat32) {
    float* to = tensor.mutable_data<float>().data() + offset;
    for (size_t i = 0; i < row.size(); ++i) to[i] = static_cast<float>(row[i]);
  } else {
    for (size_t i = 0; i < row.size(); ++i) tensor.Set(offset + static_cast<int64_t>(i), row[i]);
  }
}

void CopyStrided(const HostTensor& from, int64_t offset, const Strides& strides, HostTensor& to) {
  if (to.num_elements() == 0) return;
  const size_t size = static_cast<size_t>(SizeOf(from.dtype()));
  Shape shape = to.shape();
  std::array<Strides, 1> walk = {strides};
  JoinDimensions(shape, walk);
  const char* source = static_cast<const char*>(from.raw()) + offset * SizeOf(from.dtype());
  char* target = static_cast<char*>(to.mutable_raw());
  ForEachRow(shape, walk, shape[shape.rank() - 1], [&](const auto& at, int64_t length) {
    for (int64_t i = 0; i < length; ++i, target += size) {
      std::memcpy(target, source + (at[0] + i * walk[0].back()) * SizeOf(from.dtype()), size);
    }
  });
}

StorageGrid GridOf(const TensorType& type) {
  StorageGrid grid{type.shape, SizeOf(type.dtype)};
  for (int axis = 0; axis < type.shape.rank(); ++axis) grid.order.push_back(axis);
  if (IsBlocked(type.format)) {
    grid.dims[1] = ChannelBlocks(grid.dims[1]);
    grid.unit_bytes *= kChannelBlock;
  }
  if (type.format == Format::kNHCW16c) std::swap(grid.order[1], grid.order[2]);
  if (type.format == Format::kNHWC) grid.order = {0, 2, 3, 1};
  return grid;
}

int64_t ContiguousOffset(const StorageGrid& grid, absl::Span<const int64_t> start,
                         absl::Span<const int64_t> count) {
  int64_t offset = 0, stride = 1;
  bool partial = false;  // a dimension further in is cut
  for (int i = grid.dims.rank() - 1; i >= 0; --i) {
    const int axis = grid.order[i];
    if (partial && count[axis] != 1) return -1;
    partial = partial || count[axis] != grid.dims[axis];
    offset += start[axis] * stride;
    stride *= grid.dims[axis];
  }
  return offset * grid.unit_bytes;
}

}  // namespace ashlar
