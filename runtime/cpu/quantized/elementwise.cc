// ElemwiseMultiType: functions of one operand use a table of 256 bytes; sums use Float32.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized/conversion_rows.h"
#include "runtime/cpu/quantized/function.h"
#include "runtime/cpu/quantized/tile.h"
#include "runtime/cpu/walk.h"
#include "runtime/device/byte_functions.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kElementsOfRow = 1 << 16;  // in elements

// The mapping from an operand's bytes to numbers: ((byte ^ flip) - zero point) * scale. For signed
// bytes, 128 is added to both byte and zero point.
struct Scaled {
  uint8_t flip = 0;
  int32_t zero_point = 0;
  float scale = 0;

  explicit Scaled(const TensorType& type)
      : flip(type.dtype == DType::kQuantizedS8 ? 0x80 : 0),
        zero_point(type.quantization.zero_point() + flip),
        scale(type.quantization.scale()) {}
};

struct SumCall {
  const uint8_t *a, *b;
  uint8_t* y;
  int64_t n, step_a, step_b, step_y;
  Scaled of_a, of_b, of_y;
  RoundingSteps rounding;  // with of_y's zero point
  float inverse;           // 1 / scale of y; 0: divide instead
  FixedPointSum fixed;     // if not absent, adds in integers
};

inline int32_t StepsOf(const Scaled& of, uint8_t byte) { return (byte ^ of.flip) - of.zero_point; }

inline float SumOf(const SumCall& call, uint8_t a, uint8_t b) {
  const int32_t left = StepsOf(call.of_a, a), right = StepsOf(call.of_b, b);
  return static_cast<float>(left) * call.of_a.scale + static_cast<float>(right) * call.of_b.scale;
}

inline uint8_t ByteOf(const SumCall& call, float steps) {
  return static_cast<uint8_t>(Rounded(steps, call.rounding) ^ call.of_y.flip);
}

// The sum in fixed-point numbers.
inline uint8_t FixedByteOf(const SumCall& call, uint8_t a, uint8_t b) {
  const int32_t steps = call.fixed.Of(StepsOf(call.of_a, a), StepsOf(call.of_b, b));
  const int32_t low = static_cast<int32_t>(call.rounding.low);
  const int32_t high = static_cast<int32_t>(call.rounding.high);
  const int32_t clamped = std::min(std::max(steps, low), high) + call.rounding.zero_point;
  return static_cast<uint8_t>(clamped ^ call.of_y.flip);
}

// Computes at most kSummed adjacent elements by multiplying with the inverse. If any result is near
// a half, recomputes all by division.
constexpr int64_t kSummed = 64;
template <typename Count>
void AddSome(const SumCall& call, int64_t first, Count n) {
  const uint8_t *const a = call.a + first, *const b = call.b + first;
  uint8_t made[kSummed];  // separate, because y may be a or b
  if (!call.fixed.absent()) {
    for (int64_t i = 0; i < n; ++i) made[i] = FixedByteOf(call, a[i], b[i]);
    std::copy_n(made, n, call.y + first);
    return;
  }
  int near_half = call.inverse == 0;
  for (int64_t i = 0; i < n; ++i) {
    const float steps = SumOf(call, a[i], b[i]) * call.inverse;
    near_half |= std::abs(steps - std::nearbyint(steps)) > kSurelyRounded;
    made[i] = ByteOf(call, steps);
  }
  if (near_half != 0) {
    for (int64_t i = 0; i < n; ++i)
      made[i] = ByteOf(call, SumOf(call, a[i], b[i]) / call.of_y.scale);
  }
  std::copy_n(made, n, call.y + first);
}

void AddRow(const SumCall& call) {
  if (call.step_a == 1 && call.step_b == 1 && call.step_y == 1) {
    int64_t i = 0;
    for (; i + kSummed <= call.n; i += kSummed) {
      AddSome(call, i, std::integral_constant<int64_t, kSummed>());
    }
    if (i < call.n) AddSome(call, i, call.n - i);
    return;
  }
  for (int64_t i = 0; i < call.n; ++i) {
    const uint8_t a = call.a[i * call.step_a], b = call.b[i * call.step_b];
    call.y[i * call.step_y] = call.fixed.absent()
                                  ? ByteOf(call, SumOf(call, a, b) / call.of_y.scale)
                                  : FixedByteOf(call, a, b);
  }
}

// Computes a sum, optionally rectified.
KernelList SumKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  const Scaled of_y(output);
  const int32_t least = LeastOf(output.dtype) + of_y.flip;
  const bool rectified = op.param().rectifies();
  const SumCall call = {
      nullptr,
      nullptr,
      nullptr,
      0,
      0,
      0,
      0,
      Scaled(request.inputs[0]),
      Scaled(request.inputs[1]),
      of_y,
      RoundingBetween(rectified ? of_y.zero_point : least, least + 255, of_y.zero_point),
      InverseOf(of_y.scale),
      op.FixedSum(request.inputs[0].quantization, request.inputs[1].quantization,
                  output.quantization)};
  const auto row = Versions<AddRow>::For(request.processor.isa);
  const auto loops = LoopsOver<3>(output, request.inputs, request.threads);
  return OnlyKernel(absl::StrCat("int8:sum:", Name(request.processor.isa)),
                    [=, threads = request.threads](const KernelArgs& args) {
                      for (const RowLoop<3>& loop : loops) {
                        ParallelRows(loop, threads, kElementsOfRow,
                                     [&](const std::array<int64_t, 3>& at, int64_t n) {
                                       SumCall each = call;
                                       each.y = args.Output<uint8_t>(0) + at[0];
                                       each.a = args.Input<uint8_t>(0) + at[1];
                                       each.b = args.Input<uint8_t>(1) + at[2];
                                       each.n = n;
                                       each.step_y = loop.strides[0].back();
                                       each.step_a = loop.strides[1].back();
                                       each.step_b = loop.strides[2].back();
                                       row(each);
                                     });
                      }
                    });
}

KernelList TableKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  const std::array<uint8_t, 256> table = op.Table(request.inputs[0], output);
  const auto loops = LoopsOver<2>(output, request.inputs, request.threads);
  const TileCode* const code = TileCodeFor(request.processor);
  return OnlyKernel("int8:table", [=, threads = request.threads](const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      const int64_t to = loop.strides[0].back(), from = loop.strides[1].back();
      ParallelRows(loop, threads, kElementsOfRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        auto* const y = args.Output<uint8_t>(0) + at[0];
        const auto* const x = args.Input<uint8_t>(0) + at[1];
        if (to == 1 && from == 1 && code != nullptr) return code->table(table.data(), x, y, n);
        for (int64_t i = 0; i < n; ++i) y[i * to] = table[x[i * from]];
      });
    }
  });
}

}  // namespace

void RegisterQuantizedKernels(KernelRegistry& registry) {
  RegisterByteFunctions(registry, TableKernel, SumKernel, ByteFunctionKernel);
}

}  // namespace ashlar::cpu
