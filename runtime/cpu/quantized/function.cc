// ElemwiseMultiType of several tensors: rows of operands become Float32, the function is computed,
// and its row becomes bytes. All in the first-level cache.
#include "runtime/cpu/quantized/function.h"

#include <algorithm>
#include <vector>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/long_rows.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized/conversion_rows.h"

namespace ashlar::cpu {
namespace {

struct Operand {
  ConvertRow dequantize = nullptr;  // null: Float32
  ConversionCall call = {};

  // Returns n elements as contiguous floats: in place, or in `buffer`.
  const float* Load(const void* tensor, int64_t offset, int64_t stride, int64_t n,
                    float* buffer) const {
    if (dequantize == nullptr) {
      const float* const from = static_cast<const float*>(tensor) + offset;
      if (stride == 1) return from;
      for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * stride];
      return buffer;
    }
    ConversionCall each = call;
    each.from = static_cast<const uint8_t*>(tensor) + offset;
    each.to = buffer;
    each.n = n;
    each.step_from = stride;
    dequantize(each);
    return buffer;
  }
};

// Like pointwise.cc's, but each operation is rounded by itself (CMakeLists.txt).
template <ScalarFunction kFunction>
void ComputeRow(const float* a, const float* b, const float* c, float* out, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    out[i] = Formula<kFunction>::Of(a[i], b[i], Arity(kFunction) > 2 ? c[i] : 0.0f);
  }
}

using RowFunction = void (*)(const float*, const float*, const float*, float*, int64_t);

RowFunction RowFunctionOf(ScalarFunction function, Isa isa) {
  return WithFunction(function, [isa](auto known) -> RowFunction {
    if constexpr (HasByteFunction(known())) {
      return Versions<ComputeRow<known()>>::For(isa);
    } else {
      return nullptr;
    }
  });
}

}  // namespace

KernelList ByteFunctionKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const Isa isa = request.processor.isa;
  const TensorType& output = request.outputs[0];
  const int inputs = static_cast<int>(request.inputs.size());
  std::vector<Operand> operands;
  for (const TensorType& type : request.inputs) {
    operands.emplace_back();
    if (type.dtype == DType::kFloat32) continue;
    operands.back() = {Dequantizer(type.dtype, isa), ConversionOf(type)};
  }
  const RowFunction function = RowFunctionOf(op.param().mode, isa);
  const ConvertRow quantize = Quantizer(isa);
  const ConversionCall to_bytes = ConversionOf(output);
  std::vector<LongRows> loops;
  for (const auto& loop : LoopsOver<kLongRowOperands>(output, request.inputs, request.threads)) {
    loops.push_back(LongRowsOf(loop, /*padded=*/false, request.threads, kConvertedRow / 4));
  }
  return OnlyKernel(absl::StrCat("int8:function:", Name(isa)), [=, threads = request.threads](
                                                                   const KernelArgs& args) {
    for (const LongRows& rows : loops) {
      const int64_t step = rows.elements_of_step();
      const auto run = [&](const auto& at, int64_t steps) {
        float buffers[kLongRowOperands][kConvertedRow];
        const float* from[kLongRowOperands] = {};
        for (int k = 1; k <= inputs; ++k) {
          const auto load = [&](int64_t stride, int64_t n, float* buffer) {
            return operands[k - 1].Load(args.inputs[k - 1], at[k], stride, n, buffer);
          };
          from[k] = ContiguousRounds(rows, k, steps, load, buffers[k]);
        }
        function(from[1], from[2], from[3], buffers[0], steps * step);
        ConversionCall each = to_bytes;
        each.from = buffers[0];
        each.to = args.Output<uint8_t>(0) + at[0];
        each.n = steps * step;
        each.step_to = rows.period > 0 ? 1 : rows.loop.strides[0].back();
        quantize(each);
      };
      ParallelRows(rows.loop, threads, kConvertedRow / step, run, step);
    }
  });
}

}  // namespace ashlar::cpu
