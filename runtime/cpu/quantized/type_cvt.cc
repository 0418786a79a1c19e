// TypeCvt between Float32 and 8 bits.
#include "opr/type_cvt.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/quantized/conversion_rows.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRow = kConvertedRow;

// Calls loop(steps), passing steps of 1 as compile-time constants.
template <typename Loop>
void WithSteps(const ConversionCall& call, const Loop& loop) {
  constexpr std::integral_constant<int64_t, 1> kOne;
  if (call.step_from == 1 && call.step_to == 1) return loop(kOne, kOne);
  if (call.step_from == 1) return loop(kOne, call.step_to);
  loop(call.step_from, call.step_to);
}

// Quantises at most kQuantized adjacent elements by multiplying with the inverse. If any result is
// near a half, recomputes all by division.
constexpr int64_t kQuantized = 64;
template <typename Count>
void QuantizeSome(const ConversionCall& call, const float* from, uint8_t* to, Count n) {
  uint8_t made[kQuantized];  // bytes in `to` might be part of `call`, for all the compiler knows
  int near_half = call.inverse == 0;
  for (int64_t i = 0; i < n; ++i) {
    const float steps = from[i] * call.inverse;
    near_half |= std::abs(steps - std::nearbyint(steps)) > kSurelyRounded;
    made[i] = static_cast<uint8_t>(Rounded(steps, call.rounding));
  }
  if (near_half != 0) {
    for (int64_t i = 0; i < n; ++i) {
      made[i] = static_cast<uint8_t>(Rounded(from[i] / call.scale, call.rounding));
    }
  }
  std::copy_n(made, n, to);
}

void QuantizeRow(const ConversionCall& call) {
  const auto* const from = static_cast<const float*>(call.from);
  auto* const to = static_cast<uint8_t*>(call.to);
  if (call.step_from == 1 && call.step_to == 1) {
    int64_t i = 0;
    for (; i + kQuantized <= call.n; i += kQuantized) {
      QuantizeSome(call, from + i, to + i, std::integral_constant<int64_t, kQuantized>());
    }
    if (i < call.n) QuantizeSome(call, from + i, to + i, call.n - i);
    return;
  }
  WithSteps(call, [&](auto step_from, auto step_to) {
    uint8_t bytes[kRow];  // written separately, so that the other loop is vectorised
    for (int64_t i = 0; i < call.n; ++i) {
      bytes[i] = static_cast<uint8_t>(Rounded(from[i * step_from] / call.scale, call.rounding));
    }
    for (int64_t i = 0; i < call.n; ++i) to[i * step_to] = bytes[i];
  });
}

template <typename Element>
void DequantizeRow(const ConversionCall& call) {
  const auto* const from = static_cast<const Element*>(call.from);
  auto* const to = static_cast<float*>(call.to);
  WithSteps(call, [&](auto step_from, auto step_to) {
    for (int64_t i = 0; i < call.n; ++i) {
      const int32_t steps = from[i * step_from] - call.rounding.zero_point;
      to[i * step_to] = static_cast<float>(steps) * call.scale;
    }
  });
}

}  // namespace

ConversionCall ConversionOf(const TensorType& integers) {
  const int32_t least = LeastOf(integers.dtype);
  return {nullptr,
          nullptr,
          0,
          1,
          1,
          integers.quantization.scale(),
          InverseOf(integers.quantization.scale()),
          RoundingBetween(least, least + 255, integers.quantization.zero_point())};
}

ConvertRow Quantizer(Isa isa) { return Versions<QuantizeRow>::For(isa); }

ConvertRow Dequantizer(DType from, Isa isa) {
  return from == DType::kQuantizedS8 ? Versions<DequantizeRow<int8_t>>::For(isa)
                                     : Versions<DequantizeRow<uint8_t>>::For(isa);
}

bool IsQuantizedConversion(const TensorType& from, const TensorType& to) {
  const bool quantizes = from.dtype == DType::kFloat32;
  const TensorType &floats = quantizes ? from : to, &integers = quantizes ? to : from;
  return floats.dtype == DType::kFloat32 && IsQuantized(integers.dtype) &&
         SizeOf(integers.dtype) == 1 && integers.quantization.scales().size() == 1 &&
         !(quantizes && IsBlocked(to.format));
}

KernelList QuantizedConversionKernels(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  const bool quantizes = from.dtype == DType::kFloat32;
  const TensorType& integers = quantizes ? to : from;
  const ConversionCall call = ConversionOf(integers);
  const Isa isa = request.processor.isa;
  const ConvertRow row = quantizes ? Quantizer(isa) : Dequantizer(from.dtype, isa);
  const int64_t size_from = SizeOf(from.dtype), size_to = SizeOf(to.dtype);
  const auto loops = LoopsOver<2>(to, request.inputs, request.threads);
  return OnlyKernel(absl::StrCat("int8:convert:", Name(isa)), [=, threads = request.threads](
                                                                  const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        ConversionCall each = call;
        each.to = args.Output<uint8_t>(0) + at[0] * size_to;
        each.from = args.Input<uint8_t>(0) + at[1] * size_from;
        each.n = n;
        each.step_to = loop.strides[0].back();
        each.step_from = loop.strides[1].back();
        row(each);
      });
    }
    ZeroChannelPadding(to, args.outputs[0]);
  });
}

}  // namespace ashlar::cpu
