// Elemwise, in every mode, dtype and storage format.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "opr/elemwise.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/vector_math.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int kOperands = 4;    // the output, then the inputs
constexpr int64_t kRow = 1024;  // elements; the rows of all operands stay in the first-level cache

// Scalar functions of Float32. Comparisons are such that a NaN is handed on.
struct Bounds {
  float lo, hi;
};
float Relu(float x) { return x < 0 ? 0 : x; }
float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

template <ElemwiseMode kMode>
float Compute(float a, float b, float c, const Bounds& bounds) {
  using enum ElemwiseMode;
  switch (kMode) {
    case kRelu:
      return Relu(a);
    case kExp:
      return expf(a);
    case kLog:
      return logf(a);
    case kSqrt:
      return std::sqrt(a);
    case kAbs:
      return std::abs(a);
    case kNegate:
      return -a;
    case kSigmoid:
      return Sigmoid(a);
    case kTanh:
      return tanhf(a);
    case kClamp:
      return a < bounds.lo ? bounds.lo : a > bounds.hi ? bounds.hi : a;
    case kHSwish:
      return a < -3 ? 0 : a > 3 ? a : a * (a + 3) / 6;
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kTrueDiv:
      return a / b;
    case kMax:
      return a > b || a != a ? a : b;
    case kMin:
      return a < b || a != a ? a : b;
    case kPow:
      return powf(a, b);
    case kFuseAddRelu:
      return Relu(a + b);
    case kFuseAddSigmoid:
      return Sigmoid(a + b);
    case kFuseAddTanh:
      return tanhf(a + b);
    case kFuseMulAdd3:
      return a * b + c;
  }
}

// out[i] = Compute(a[i], b[i], c[i]); `out` may be one of the inputs.
template <ElemwiseMode kMode>
void ComputeRow(const float* a, const float* b, const float* c, float* out, int64_t n,
                Bounds bounds) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = Compute<kMode>(a[i], b[i], c[i], bounds);
}

using RowFunction = void (*)(const float*, const float*, const float*, float*, int64_t, Bounds);

RowFunction RowFunctionOf(ElemwiseMode mode, Isa isa) {
  static const auto kTable = []<size_t... kMode>(std::index_sequence<kMode...>) {
    return std::array<RowFunction (*)(Isa), sizeof...(kMode)>{
        Versions<ComputeRow<static_cast<ElemwiseMode>(kMode)>>::For...};
  }
  (std::make_index_sequence<static_cast<size_t>(ElemwiseMode::kFuseMulAdd3) + 1>());
  return kTable[static_cast<size_t>(mode)](isa);
}

// A row of an operand as contiguous floats: where it lies, or copied to `buffer`.
const float* ContiguousRow(const float* data, int64_t stride, int64_t n, float* buffer) {
  if (stride == 1) return data;
  if (stride == 0) {
    std::fill_n(buffer, n, *data);
    return buffer;
  }
  for (int64_t i = 0; i < n; ++i) buffer[i] = data[i * stride];
  return buffer;
}

void RunFloat32(const RowLoop<kOperands>& loop, int arity, int threads, RowFunction function,
                Bounds bounds, const KernelArgs& args) {
  float* const output = static_cast<float*>(args.outputs[0]);
  const int64_t output_stride = loop.strides[0].back();
  ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, kOperands>& at, int64_t n) {
    float buffers[kOperands][kRow];
    const float* rows[kOperands] = {};
    for (int k = 1; k <= arity; ++k) {
      rows[k] = ContiguousRow(static_cast<const float*>(args.inputs[k - 1]) + at[k],
                              loop.strides[k].back(), n, buffers[k]);
    }
    for (int k = arity + 1; k < kOperands; ++k) rows[k] = rows[1];  // read, not used
    float* const row = output_stride == 1 ? output + at[0] : buffers[0];
    function(rows[1], rows[2], rows[3], row, n, bounds);
    if (output_stride != 1) {
      for (int64_t i = 0; i < n; ++i) output[at[0] + i * output_stride] = row[i];
    }
  });
}

// Other dtypes are computed in double, as the reference does.
void RunAsDouble(const RowLoop<kOperands>& loop, int arity, int threads, LoadRowFunction load,
                 StoreRowFunction store, const ElemwiseParam& param, const KernelArgs& args) {
  ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, kOperands>& at, int64_t n) {
    double buffers[kOperands][kRow];
    const double* rows[kOperands] = {};
    for (int k = 1; k < kOperands; ++k) {
      rows[k] = buffers[std::min(k, arity)];  // operands beyond the arity are read, not used
      if (k <= arity) load(args.inputs[k - 1], at[k], loop.strides[k].back(), n, buffers[k]);
    }
    for (int64_t i = 0; i < n; ++i) {
      buffers[0][i] = Apply(param, rows[1][i], rows[2][i], rows[3][i]);
    }
    store(buffers[0], n, args.outputs[0], at[0], loop.strides[0].back());
  });
}

absl::StatusOr<KernelList> MakeElemwise(const KernelRequest& request) {
  const ElemwiseParam param = static_cast<const Elemwise&>(*request.op).param();
  const TensorType output = request.outputs[0];
  const int arity = Arity(param.mode), threads = request.threads;
  const auto loops = LoopsOver<kOperands>(output, request.inputs, threads);
  if (output.dtype == DType::kFloat32) {
    const Bounds bounds = {static_cast<float>(param.lo), static_cast<float>(param.hi)};
    const RowFunction function = RowFunctionOf(param.mode, request.processor.isa);
    return OnlyKernel(absl::StrCat("elementwise:", Name(request.processor.isa)),
                      [=](const KernelArgs& args) {
                        for (const auto& loop : loops)
                          RunFloat32(loop, arity, threads, function, bounds, args);
                        ZeroChannelPadding(output, args.outputs[0]);
                      });
  }
  const LoadRowFunction load = RowLoader(output.dtype, request.processor.isa);
  const StoreRowFunction store = RowStorer(output.dtype, request.processor.isa);
  return OnlyKernel("elementwise:double", [=](const KernelArgs& args) {
    for (const auto& loop : loops) RunAsDouble(loop, arity, threads, load, store, param, args);
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

}  // namespace

void RegisterElementwiseKernels(KernelRegistry& registry) {
  registry.Register("Elemwise", MakeElemwise);
}

}  // namespace ashlar::cpu
