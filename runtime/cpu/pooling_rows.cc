// PoolingRows: joins the pixels of a strip to the results of each channel, 16 channels at a time,
// so that channels stay in registers. Threads share the channels.
#include "opr/pooling_rows.h"

#include <algorithm>
#include <limits>

#include "graph/status.h"
#include "opr/quantized_pooling.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kLanes = kChannelBlock;

// How elements are joined, by their type and PoolingMode.
enum class Join { kMaximum, kSum, kSumOfValues };  // of values: of bytes as Float32

struct RowsProblem {
  int64_t rows = 0, columns = 0;
  bool first = false, last = false;
  float count = 1;  // elements of the whole image
  ImageStrides src = {};
  int64_t src_lane = 1, dst_lane = 1;  // elements between channels
  PooledTypes types;
};

// Joins `count` channels from `src`; kCount is their number, or 0 if it is only known at run time.
template <typename Element, typename Joined, Join kJoin, int64_t kCount>
void JoinPixels(const RowsProblem& p, const Element* src, int64_t lane, int64_t count,
                Joined* joined) {
  constexpr bool kFloats = std::is_same_v<Element, float>;
  count = kCount > 0 ? kCount : std::min(count, kLanes);
  for (int64_t y = 0; y < p.rows; ++y) {
    Joined row[kLanes] = {};  // of floats: rows are summed apart
    for (int64_t x = 0; x < p.columns; ++x) {
      const Element* const pixel = src + y * p.src.h + x * p.src.w;
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) {
        const Element e = pixel[c * lane];
        if constexpr (kJoin == Join::kMaximum) {
          joined[c] = e > joined[c] || e != e ? e : joined[c];
        } else if constexpr (kFloats) {
          row[c] += e;
        } else if constexpr (kJoin == Join::kSum) {
          joined[c] += e - p.types.src_zero_point;
        } else {
          joined[c] += static_cast<float>(e - p.types.src_zero_point) * p.types.src_scale;
        }
      }
    }
    for (int64_t c = 0; c < kLanes && kFloats && kJoin == Join::kSum; ++c) joined[c] += row[c];
  }
}

// Computes `count` channels; `before` is not read at the first strip.
template <typename Element, typename Joined, Join kJoin>
void PoolChannels(const RowsProblem& p, const void* src, const void* before, void* dst,
                  int64_t count) {
  Joined joined[kLanes];
  constexpr bool kMaximum = kJoin == Join::kMaximum;
  const Joined initial = !kMaximum ? 0
                         : std::is_same_v<Joined, float>
                             ? static_cast<Joined>(-std::numeric_limits<float>::infinity())
                             : std::numeric_limits<Joined>::lowest();
  std::fill_n(joined, kLanes, initial);
  const auto* const so_far = static_cast<const Joined*>(before);
  for (int64_t c = 0; c < count && !p.first; ++c) joined[c] = so_far[c * p.dst_lane];
  const auto* const image = static_cast<const Element*>(src);
  if (p.src_lane == 1 && count == kLanes) {
    JoinPixels<Element, Joined, kJoin, kLanes>(p, image, 1, count, joined);
  } else {
    JoinPixels<Element, Joined, kJoin, 0>(p, image, p.src_lane, count, joined);
  }
  for (int64_t c = 0; c < count; ++c) {
    const int64_t at = c * p.dst_lane;
    if constexpr (!kMaximum && !std::is_same_v<Element, float>) {
      if (p.last) {
        const int32_t mean = kJoin == Join::kSum
                                 ? p.types.ExactMean(static_cast<int32_t>(joined[c]))
                                 : p.types.Mean(static_cast<float>(joined[c]), p.count);
        static_cast<Element*>(dst)[at] = static_cast<Element>(mean);
        continue;
      }
    }
    if constexpr (!kMaximum && std::is_same_v<Element, float>) {
      if (p.last) joined[c] /= p.count;
    }
    static_cast<Joined*>(dst)[at] = joined[c];
  }
}

using PoolFunction = void (*)(const RowsProblem&, const void*, const void*, void*, int64_t);

template <typename Element>
PoolFunction FunctionFor(PoolingMode mode) {
  if (mode == PoolingMode::kMax) {
    return PoolChannels<Element, Element, Join::kMaximum>;
  }
  if constexpr (std::is_same_v<Element, float>) {
    return PoolChannels<float, float, Join::kSum>;
  } else if (mode == PoolingMode::kAverage) {
    return PoolChannels<Element, int32_t, Join::kSum>;
  } else {
    return PoolChannels<Element, float, Join::kSumOfValues>;
  }
}

// The numbers of a quantised image; of floats they are not read.
PooledTypes TypesOf(const PoolingRows& op, const TensorType& src, const TensorType& dst) {
  if (IsQuantized(src.dtype)) {
    const bool rounds = IsQuantized(dst.dtype);
    return {WholePooling(op.param(), src), src.quantization, rounds ? dst : src};
  }
  static const Quantization none = *Quantization::Make(DType::kQuantizedS8, {1.0f});
  return {WholePooling(op.param(), src), none, {DType::kQuantizedS8, {}, Format::kDefault, none}};
}

absl::StatusOr<KernelList> MakePoolingRows(const PoolingRows& op, const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingRows::kStrip], &dst = request.outputs[0];
  const bool reads_blocks = IsBlocked(src.format), writes_blocks = IsBlocked(dst.format);
  const bool has_before = request.inputs.size() > 1;
  if (has_before && IsBlocked(request.inputs[PoolingRows::kBefore].format) != writes_blocks) {
    const TensorType& before = request.inputs[PoolingRows::kBefore];
    return absl::UnimplementedError(absl::StrCat("from ", before.ToString(), " to ", dst.ToString(),
                                                 ": the result so far in one format"));
  }
  RowsProblem p{.types = TypesOf(op, src, dst)};
  p.rows = src.shape[2];
  p.columns = src.shape[3];
  p.first = !has_before;
  p.last = op.param().rows > 0;
  p.count = static_cast<float>(op.param().rows * p.columns);
  p.src = StridesOf(src);
  const ImageStrides to = StridesOf(dst);
  p.src_lane = reads_blocks ? 1 : p.src.c;
  p.dst_lane = writes_blocks ? 1 : to.c;
  const PoolFunction pool = src.dtype == DType::kFloat32 ? FunctionFor<float>(op.param().mode)
                            : src.dtype == DType::kQuantizedS8
                                ? FunctionFor<int8_t>(op.param().mode)
                                : FunctionFor<uint8_t>(op.param().mode);
  // Padding channels are zeros, and so are their results.
  const bool reads_padding = reads_blocks && writes_blocks;
  const int64_t channels = reads_padding ? ChannelBlocks(src.shape[1]) * kLanes : src.shape[1];
  const int64_t groups = CeilDivide(channels, kLanes), batch = src.shape[0];
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (p.rows * p.columns * kLanes));
  const auto src_bytes = SizeOf(src.dtype), dst_bytes = SizeOf(dst.dtype);
  const auto before_bytes = has_before ? SizeOf(request.inputs[PoolingRows::kBefore].dtype) : 0;
  return OnlyKernel("pooling_rows", [=, threads = request.threads](const KernelArgs& args) {
    const auto* const from = args.Input<char>(PoolingRows::kStrip);
    const char* const before = p.first ? nullptr : args.Input<char>(PoolingRows::kBefore);
    ParallelFor(threads, batch * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / groups, g = i % groups;
        const int64_t read = n * p.src.n + g * (reads_blocks ? p.src.c : kLanes * p.src.c);
        const int64_t written = n * to.n + g * (writes_blocks ? to.c : kLanes * to.c);
        const int64_t count = std::min(kLanes, channels - g * kLanes);
        char* const result = args.Output<char>(0) + written * dst_bytes;
        pool(p, from + read * src_bytes, p.first ? nullptr : before + written * before_bytes,
             result, count);
        if (writes_blocks) std::fill(result + count * dst_bytes, result + kLanes * dst_bytes, 0);
      }
    });
  });
}

}  // namespace

void RegisterPoolingRowsKernels(KernelRegistry& registry) {
  registry.Register<PoolingRows>(MakePoolingRows, {DType::kFloat32, DType::kInt32,
                                                   DType::kQuantized8Asymm, DType::kQuantizedS8});
}

}  // namespace ashlar::cpu
