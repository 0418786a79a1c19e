#include "serialization/onnx/import/values.h"

#include <cstring>
#include <limits>

#include "opr/base/strided.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

// Calls each(i, a, b) with the index of an element of the result, and the indices of its operands.
template <typename Each>
void ForEachPair(const Shape& result, const Shape& a, const Shape& b, const Each& each) {
  Shape shape = result;
  std::array<Strides, 3> strides = {ContiguousStrides(result), BroadcastStrides(a, result),
                                    BroadcastStrides(b, result)};
  JoinDimensions(shape, strides);
  ForEachRow(shape, strides, std::numeric_limits<int64_t>::max(),
             [&](const std::array<int64_t, 3>& at, int64_t n) {
               for (int64_t i = 0; i < n; ++i) {
                 each(at[0] + i * strides[0].back(), at[1] + i * strides[1].back(),
                      at[2] + i * strides[2].back());
               }
             });
}

// Returns a constant computed from two constants of one dtype; `each` fills it.
template <typename Each>
OnnxVar Combined(OnnxNode& node, OnnxVar a, OnnxVar b, DType dtype, const Each& each) {
  if (!node.ok()) return kNoOnnxVar;
  const HostTensor *left = node.constant(a), *right = node.constant(b);
  if (left == nullptr || right == nullptr) {
    return node.Unsupported("of values that are not known before the run");
  }
  if (left->dtype() != right->dtype()) {
    return node.Invalid(absl::StrCat("of ", Name(left->dtype()), " and ", Name(right->dtype())));
  }
  const absl::StatusOr<Shape> shape = Broadcast(left->shape(), right->shape());
  if (!shape.ok()) return node.Fail(shape.status());
  std::optional<HostTensor> result = node.NewTensor(dtype, shape->dims());
  if (!result) return kNoOnnxVar;
  ForEachPair(*shape, left->shape(), right->shape(),
              [&](int64_t i, int64_t l, int64_t r) { each(*result, i, *left, l, *right, r); });
  return node.Constant(*std::move(result));
}

}  // namespace

OnnxVar OnnxSecondOperand(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = node.input(1);
  if (node.version() >= 7 || !node.ok()) return b;
  node.Ignore({"consumed_inputs"});
  const bool broadcast = node.Int("broadcast", 0) != 0;
  const bool from_axis = node.has_attribute("axis");
  const int64_t given = node.Int("axis", 0);
  if (!broadcast && node.shape(a) != node.shape(b)) {
    return node.Invalid(absl::StrCat("shapes ", node.shape(a).ToString(), " and ",
                                     node.shape(b).ToString(), " differ, and broadcast is 0"));
  }
  if (!broadcast || !from_axis) return b;
  const int rank = node.rank(a);
  const int axis = node.Axis(given, rank);
  if (axis + node.rank(b) > rank) {
    return node.Invalid(absl::StrCat("shape ", node.shape(b).ToString(), " from axis ", axis,
                                     " does not match ", node.shape(a).ToString()));
  }
  Shape along = node.shape(b);
  while (axis + along.rank() < rank) along.push_back(1);
  return node.Reshaped(b, along);
}

bool IsExactAsDouble(const HostTensor& scalar) {
  return WithNumber(scalar.dtype(), [&]<typename Number>(Number) {
    if constexpr (kWraps<Number>) {
      return Number::Truncated(scalar.At(0)) == NumberAt<Number>(scalar, 0);
    } else {
      return true;
    }
  });
}

OnnxVar OnnxCompared(OnnxNode& node, OnnxVar a, OnnxVar b, bool (*integers)(int64_t a, int64_t b),
                     bool (*numbers)(double a, double b)) {
  const bool exact = !IsFloat(node.dtype(a));
  // Moves Uint64 to numbers with a sign in the same order.
  const int64_t sign = node.dtype(a) == DType::kUint64 ? std::numeric_limits<int64_t>::min() : 0;
  return Combined(node, a, b, DType::kBool,
                  [&](HostTensor& to, int64_t i, const HostTensor& x, int64_t l,
                      const HostTensor& y, int64_t r) {
                    to.mutable_data<uint8_t>()[i] =
                        exact ? integers(x.IntegerAt(l) ^ sign, y.IntegerAt(r) ^ sign)
                              : numbers(x.At(l), y.At(r));
                  });
}

DType OnnxDTypeOr(OnnxNode& node, DType fallback) {
  if (!node.has_attribute("dtype")) return fallback;
  const absl::StatusOr<DType> given = ComputedAs(node.Int("dtype", 0));
  if (!given.ok()) node.Fail(given.status());
  return given.value_or(fallback);
}

void CopyElement(const HostTensor& from, int64_t j, HostTensor& to, int64_t i) {
  const int64_t size = SizeOf(from.dtype());
  std::memcpy(static_cast<char*>(to.mutable_raw()) + i * size,
              static_cast<const char*>(from.raw()) + j * size, static_cast<size_t>(size));
}

}  // namespace ashlar
