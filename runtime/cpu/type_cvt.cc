// TypeCvt, between any two dtypes.
#include "opr/type_cvt.h"

#include <algorithm>
#include <utility>

#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRow = 1024;  // elements

// Transforms a row's values between loading and storing.
using ConvertRow = void (*)(double* row, int64_t n, float scale, int32_t zero_point, int32_t least,
                            int32_t most);

void QuantizeRow(double* row, int64_t n, float scale, int32_t zero_point, int32_t least,
                 int32_t most) {
  for (int64_t i = 0; i < n; ++i) {
    row[i] = Quantize(static_cast<float>(row[i]) / scale, zero_point, least, most);
  }
}

void DequantizeRow(double* row, int64_t n, float scale, int32_t zero_point, int32_t, int32_t) {
  for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(row[i] - zero_point) * scale;
}

// Converts between integers, dropping upper bits that the output lacks, or from integers to floats.
// Float64 is rounded once; other floats round to the nearest Float32, and 16-bit ones once more.
KernelList IntegerConversion(std::vector<RowLoop<2>> loops, const KernelRequest& request) {
  const TensorType output = request.outputs[0];
  const int threads = request.threads;
  const LoadRowOf<WrappingInt> load = IntegerLoader(request.inputs[0].dtype, request.processor.isa);
  const bool to_floats = IsFloat(output.dtype), to_doubles = output.dtype == DType::kFloat64;
  const bool from_uint64 = request.inputs[0].dtype == DType::kUint64;
  const StoreRowOf<WrappingInt> store =
      to_floats ? nullptr : IntegerStorer(output.dtype, request.processor.isa);
  const StoreRowFunction store_float =
      to_floats ? RowStorer(output.dtype, request.processor.isa) : nullptr;
  return OnlyKernel("convert:integers", [=, loops = std::move(loops)](const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        WrappingInt row[kRow];
        load(args.inputs[0], at[1], loop.strides[1].back(), n, row);
        if (!to_floats) {
          store(row, n, args.outputs[0], at[0], loop.strides[0].back());
          return;
        }
        double floats[kRow];
        for (int64_t i = 0; i < n; ++i) {
          const int64_t value = row[i].value;
          const auto bits = static_cast<uint64_t>(value);
          if (from_uint64) {
            floats[i] = to_doubles ? static_cast<double>(bits) : static_cast<float>(bits);
          } else {
            floats[i] = to_doubles ? static_cast<double>(value) : static_cast<float>(value);
          }
        }
        store_float(floats, n, args.outputs[0], at[0], loop.strides[0].back());
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

// Converts between Float32 and 16-bit floats if both are contiguous in rows.
KernelList HalfConversion(std::vector<RowLoop<2>> loops, const KernelRequest& request) {
  const TensorType output = request.outputs[0];
  const int threads = request.threads;
  const bool widens = output.dtype == DType::kFloat32;
  const WidenFunction widen = WidenFor(request.inputs[0].dtype, request.processor.isa);
  const NarrowFunction narrow = NarrowFor(output.dtype, request.processor.isa);
  return OnlyKernel("convert", [=, loops = std::move(loops)](const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        if (widens) {
          widen(args.Input<uint16_t>(0) + at[1], args.Output<float>(0) + at[0], n);
        } else {
          narrow(args.Input<float>(0) + at[1], args.Output<uint16_t>(0) + at[0], n);
        }
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

absl::StatusOr<KernelList> MakeTypeCvt(const KernelRequest& request) {
  const TensorType output = request.outputs[0];
  if (IsQuantizedConversion(request.inputs[0], output)) return QuantizedConversionKernels(request);
  auto loops = LoopsOver<2>(output, request.inputs, request.threads);
  const auto widens = [](const TensorType& from, const TensorType& to) {
    return Is16BitFloat(from.dtype) && to.dtype == DType::kFloat32;
  };
  const auto in_rows = [](const RowLoop<2>& loop) {
    return loop.strides[0].back() == 1 && loop.strides[1].back() == 1;
  };
  if ((widens(request.inputs[0], output) || widens(output, request.inputs[0])) &&
      std::all_of(loops.begin(), loops.end(), in_rows)) {
    return HalfConversion(std::move(loops), request);
  }
  // Doubles hold integers of 32 bits.
  const DType from = request.inputs[0].dtype;
  const bool in_doubles = IsFloat(output.dtype) && SizeOf(from) <= 4;
  if (!IsFloat(from) && !IsQuantized(from) && !in_doubles) {
    return IntegerConversion(std::move(loops), request);
  }
  const LoadRowFunction load = RowLoader(request.inputs[0].dtype, request.processor.isa);
  const StoreRowFunction store = RowStorer(output.dtype, request.processor.isa);
  const int threads = request.threads;
  const TensorType& input = request.inputs[0];
  const bool quantizes = IsQuantized(output.dtype) && IsFloat(input.dtype);
  ConvertRow convert = nullptr;
  Quantization of;
  if (quantizes) convert = Versions<QuantizeRow>::For(request.processor.isa);
  if (IsQuantized(input.dtype) && IsFloat(output.dtype)) {
    convert = Versions<DequantizeRow>::For(request.processor.isa);
  }
  if (convert != nullptr) of = quantizes ? output.quantization : input.quantization;
  if (of.scales().size() > 1) {
    return absl::UnimplementedError(absl::StrCat("from ", input.ToString(), ": of several scales"));
  }
  return OnlyKernel("convert", [=](const KernelArgs& args) {
    for (const RowLoop<2>& loop : loops) {
      ParallelRows(loop, threads, kRow, [&](const std::array<int64_t, 2>& at, int64_t n) {
        double row[kRow];
        load(args.inputs[0], at[1], loop.strides[1].back(), n, row);
        if (convert != nullptr) {
          convert(row, n, of.scale(), of.zero_point(), LeastOf(output.dtype), MostOf(output.dtype));
        }
        store(row, n, args.outputs[0], at[0], loop.strides[0].back());
      });
    }
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

}  // namespace

void RegisterTypeCvtKernels(KernelRegistry& registry) {
  registry.Register<TypeCvt>(MakeTypeCvt, {}, ChannelsLast::kUnblocked);
}

}  // namespace ashlar::cpu
