#include "serialization/tflite/sparse.h"

#include <cstring>
#include <vector>

#include "graph/status.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

template <typename Vector>
void Append(const Vector* vector, std::vector<int64_t>& values) {
  if (vector == nullptr || vector->values() == nullptr) return;
  for (const auto value : *vector->values()) values.push_back(value);
}

// One level of the traversal, and where its index goes.
struct Level {
  bool sparse = false;
  int64_t size = 0;
  int64_t stride = 0;  // of its index, in elements of the tensor
  std::vector<int64_t> segments = {}, indices = {};
};

class Densifier {
 public:
  Densifier(DType dtype, const Shape& shape, absl::Span<const uint8_t> bytes)
      : bytes_(bytes), size_(SizeOf(dtype)), dense_(HostTensor::Zeros(dtype, shape)) {}

  absl::Status AddLevels(const tflite::Sparsity& sparsity);
  // Visits the elements below element `parent` of the level before.
  absl::Status Visit(size_t level, int64_t parent, int64_t offset);
  absl::StatusOr<HostTensor> Finish() &&;

 private:
  absl::Span<const uint8_t> bytes_;
  int64_t size_, read_ = 0, visited_ = 0;
  HostTensor dense_;
  std::vector<Level> levels_;
};

absl::Status Densifier::AddLevels(const tflite::Sparsity& sparsity) {
  const Shape& shape = dense_.shape();
  const auto rank = static_cast<size_t>(shape.rank());
  const auto* const order = sparsity.traversal_order();
  const auto* const dimensions = sparsity.dimensions();
  const size_t blocks = sparsity.block_map() == nullptr ? 0 : sparsity.block_map()->size();
  if (order == nullptr || dimensions == nullptr || order->size() != rank + blocks ||
      dimensions->size() != rank + blocks || rank + blocks > 2 * Shape::kMaxRank) {
    return Reject("sparse levels do not fit ", shape.ToString(), " and ", blocks, " blocks");
  }
  const auto strides = ContiguousStrides(shape);
  std::vector<int64_t> inside(rank, 1);  // the size of the block in a dimension
  std::vector<bool> seen(rank + blocks, false);
  levels_.resize(rank + blocks);
  // Blocks come last, and say how far an index of their dimension reaches.
  for (size_t at = rank + blocks; at-- > 0;) {
    const auto place = static_cast<flatbuffers::uoffset_t>(at);
    const auto number = static_cast<size_t>(order->Get(place));
    const bool block = number >= rank;
    if (number >= rank + blocks || seen[number] || block != (at >= rank)) {
      return Reject("traversal order ", order->Get(place), " at level ", at);
    }
    seen[number] = true;
    const size_t axis = block ? static_cast<size_t>(sparsity.block_map()->Get(
                                    static_cast<flatbuffers::uoffset_t>(number - rank)))
                              : number;
    if (axis >= rank) return Reject("block of dimension ", axis);
    const tflite::Dimension& dimension = *dimensions->Get(place);
    Level& level = levels_[at];
    level.sparse = dimension.format() == tflite::DimensionType::SPARSE_CSR;
    level.stride = strides[axis] * (block ? 1 : inside[axis]);
    const int64_t whole = shape[static_cast<int>(axis)];
    level.size = level.sparse ? (block ? whole : whole / inside[axis]) : dimension.dense_size();
    if (level.size < 0 || level.size > whole || (block && inside[axis] != 1) ||
        (!block && level.size * inside[axis] != whole)) {
      return Reject("level ", at, " of ", level.size, " elements, for dimension ", axis, " of ",
                    shape.ToString());
    }
    if (block) inside[axis] = level.size;
    Append(dimension.segments_as_Int32Vector(), level.segments);
    Append(dimension.segments_as_Uint16Vector(), level.segments);
    Append(dimension.segments_as_Uint8Vector(), level.segments);
    Append(dimension.indices_as_Int32Vector(), level.indices);
    Append(dimension.indices_as_Uint16Vector(), level.indices);
    Append(dimension.indices_as_Uint8Vector(), level.indices);
  }
  return absl::OkStatus();
}

absl::Status Densifier::Visit(size_t at, int64_t parent, int64_t offset) {
  // Segments may overlap, but then they hold more elements than the tensor.
  if (++visited_ > dense_.num_elements() * 2 * Shape::kMaxRank + 1) {
    return Reject("more sparse elements than ", dense_.shape().ToString(), " has");
  }
  if (at == levels_.size()) {
    if (read_ > static_cast<int64_t>(bytes_.size()) - size_) {
      return Reject(bytes_.size(), " bytes are fewer than its sparse elements");
    }
    std::memcpy(static_cast<char*>(dense_.mutable_raw()) + offset * size_, bytes_.data() + read_,
                static_cast<size_t>(size_));
    read_ += size_;
    return absl::OkStatus();
  }
  const Level& level = levels_[at];
  if (!level.sparse) {
    for (int64_t i = 0; i < level.size; ++i) {
      ASHLAR_RETURN_IF_ERROR(Visit(at + 1, parent * level.size + i, offset + i * level.stride));
    }
    return absl::OkStatus();
  }
  const auto count = static_cast<int64_t>(level.segments.size());
  if (parent + 1 >= count) return Reject("level ", at, " has ", count, " segments");
  const int64_t begin = level.segments[static_cast<size_t>(parent)];
  const int64_t end = level.segments[static_cast<size_t>(parent) + 1];
  if (begin < 0 || end > static_cast<int64_t>(level.indices.size())) {
    return Reject("level ", at, " has a segment from ", begin, " to ", end, " of ",
                  level.indices.size(), " indices");
  }
  for (int64_t i = begin; i < end; ++i) {
    const int64_t index = level.indices[static_cast<size_t>(i)];
    if (index < 0 || index >= level.size) {
      return Reject("level ", at, " has index ", index, ", expected less than ", level.size);
    }
    ASHLAR_RETURN_IF_ERROR(Visit(at + 1, i, offset + index * level.stride));
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> Densifier::Finish() && {
  if (read_ != static_cast<int64_t>(bytes_.size())) {
    return Reject(bytes_.size(), " bytes, of which its sparse elements are ", read_);
  }
  return std::move(dense_);
}

}  // namespace

absl::StatusOr<HostTensor> DensifyTflite(const tflite::Sparsity& sparsity, DType dtype,
                                         const Shape& shape, absl::Span<const uint8_t> bytes) {
  Densifier densifier(dtype, shape, bytes);
  ASHLAR_RETURN_IF_ERROR(densifier.AddLevels(sparsity));
  ASHLAR_RETURN_IF_ERROR(densifier.Visit(0, 0, 0));
  return std::move(densifier).Finish();
}

}  // namespace ashlar
