// 8-bit convolutions by a library's matrix products. The library multiplies signed bytes to 32-bit
// sums, and knows neither zero points nor scales per channel. So a convolution takes three
// launches:
// - Windows become rows of a matrix, with 128 subtracted from unsigned bytes and the zero point as
//   padding.
// - The library multiplies these rows by the filter.
// - The zero point's contribution is subtracted from the sums, and these are rounded as in our own
//   kernel.
//
// All of this is exact, so results are bit-identical. Signed images with 1x1 windows are such rows
// already. Large images are processed in equal parts, which share workspace for rows and sums that
// fits in the device's cache.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/region.h"
#include "runtime/cuda/byte_type.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/conv/quantized.h"
#include "runtime/cuda/conv/quantized_product_code.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kAlignment = 256;    // of parts of the workspace, in bytes
constexpr int64_t kRowAlignment = 16;  // of the matrix, in bytes
constexpr int64_t kMostParts = 256;

// After our own kernel, because this one was never timed, but well before kernels that are not
// worth a trial.
constexpr double kRelativeTime = 1.1;

// Whether the channels of a pixel are adjacent, and the pixels too.
bool HasChannelsLast(const TensorType& image) {
  return image.format == Format::kNHWC || image.shape[2] * image.shape[3] == 1;
}

bool IsProduct(const ConvProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  return problem.constant_filter && g.groups == 1 && g.in_channels % 4 == 0 &&
         g.out_channels % 4 == 0 && HasChannelsLast(problem.dst);
}

bool IsMatrix(const ConvProblem& problem) {
  for (const WindowAxis& axis : {problem.geometry.h, problem.geometry.w}) {
    if (axis.window != 1 || axis.stride != 1 || axis.padded()) return false;
  }
  return problem.src.dtype == DType::kQuantizedS8 && HasChannelsLast(problem.src) &&
         problem.is_packed() && problem.src_offset == 0;
}

// Returns the zero point as used in products.
int32_t SignedZeroPoint(const TensorType& image) {
  return image.quantization.zero_point() - (image.dtype == DType::kQuantizedS8 ? 0 : 128);
}

// A convolution's product, in equal parts. Rows are rows of windows, counted over all images.
struct Parts {
  int64_t count = 1;
  int64_t rows = 0, pixels = 0;  // in a part
  int64_t inner = 0;             // products per sum
  int64_t row_bytes = 0;         // for a row of windows, as the library reads it
};

// Returns the smallest number of equal parts whose rows and sums fit in the cache.
Parts PartsOf(const ConvProblem& problem, int64_t cached_bytes) {
  const ConvolutionGeometry& g = problem.geometry;
  const int64_t rows = problem.dst.shape[0] * g.h.output;
  Parts parts;
  parts.inner = g.in_channels * g.h.window * g.w.window;
  parts.row_bytes = g.w.output * parts.inner;
  const int64_t cached_rows = cached_bytes / (parts.row_bytes + g.w.output * g.out_channels * 4);
  for (int64_t count = 2; count <= kMostParts && rows / parts.count > cached_rows; ++count) {
    const bool aligned = rows / count * parts.row_bytes % kRowAlignment == 0;
    if (rows % count == 0 && aligned) parts.count = count;
  }
  parts.rows = rows / parts.count;
  parts.pixels = parts.rows * g.w.output;
  return parts;
}

ByteWindowsParams WindowsOf(const ConvProblem& problem, int64_t rows) {
  const ConvolutionGeometry& g = problem.geometry;
  const ImageStrides& in = problem.src_strides;
  ByteWindowsParams p;
  p.extents = ExtentsOf({rows, g.w.output, g.h.window, g.w.window, g.in_channels / 4});
  p.images = ExtentsOf({problem.dst.shape[0], g.h.output});
  p.h = StepsOf(g.h);
  p.w = StepsOf(g.w);
  p.in_steps = {in.n, in.c, in.h, in.w};
  p.words = in.c == 1 && in.n % 4 == 0 && in.h % 4 == 0 && in.w % 4 == 0;
  p.flip = problem.src.dtype == DType::kQuantizedS8 ? 0 : 0x80808080u;
  p.padding = 0x01010101u * static_cast<uint8_t>(SignedZeroPoint(problem.src));
  return p;
}

class ConvolutionByProduct final : public Kernel {
 public:
  // `product` computes one part.
  ConvolutionByProduct(const ConvProblem& problem, const Parts& parts,
                       std::unique_ptr<Kernel> product)
      : problem_(problem),
        to_(RequantizationOf(problem)),
        parts_(parts),
        product_(std::move(product)) {
    const int64_t channels = problem.geometry.out_channels;
    if (!IsMatrix(problem)) {
      windows_ = WindowsOf(problem, parts.rows);
      rows_bytes_ = RoundUp(parts.rows * parts.row_bytes, kAlignment);
    }
    sums_bytes_ = RoundUp(parts.pixels * channels * 4, kAlignment);
    requantize_.extents = ExtentsOf({parts.pixels, channels / 4});
    requantize_.of_out = {false, to_.zero_point, 1, to_.least, to_.most};
  }

  std::string implementation() const override {
    return absl::StrCat("int8:", windows_ ? "windows+" : "", product_->implementation(),
                        parts_.count > 1 ? absl::StrCat(":", parts_.count, " parts") : "");
  }
  int64_t workspace_bytes() const override {
    return rows_bytes_ + sums_bytes_ + product_->workspace_bytes();
  }
  double relative_time() const override { return kRelativeTime * product_->relative_time(); }

  // Packs by output channel the factors, then the zero point's contributions, then the filter.
  std::optional<Packing> packing(int input) const override {
    if (input != kFilter) return std::nullopt;
    const Packing filter = FilterPacking(problem_);
    return Packing{absl::StrCat("int8 product ", filter.key, " ", ScalesOf(problem_), " ",
                                SignedZeroPoint(problem_.src)),
                   2 * table_bytes() + filter.bytes};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    char* const begin = static_cast<char*>(packed);
    std::memcpy(begin, to_.factors.data(), static_cast<size_t>(table_bytes()));
    int32_t* const excess = reinterpret_cast<int32_t*>(begin + table_bytes());
    const absl::Span<const int8_t> weights = value.data<int8_t>();
    const size_t products = static_cast<size_t>(parts_.inner);
    for (size_t k = 0; k < to_.factors.size(); ++k) {
      int32_t sum = 0;
      for (const int8_t weight : weights.subspan(k * products, products)) sum += weight;
      excess[k] = SignedZeroPoint(problem_.src) * sum;
    }
    PackFilter(problem_, value, begin + 2 * table_bytes());
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return product_->NewState();
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    for (int64_t part = 0; part < parts_.count; ++part) {
      ASHLAR_RETURN_IF_ERROR(RunPart(args, state, part));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunPart(const KernelArgs& args, KernelState* state, int64_t part) const {
    void* const stream = static_cast<CudaStream*>(args.stream)->handle();
    char* const workspace = static_cast<char*>(args.workspace);
    const char* rows = args.Input<char>(kSrc) + problem_.src_offset_bytes();
    if (windows_) {
      ByteWindowsParams windows = *windows_;
      windows.first = part * parts_.rows;
      windows.words = windows.words && LiesOnWords(rows);
      windows.in = rows;
      windows.out = workspace;
      ASHLAR_RETURN_IF_ERROR(ToStatus(Launch(windows, stream)));
      rows = workspace;
    } else {
      rows += part * parts_.rows * parts_.row_bytes;
    }
    const char* const tables = args.Input<char>(kFilter);
    char* const sums = workspace + rows_bytes_;
    const void* const factors[] = {rows, tables + 2 * table_bytes()};
    void* const products[] = {sums};
    KernelArgs inner = args;
    inner.inputs = factors;
    inner.outputs = products;
    inner.workspace = sums + sums_bytes_;
    ASHLAR_RETURN_IF_ERROR(product_->Run(inner, state));
    ByteRequantizeParams bound = requantize_;
    bound.factors = reinterpret_cast<const float*>(tables);
    bound.excess = reinterpret_cast<const int32_t*>(tables + table_bytes());
    bound.bias = args.Input<int32_t>(kBias);
    bound.sums = sums;
    bound.out = args.Output<char>(0) + part * parts_.pixels * problem_.geometry.out_channels;
    bound.words = LiesOnWords(bound.out);
    return ToStatus(Launch(bound, stream));
  }

  int64_t table_bytes() const { return static_cast<int64_t>(to_.factors.size()) * 4; }

  const ConvProblem problem_;
  const Requantization to_;
  const Parts parts_;
  const std::unique_ptr<Kernel> product_;
  std::optional<ByteWindowsParams> windows_;  // nullopt if the image already is the matrix
  ByteRequantizeParams requantize_;
  int64_t rows_bytes_ = 0, sums_bytes_ = 0;
};

}  // namespace

absl::StatusOr<KernelList> QuantizedConvolutionsByProduct(const ConvProblem& problem,
                                                          const ByteProducts& products) {
  KernelList kernels;
  if (!products.kernels || !problem.policy.all_candidates ||
      problem.dst.shape.num_elements() == 0 || !IsProduct(problem)) {
    return kernels;
  }
  const Parts parts = PartsOf(problem, products.cached_bytes);
  ASHLAR_ASSIGN_OR_RETURN(
      kernels, products.kernels(parts.pixels, problem.geometry.out_channels, parts.inner));
  for (std::unique_ptr<Kernel>& kernel : kernels) {
    kernel = std::make_unique<ConvolutionByProduct>(problem, parts, std::move(kernel));
  }
  return kernels;
}

}  // namespace ashlar::cuda
