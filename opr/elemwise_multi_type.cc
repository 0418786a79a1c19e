#include "opr/elemwise_multi_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "opr/base/aliasing.h"
#include "opr/base/host_value.h"
#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ElemwiseMultiType)

namespace {

constexpr size_t kTableSize = 256;

float Dequantized(double number, DType dtype, const Quantization& of) {
  if (!IsQuantized(dtype)) return static_cast<float>(number);
  return static_cast<float>(number - of.zero_point()) * of.scale();
}

// Functions of one operand are rounded once. Others consist of few operations that are exact or
// correctly rounded.
float InFloat32(const ElemwiseParam& param, float a, float b, float c) {
  if (Arity(param.mode) == 1) return static_cast<float>(Apply(param, a));
  return WithFunction(param.mode, [&](auto function) {
    return static_cast<float>(Formula<function()>::Of(a, b, c));
  });
}

int32_t Rounded(float value, const TensorType& output) {
  return Quantize(value / output.quantization.scale(), output.quantization.zero_point(),
                  LeastOf(output.dtype), MostOf(output.dtype));
}

// Returns the output's integer of the sum of two integers, computed in doubles, which are exact.
double AddedExactly(const ElemwiseParam& param, const FixedPointSum& fixed,
                    absl::Span<const HostTensor> inputs, double a, double b,
                    const TensorType& output) {
  a -= inputs[0].quantization().zero_point();
  b -= inputs[1].quantization().zero_point();
  double steps = std::floor(std::ldexp(a * fixed.a + b * fixed.b, -fixed.shift) + 0.5);
  if (param.mode == ScalarFunction::kFuseAddRelu) steps = std::max(steps, 0.0);
  return std::clamp<double>(steps + output.quantization.zero_point(), LeastOf(output.dtype),
                            MostOf(output.dtype));
}

bool IsBytes(const TensorType& type) {
  return IsQuantizedTo8Bits(type.dtype) && type.quantization.scales().size() == 1;
}

// Returns InvalidArgument unless a table has an integer of the output for each of the input's.
absl::Status CheckTable(const ElemwiseMultiTypeParam& param, DType output) {
  const std::vector<int64_t>& table = param.table;
  if (table.empty()) return absl::OkStatus();
  if (table.size() != kTableSize || param.mode != ScalarFunction::kIdentity) {
    return absl::InvalidArgumentError(absl::StrCat("table has ", table.size(),
                                                   " integers, for mode ", RowOf(param.mode).name,
                                                   ", expected ", kTableSize, " for IDENTITY"));
  }
  for (const int64_t integer : table) {
    if (integer >= LeastOf(output) && integer <= MostOf(output)) continue;
    return absl::InvalidArgumentError(absl::StrCat("table has ", integer, ", expected ",
                                                   LeastOf(output), " to ", MostOf(output)));
  }
  return absl::OkStatus();
}

// Returns InvalidArgument unless fixed-point numbers can add the inputs.
absl::Status CheckFixedPointSum(const ElemwiseMultiTypeParam& param,
                                absl::Span<const InputInfo> inputs, float scale) {
  if (!param.fixed_point_sum) return absl::OkStatus();
  if (!param.adds() || !IsBytes(inputs[1].type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fixed_point_sum is for sums of two 8-bit tensors, mode is ", RowOf(param.mode).name,
        param.adds() ? absl::StrCat(", input 1 is ", inputs[1].type.ToString()) : ""));
  }
  const float a = inputs[0].type.quantization.scale(), b = inputs[1].type.quantization.scale();
  if (FixedPointSum::Between(a, b, scale)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("fixed_point_sum of scales ", a, " and ", b, " to ", scale,
                   ", expected both from 1/1024 to below 256 of the output's"));
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> ElemwiseMultiType::Infer(
    absl::Span<const InputInfo> inputs) const {
  const ScalarRow& row = RowOf(param().mode);
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, static_cast<size_t>(row.arity)));
  const Shape& shape = inputs[0].type.shape;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i].type;
    const absl::StatusOr<Shape> together = Broadcast(shape, type.shape);
    const bool fits = together.ok() && *together == shape;
    if (fits && (IsBytes(type) || (i > 0 && type.dtype == DType::kFloat32))) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " is ", type.ToString(), ", expected a quantised one of 8 bits and one scale",
        i == 0 ? "" : absl::StrCat(", or Float32, that broadcasts to ", shape.ToString())));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, QuantizedType(param().output, shape));
  ASHLAR_RETURN_IF_ERROR(CheckTable(param(), output.dtype));
  ASHLAR_RETURN_IF_ERROR(CheckFixedPointSum(param(), inputs, output.quantization.scale()));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> ElemwiseMultiType::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Infer(InfosOf(inputs)));
  const TensorType& type = types[0];
  HostTensor output = HostTensor::Zeros(type);
  if (!param().table.empty()) {
    const HostTensor& x = inputs[0];
    for (int64_t i = 0; i < output.num_elements(); ++i) {
      const auto at = static_cast<size_t>(x.At(i) - LeastOf(x.dtype()));
      output.Set(i, static_cast<double>(param().table[at]));
    }
    return std::vector<HostTensor>{std::move(output)};
  }
  std::array<Strides, 3> strides;  // of the inputs, over the output's shape
  strides.fill(Strides(type.shape.rank(), 0));
  for (size_t k = 0; k < inputs.size(); ++k) {
    strides[k] = BroadcastStrides(inputs[k].shape(), type.shape);
  }
  FixedPointSum fixed;
  if (inputs.size() == 2) {
    fixed = FixedSum(inputs[0].quantization(), inputs[1].quantization(), type.quantization);
  }
  Shape shape = type.shape;
  JoinDimensions(shape, strides);
  int64_t at = 0;
  ForEachRow(
      shape, strides, std::numeric_limits<int64_t>::max(),
      [&](const std::array<int64_t, 3>& offsets, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const auto number = [&](size_t k) {
            return inputs[k].At(offsets[k] + i * strides[k].back());
          };
          if (!fixed.absent()) {
            output.Set(at++, AddedExactly(param(), fixed, inputs, number(0), number(1), type));
            continue;
          }
          float values[3] = {};
          for (size_t k = 0; k < inputs.size(); ++k) {
            values[k] = Dequantized(number(k), inputs[k].dtype(), inputs[k].quantization());
          }
          output.Set(at++, Rounded(InFloat32(param(), values[0], values[1], values[2]), type));
        }
      });
  return std::vector<HostTensor>{std::move(output)};
}

FixedPointSum ElemwiseMultiType::FixedSum(const Quantization& a, const Quantization& b,
                                          const Quantization& output) const {
  if (!param().fixed_point_sum) return {};
  return FixedPointSum::Between(a.scale(), b.scale(), output.scale()).value_or(FixedPointSum());
}

std::array<uint8_t, 256> ElemwiseMultiType::Table(const TensorType& input,
                                                  const TensorType& output) const {
  std::array<uint8_t, 256> table;
  for (int32_t integer = LeastOf(input.dtype); integer <= MostOf(input.dtype); ++integer) {
    const size_t at = static_cast<size_t>(integer - LeastOf(input.dtype));
    table[static_cast<uint8_t>(integer)] = static_cast<uint8_t>(
        param().table.empty()
            ? Rounded(
                  InFloat32(param(), Dequantized(integer, input.dtype, input.quantization), 0, 0),
                  output)
            : param().table[at]);
  }
  return table;
}

StorageRules ElemwiseMultiType::storage_rules(const Site& site) const {
  return {.format = PointwiseOperator::storage_rules(site).format};
}

// The output may overwrite any operand of its shape that has bytes, of whatever type.
Aliasing ElemwiseMultiType::aliasing(const Site& site) const {
  Aliasing aliasing;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const TensorType& input = site.inputs[i].type;
    if (!IsBytes(input) || input.shape != site.outputs[0].shape) continue;
    for (const auto& overwrite : OverwritesBytes(static_cast<int>(i), site).overwrites) {
      aliasing.overwrites.push_back(overwrite);
    }
  }
  return aliasing;
}

int64_t ElemwiseMultiType::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

}  // namespace ashlar
