// PoolingForward: threads share the rows of the output.
#include "opr/pooling.h"

#include <algorithm>

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cpu/doubles.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/pooling_row.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

// A kernel for images of 16-bit floats: widens the input rows that some output rows need, and
// narrows these output rows.
class HalfPooling final : public Kernel {
 public:
  HalfPooling(const PoolingGeometry& geometry, PoolingMode mode, const KernelRequest& request)
      : geometry_(geometry),
        mode_(mode),
        blocked_(IsBlocked(request.inputs[0].format)),
        from_(StridesOf(request.inputs[0])),
        to_(StridesOf(request.outputs[0])),
        isa_(request.processor.isa),
        threads_(request.threads),
        widen_(WidenFor(request.inputs[0].dtype, isa_)),
        narrow_(NarrowFor(request.inputs[0].dtype, isa_)) {
    // Each step computes as many output rows as the first-level cache holds with their input; at
    // least one.
    const int64_t most = request.processor.l1_bytes / 2;
    while (rows_ < geometry.h.output && (InputFloats(2 * rows_) + RowFloats()) * kFloat <= most) {
      rows_ *= 2;
    }
    rows_ = std::min(rows_, geometry.h.output);
    steps_ = CeilDivide(geometry.h.output, rows_);
  }

  std::string implementation() const override { return absl::StrCat("pooling:", Name(isa_)); }
  int64_t workspace_bytes() const override { return threads_ * ThreadBytes(); }

  absl::Status Run(const KernelArgs& args, KernelState* /*state*/) const override {
    const auto* const input = args.Input<uint16_t>(0);
    auto* const output = args.Output<uint16_t>(0);
    const int64_t planes = blocked_ ? ChannelBlocks(geometry_.channels) : geometry_.channels;
    const auto run = [&](int64_t begin, int64_t end, int thread) {
      char* const own = static_cast<char*>(args.workspace) + thread * ThreadBytes();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / steps_ / planes, c = i / steps_ % planes;
        PoolRows(input + n * from_.n + c * from_.c, output + n * to_.n + c * to_.c,
                 PartOf({0, geometry_.h.output}, i % steps_, steps_),
                 reinterpret_cast<float*>(own));
      }
    };
    ParallelRanges(threads_, geometry_.batch * planes * steps_, 1, run);
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kFloat = sizeof(float), kLine = 64;

  int64_t lanes() const { return blocked_ ? kChannelBlock : 1; }
  int64_t RowFloats() const { return geometry_.w.output * lanes(); }
  int64_t InputFloats(int64_t rows) const {
    const WindowAxis& h = geometry_.h;
    return std::min(h.input, (rows - 1) * h.stride + h.extent()) * geometry_.w.input * lanes();
  }
  int64_t ThreadBytes() const {
    return RoundUp((InputFloats(rows_) + RowFloats()) * kFloat, kLine);
  }

  void PoolRows(const uint16_t* from, uint16_t* to, const Range& rows, float* own) const {
    const int64_t pitch = geometry_.w.input * lanes();
    float* const row = own + InputFloats(rows_);
    const Range needed = Intersection(geometry_.h.Read(rows), {0, geometry_.h.input});
    for (int64_t y = needed.begin; y < needed.end; ++y) {
      widen_(from + y * from_.h, own + (y - needed.begin) * pitch, pitch);
    }
    PoolingGeometry part = geometry_;  // restricted to the existing rows
    part.h.input = needed.size();
    part.h.pad_begin += needed.begin;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      pool_(own, pitch, row, lanes(), part, y, mode_);
      narrow_(row, to + y * to_.h, RowFloats());
    }
  }

  const PoolingGeometry geometry_;
  const PoolingMode mode_;
  const bool blocked_;
  const ImageStrides from_, to_;
  const Isa isa_;
  const int threads_;
  const PoolRowFunction pool_ = PoolRowFor(isa_, blocked_, geometry_, mode_);
  const WidenFunction widen_;
  const NarrowFunction narrow_;
  int64_t rows_ = 1, steps_ = 1;  // output rows per step, and number of steps
};

absl::StatusOr<KernelList> MakePooling(const PoolingForward& op, const KernelRequest& request) {
  if (IsQuantized(request.inputs[0].dtype)) return QuantizedPoolingKernels(op, request);
  if (request.inputs[0].dtype == DType::kFloat64) return DoublePooling(op, request);
  const PoolingMode mode = op.param().mode;
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry,
                          InferPooling(op.param(), request.inputs[0]));
  const TensorType input_type = request.inputs[0], output_type = request.outputs[0];
  const bool blocked = IsBlocked(input_type.format);
  // An image with few channels may be row-major and its result blocked.
  const bool scattered = !blocked && IsBlocked(output_type.format);
  if (Is16BitFloat(input_type.dtype)) {
    if (scattered || blocked != IsBlocked(output_type.format)) {
      return absl::UnimplementedError(absl::StrCat(input_type.ToString(), ": in floats"));
    }
    KernelList kernels;
    kernels.push_back(std::make_unique<HalfPooling>(geometry, mode, request));
    return kernels;
  }
  const PoolRowFunction pool_row = PoolRowFor(request.processor.isa, blocked, geometry, mode);
  const int64_t planes = blocked ? ChannelBlocks(geometry.channels) : geometry.channels;
  const int64_t rows = geometry.h.output;
  const ImageStrides from = StridesOf(input_type), to = StridesOf(output_type);
  const int64_t taps = geometry.w.output * (blocked ? kChannelBlock : 1) *
                       std::min(geometry.h.window, geometry.h.input) *
                       std::min(geometry.w.window, geometry.w.input);
  const int threads = request.threads;
  return OnlyKernel(
      absl::StrCat("pooling:", Name(request.processor.isa)), [=](const KernelArgs& args) {
        const float* const input = args.Input<float>(0);
        float* const output = args.Output<float>(0);
        ParallelFor(threads, geometry.batch * planes * rows,
                    std::max<int64_t>(1, kElementsPerThread / taps),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t n = i / rows / planes, c = i / rows % planes, row = i % rows;
                        const int64_t plane =
                            scattered ? c / kChannelBlock * to.c + c % kChannelBlock : c * to.c;
                        pool_row(input + n * from.n + c * from.c, from.h,
                                 output + n * to.n + plane + row * to.h, to.w, geometry, row, mode);
                      }
                    });
        if (scattered) ZeroChannelPadding(output_type, output);
      });
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register<PoolingForward>(
      MakePooling, {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kQuantized8Asymm,
                    DType::kQuantizedS8, DType::kFloat64});
}

}  // namespace ashlar::cpu
