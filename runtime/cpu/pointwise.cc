// Pointwise operators: Elemwise, for every scalar function, dtype and storage format; and
// IntegerElemwise, for any two integer dtypes.
#include <algorithm>
#include <array>
#include <functional>

#include "opr/base/strided.h"
#include "opr/elemwise.h"
#include "opr/integer_elemwise.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/long_rows.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/vector_math.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int kOperands = kLongRowOperands;
constexpr int64_t kRow = 1024;  // elements; the rows of all operands stay in the first-level cache

struct RowParameters {
  float values[ScalarRow::kMostParameters];
};

// Computes out[i] from a[i], b[i] and c[i]; unused arguments hold the function's parameters. `out`
// may be one of the inputs.
template <ScalarFunction kFunction>
void ComputeRow(const float* a, const float* b, const float* c, float* out, int64_t n,
                RowParameters parameters) {
  constexpr int kArity = Arity(kFunction);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    out[i] = Formula<kFunction>::Of(a[i], kArity > 1 ? b[i] : parameters.values[0],
                                    kArity > 2 ? c[i] : parameters.values[kArity > 1 ? 0 : 1]);
  }
}

using RowFunction = void (*)(const float*, const float*, const float*, float*, int64_t,
                             RowParameters);

RowFunction RowFunctionOf(ScalarFunction function, Isa isa) {
  return WithFunction(function, [isa](auto known) -> RowFunction {
    return Versions<ComputeRow<known()>>::For(isa);
  });
}

// Returns a row of an operand as contiguous floats: in place, or copied to `buffer`.
const float* ContiguousRow(const float* data, int64_t stride, int64_t n, float* buffer) {
  if (stride == 1) return data;
  if (stride == 0) {
    std::fill_n(buffer, n, *data);
    return buffer;
  }
  for (int64_t i = 0; i < n; ++i) buffer[i] = data[i * stride];
  return buffer;
}

void RunFloat32(const LongRows& rows_of, int arity, int threads, RowFunction function,
                RowParameters parameters, const KernelArgs& args) {
  const RowLoop<kOperands>& loop = rows_of.loop;
  float* const output = args.Output<float>(0);
  const bool rounds = rows_of.period > 0;
  const int64_t output_stride = rounds ? 1 : loop.strides[0].back();
  const int64_t step = rows_of.elements_of_step();
  const auto run = [&](const auto& at, int64_t steps) {
    float buffers[kOperands][kRow];
    const float* rows[kOperands] = {};
    for (int k = 1; k <= arity; ++k) {
      const auto load = [&](int64_t stride, int64_t n, float* buffer) {
        return ContiguousRow(static_cast<const float*>(args.inputs[k - 1]) + at[k], stride, n,
                             buffer);
      };
      rows[k] = ContiguousRounds(rows_of, k, steps, load, buffers[k]);
    }
    float* const row = output_stride == 1 ? output + at[0] : buffers[0];
    function(rows[1], rows[2], rows[3], row, steps * step, parameters);
    if (output_stride != 1) {
      for (int64_t i = 0; i < steps; ++i) output[at[0] + i * output_stride] = row[i];
    }
  };
  ParallelRows(loop, threads, kRow / step, run, step);
}

// Computes out[i] from a[i], b[i] and c[i], like ComputeRow.
template <typename Number>
using NumbersFunction = void (*)(const Number* a, const Number* b, const Number* c, Number* out,
                                 int64_t n);

template <ScalarFunction kFunction, typename Number>
void ComputeNumbers(const Number* a, const Number* b, const Number* c, Number* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Formula<kFunction>::Of(a[i], b[i], c[i]);
}

// Dtypes other than Float32 are computed like the reference: 16-bit floats in double, integers and
// Bool in WrappingInt, Uint64 in WrappingUint.
template <typename Number>
KernelList NumbersKernel(std::string name, const std::vector<RowLoop<kOperands>>& loops,
                         const ElemwiseParam& param, const KernelRequest& request) {
  const TensorType output = request.outputs[0];
  const RowAccess<Number> rows_of(output.dtype, request.processor.isa);
  const int arity = Arity(param.mode), threads = request.threads;
  const NumbersFunction<Number> function = WithFunction(
      param.mode,
      [](auto known) -> NumbersFunction<Number> { return ComputeNumbers<known(), Number>; });
  return OnlyKernel(std::move(name), [=](const KernelArgs& args) {
    for (const RowLoop<kOperands>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, kOperands>& at, int64_t n) {
        Number rows[kOperands][kRow];
        for (int k = 1; k < kOperands; ++k) {
          if (k <= arity) {
            rows_of.load(args.inputs[k - 1], at[k], loop.strides[k].back(), n, rows[k]);
          } else {
            const int i = std::min(k - arity, ScalarRow::kMostParameters) - 1;
            std::fill_n(rows[k], n, ParameterAs<Number>(param.parameters[i]));
          }
        }
        function(rows[1], rows[2], rows[3], rows[0], n);
        rows_of.store(rows[0], n, args.outputs[0], at[0], loop.strides[0].back());
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

// Sets out[i] = Compare()(a[i * a_step], b[i * b_step]); steps are 0 or 1.
template <typename T, typename Compare>
void CompareRow(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                int64_t n) {
  const T *const left = static_cast<const T*>(a), *const right = static_cast<const T*>(b);
  T* const to = static_cast<T*>(out);
  const auto compare = [&](const auto& x, const auto& y) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(Compare()(x(i), y(i)));
  };
  const auto all = [](const T* from) { return [=](int64_t i) { return from[i]; }; };
  const auto one = [](T value) { return [=](int64_t) { return value; }; };
  if (a_step == 1 && b_step == 1) return compare(all(left), all(right));
  if (a_step == 1) return compare(all(left), one(*right));
  if (b_step == 1) return compare(one(*left), all(right));
  compare(one(*left), one(*right));
}

using CompareFunction = void (*)(const void* a, int64_t a_step, const void* b, int64_t b_step,
                                 void* out, int64_t n);

// Returns null for other functions and dtypes than masks and indices are usually made of.
CompareFunction CompareFunctionOf(ScalarFunction function, DType dtype, Isa isa) {
  const auto of = [&]<typename T>(T) -> CompareFunction {
    switch (function) {
      case ScalarFunction::kEqual:
        return NarrowVersions<CompareRow<T, std::equal_to<T>>>::For(isa);
      case ScalarFunction::kLess:
        return NarrowVersions<CompareRow<T, std::less<T>>>::For(isa);
      case ScalarFunction::kLessOrEqual:
        return NarrowVersions<CompareRow<T, std::less_equal<T>>>::For(isa);
      default:
        return nullptr;
    }
  };
  if (dtype == DType::kInt32) return of(int32_t());
  if (dtype == DType::kInt64) return of(int64_t());
  return dtype == DType::kBool ? of(uint8_t()) : nullptr;
}

bool AreStepsOneOrNone(const std::vector<RowLoop<kOperands>>& loops) {
  return std::all_of(loops.begin(), loops.end(), [](const RowLoop<kOperands>& loop) {
    return loop.strides[0].back() == 1 && loop.strides[1].back() <= 1 &&
           loop.strides[2].back() <= 1;
  });
}

KernelList CompareKernel(const std::vector<RowLoop<kOperands>>& loops, CompareFunction compare,
                         const TensorType& output, int threads) {
  const int64_t size = SizeOf(output.dtype);
  return OnlyKernel("elementwise:compare", [=](const KernelArgs& args) {
    for (const RowLoop<kOperands>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, kOperands>& at, int64_t n) {
        compare(args.Input<uint8_t>(0) + at[1] * size, loop.strides[1].back(),
                args.Input<uint8_t>(1) + at[2] * size, loop.strides[2].back(),
                args.Output<uint8_t>(0) + at[0] * size, n);
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

absl::StatusOr<KernelList> MakeElemwise(const Elemwise& op, const KernelRequest& request) {
  const ElemwiseParam param = op.param();
  const TensorType output = request.outputs[0];
  const int arity = Arity(param.mode), threads = request.threads;
  const auto loops = LoopsOver<kOperands>(output, request.inputs, threads);
  if (output.dtype == DType::kFloat32) {
    RowParameters parameters;
    std::copy(param.parameters.begin(), param.parameters.end(), parameters.values);
    const RowFunction function = RowFunctionOf(param.mode, request.processor.isa);
    const std::string name = absl::StrCat("elementwise:", Name(request.processor.isa));
    std::vector<LongRows> rows;
    for (const auto& loop : loops) {
      const bool padded = IsBlocked(output.format) && loop.shape.dims().back() < kChannelBlock;
      rows.push_back(LongRowsOf(loop, padded, threads));
    }
    return OnlyKernel(name, [=](const KernelArgs& args) {
      for (const LongRows& each : rows) {
        RunFloat32(each, arity, threads, function, parameters, args);
      }
      ZeroChannelPadding(output, args.outputs[0]);
    });
  }
  const CompareFunction compare =
      CompareFunctionOf(param.mode, output.dtype, request.processor.isa);
  if (compare != nullptr && AreStepsOneOrNone(loops)) {
    return CompareKernel(loops, compare, output, threads);
  }
  return WithNumber(output.dtype, [&]<typename Number>(Number) {
    return NumbersKernel<Number>(kWraps<Number> ? "elementwise:integers" : "elementwise:double",
                                 loops, param, request);
  });
}

// Computes a[i] = function(a[i], b[i]). A and B are int64_t, or uint64_t for Uint64.
template <typename A, typename B>
void ComputeIntegers(IntegerFunction function, WrappingInt* a, const WrappingInt* b, int64_t n,
                     int bits) {
  for (int64_t i = 0; i < n; ++i) {
    a[i] = Apply(function, static_cast<A>(a[i].value), static_cast<B>(b[i].value), bits);
  }
}

absl::StatusOr<KernelList> MakeIntegerElemwise(const IntegerElemwise& op,
                                               const KernelRequest& request) {
  const auto loops = LoopsOver<3>(request.outputs[0], request.inputs, request.threads);
  const IntegerFunction function = op.param().mode;
  const int threads = request.threads;
  const DType dtypes[] = {request.inputs[0].dtype, request.inputs[1].dtype};
  const std::array load = {IntegerLoader(dtypes[0], request.processor.isa),
                           IntegerLoader(dtypes[1], request.processor.isa)};
  const StoreRowOf<WrappingInt> store = IntegerStorer(dtypes[0], request.processor.isa);
  const int bits = static_cast<int>(8 * SizeOf(dtypes[0]));
  constexpr auto kUint64 = DType::kUint64;
  const auto compute = dtypes[0] != kUint64   ? dtypes[1] != kUint64
                                                    ? ComputeIntegers<int64_t, int64_t>
                                                    : ComputeIntegers<int64_t, uint64_t>
                         : dtypes[1] != kUint64 ? ComputeIntegers<uint64_t, int64_t>
                                              : ComputeIntegers<uint64_t, uint64_t>;
  return OnlyKernel("elementwise:integers", [=](const KernelArgs& args) {
    for (const RowLoop<3>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 3>& at, int64_t n) {
        WrappingInt rows[2][kRow];
        for (int k = 0; k < 2; ++k) {
          load[k](args.inputs[k], at[k + 1], loop.strides[k + 1].back(), n, rows[k]);
        }
        compute(function, rows[0], rows[1], n, bits);
        store(rows[0], n, args.outputs[0], at[0], loop.strides[0].back());
      });
    }
  });
}

}  // namespace

void RegisterPointwiseKernels(KernelRegistry& registry) {
  registry.Register<Elemwise>(MakeElemwise);
  registry.Register<IntegerElemwise>(MakeIntegerElemwise);
}

}  // namespace ashlar::cpu
