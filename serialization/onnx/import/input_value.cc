#include "serialization/onnx/import/input_value.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/onnx/import/inputs.h"
#include "serialization/onnx/shown.h"

namespace ashlar {
namespace {

// A double holds all integers up to this.
constexpr double kMostExact = 9007199254740992;

}  // namespace

absl::StatusOr<HostTensor> OnnxInputValue(const onnx::ValueInfoProto& input,
                                          absl::Span<const double> numbers,
                                          const OnnxReadOptions& options) {
  const onnx::TypeProto::Tensor& declared = input.type().tensor_type();
  OnnxReadOptions shapes;
  shapes.shapes = options.shapes;
  const auto count = static_cast<int64_t>(numbers.size());
  const bool row = declared.shape().dim_size() == 1 && declared.shape().dim(0).dim_value() <= 0;
  if (!declared.has_shape()) {
    shapes.shapes.emplace(input.name(), count == 1 ? Shape() : Shape({count}));
  } else if (row) {
    shapes.shapes.emplace(input.name(), Shape({count}));
  }
  ASHLAR_ASSIGN_OR_RETURN(const TensorType type, OnnxInputType(input, shapes));
  const auto refuse = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("input ", Shown(input.name()), " is ", type.ToString(), why));
  };
  if (type.shape.num_elements() != count) {
    return refuse(absl::StrCat(", of ", type.shape.num_elements(), " elements; got a value of ",
                               count, count == 1 ? " number" : " numbers"));
  }
  HostTensor value = HostTensor::Zeros(type);
  for (int64_t i = 0; i < count; ++i) {
    const double number = numbers[static_cast<size_t>(i)];
    value.Set(i, number);
    const bool exact = IsFloat(type.dtype)
                           ? std::isfinite(value.At(i)) == std::isfinite(number)
                           : value.At(i) == number && std::abs(number) <= kMostExact;
    if (!exact) return refuse(absl::StrCat(", which does not hold the value ", number));
  }
  return value;
}

}  // namespace ashlar
