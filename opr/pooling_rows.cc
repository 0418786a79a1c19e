#include "opr/pooling_rows.h"

#include <optional>

#include "opr/base/checks.h"
#include "opr/base/host_value.h"
#include "opr/base/operands.h"
#include "opr/quantized_pooling.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(PoolingRows)

namespace {

// Returns the type of the result of some strips.
TensorType TypeSoFar(PoolingMode mode, const TensorType& strip) {
  const Shape shape = {strip.shape[0], strip.shape[1], 1, 1};
  if (mode == PoolingMode::kMax) return strip.Reshaped(shape);
  const bool exact = IsQuantized(strip.dtype) && mode == PoolingMode::kAverage;
  return {exact ? DType::kInt32 : DType::kFloat32, shape};
}

// Evaluates one channel: `before` is null at the first strip.
template <typename Element>
double PoolChannel(PoolingMode mode, int64_t rows, int64_t columns, const double* before,
                   const Element& element) {
  double total = before != nullptr ? *before : mode == PoolingMode::kMax ? element(0, 0) : 0;
  for (int64_t y = 0; y < rows; ++y) {
    for (int64_t x = 0; x < columns; ++x) {
      const double value = element(y, x);
      if (mode != PoolingMode::kMax) {
        total += value;
      } else if (value > total || value != value) {  // propagates NaN
        total = value;
      }
    }
  }
  return total;
}

}  // namespace

PoolingParam WholePooling(const PoolingRowsParam& param, const TensorType& strip) {
  PoolingParam whole;
  whole.mode = param.mode;
  whole.window_h = param.rows;
  whole.window_w = strip.shape[3];
  whole.output = param.output;
  return whole;
}

absl::StatusOr<std::vector<TensorType>> PoolingRows::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.size() != 1) ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& strip = inputs[kStrip].type;
  const bool quantized = strip.dtype != DType::kFloat32;
  ASHLAR_RETURN_IF_ERROR(quantized ? CheckBytesImage("the strip", strip)
                                   : CheckImage("the strip", strip));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("the strip", strip));
  const TensorType so_far = TypeSoFar(param().mode, strip);
  if (inputs.size() == 2) {
    ASHLAR_RETURN_IF_ERROR(CheckType("the result before", inputs[kBefore].type, so_far));
  }
  if (param().rows == 0) {
    if (param().output.absent()) return std::vector<TensorType>{so_far};
    return absl::InvalidArgumentError("scale is for the last strip");
  }
  const int64_t least = strip.shape[2] + (inputs.size() == 2 ? 1 : 0);
  if (param().rows < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows is ", param().rows, ", expected at least ", least));
  }
  PoolingGeometry whole;
  whole.batch = strip.shape[0];
  whole.channels = strip.shape[1];
  whole.h = {.input = param().rows, .window = param().rows, .output = 1};
  whole.w = {.input = strip.shape[3], .window = strip.shape[3], .output = 1};
  if (quantized) return InferQuantizedPooling(WholePooling(param(), strip), whole, inputs[kStrip]);
  if (!param().output.absent()) return absl::InvalidArgumentError("scale is for quantised images");
  return std::vector<TensorType>{so_far};
}

absl::StatusOr<std::vector<HostTensor>> PoolingRows::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& strip = inputs[kStrip];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Infer(InfosOf(inputs)));
  const TensorType& type = types[0];
  const PoolingMode mode = param().mode;
  const bool quantized = IsQuantized(strip.dtype());
  const int64_t rows = strip.shape()[2], columns = strip.shape()[3];
  const Quantization& of_strip = strip.quantization();
  HostTensor output = HostTensor::Zeros(type);
  for (int64_t plane = 0; plane < output.num_elements(); ++plane) {
    const auto at = [&](int64_t y, int64_t x) {
      return strip.At((plane * rows + y) * columns + x);
    };
    std::optional<double> before;
    if (inputs.size() == 2) before = inputs[kBefore].At(plane);
    const double* const start = before ? &*before : nullptr;
    if (!quantized || mode == PoolingMode::kMax) {
      const double total = PoolChannel(mode, rows, columns, start, at);
      const auto count = static_cast<double>(param().rows * columns);
      output.Set(plane, mode != PoolingMode::kMax && param().rows > 0 ? total / count : total);
      continue;
    }
    const PoolingParam whole = WholePooling(param(), {strip.dtype(), strip.shape()});
    if (mode == PoolingMode::kAverage) {
      const double sum = PoolChannel(mode, rows, columns, start, [&](int64_t y, int64_t x) {
        return at(y, x) - of_strip.zero_point();
      });
      const auto mean = [&] {
        return PooledTypes(whole, of_strip, type).ExactMean(static_cast<int32_t>(sum));
      };
      output.Set(plane, param().rows == 0 ? sum : mean());
      continue;
    }
    float sum = before ? static_cast<float>(*before) : 0;  // in order
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < columns; ++x) {
        sum += static_cast<float>(at(y, x) - of_strip.zero_point()) * of_strip.scale();
      }
    }
    const auto mean = [&] {
      return PooledTypes(whole, of_strip, type)
          .Mean(sum, static_cast<float>(param().rows * columns));
    };
    output.Set(plane, param().rows == 0 ? sum : mean());
  }
  return std::vector<HostTensor>{std::move(output)};
}

// The result before has the output's bytes, unless the last strip rounds it to 8 bits.
Aliasing PoolingRows::aliasing(const Site& site) const {
  if (site.inputs.size() < 2 || site.inputs[kBefore].type.dtype != site.outputs[0].dtype) return {};
  return {.overwrites = {{0, kBefore}}};
}

std::optional<std::vector<Region>> PoolingRows::InputRegions(const Region& output,
                                                             const Site& site) const {
  const Shape& strip = site.inputs[kStrip].type.shape;
  if (site.inputs.size() > 1 || output[1] != Range{0, strip[1]}) return std::nullopt;
  Region region = WholeRegion(strip);
  region[0] = output[0];
  return std::vector<Region>{std::move(region)};
}

std::optional<Replacement> PoolingRows::JoinRows(const Range& rows, const Site& site) const {
  if (site.inputs.size() > 1) return std::nullopt;
  PoolingRowsParam joined = {.mode = param().mode};
  if (rows.end == site.inputs[kStrip].type.shape[2]) joined = param();
  return JoinedRows(joined, rows.begin);
}

Replacement JoinedRows(const PoolingRowsParam& param, int64_t begin) {
  Replacement joined{std::make_shared<const PoolingRows>(param), OwnOperands(1)};
  if (begin > 0) joined.operands.push_back(FromBefore());
  return joined;
}

int64_t PoolingRows::Computation(const Site& site) const {
  return site.inputs[kStrip].type.shape.num_elements();
}

}  // namespace ashlar
