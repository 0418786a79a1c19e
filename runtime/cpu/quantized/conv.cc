// Chooses among 8-bit convolutions: AMX's tiles (amx_kernels.h) or register tiles over packed
// weights (register_tiles.cc); channel by channel if each channel has its own filter
// (depthwise.cc); element by element if none fits.
#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "opr/quantized_conv.h"
#include "runtime/cpu/amx_kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/quantized/conv_problem.h"

namespace ashlar::cpu {
namespace {

// The time of networks in vectors over that in AMX's tiles, roughly.
constexpr double kTimeOverAmx = 3;

RoundingSteps RoundingOf(const Requantization& to) {
  return RoundingBetween(to.least, to.most, to.zero_point);
}

// Calls row(image, row) for all rows of the output, on several threads.
template <typename Row>
void ForEachOutputRow(const QuantizedConvProblem& problem, const Row& row) {
  const int64_t rows = problem.geometry.h.output;
  const int64_t grain =
      std::max<int64_t>(1, 16 * kElementsPerThread / std::max<int64_t>(problem.row_products(), 1));
  ParallelFor(problem.threads, problem.geometry.batch * rows, grain,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) row(i / rows, i % rows);
              });
}

// Takes any strides, and a row-major filter that need not be constant.
template <typename Element>
void RunElements(const QuantizedConvProblem& problem, const KernelArgs& args) {
  const ConvolutionGeometry& g = problem.geometry;
  const auto* const src = args.Input<Element>(ConvBiasForward::kSrc);
  const auto* const filter = args.Input<int8_t>(ConvBiasForward::kFilter);
  const auto* const bias = args.Input<int32_t>(ConvBiasForward::kBias);
  auto* const dst = args.Output<uint8_t>(0);
  const auto* const z = problem.adds() ? args.Input<uint8_t>(ConvBiasForward::kZ) : nullptr;
  const int64_t taps = problem.taps();
  ForEachOutputRow(problem, [&](int64_t n, int64_t oh) {
    for (int64_t channel = 0; channel < g.groups * g.out_channels; ++channel) {
      const Element* const image =
          src + n * problem.src.n + channel / g.out_channels * g.in_channels * problem.src.c;
      const int8_t* const weights = filter + channel * g.in_channels * taps;
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        auto sum = static_cast<uint32_t>(bias[channel]);  // wraps around, as in vectors
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t y = g.h.Origin(oh) + tap / g.w.window * g.h.dilation;
          const int64_t x = g.w.Origin(ow) + tap % g.w.window * g.w.dilation;
          if (y < 0 || y >= g.h.input || x < 0 || x >= g.w.input) continue;
          const Element* const pixel = image + y * problem.src.h + x * problem.src.w;
          for (int64_t c = 0; c < g.in_channels; ++c) {
            sum += static_cast<uint32_t>((pixel[c * problem.src.c] - problem.to.source_zero_point) *
                                         weights[c * taps + problem.FilterTap(tap)]);
          }
        }
        const auto place = [&](const ImageStrides& in) {
          return n * in.n + channel * in.c + oh * in.h + ow * in.w;
        };
        if (problem.joins() && z != nullptr) {
          uint32_t before;
          std::memcpy(&before, z + place(problem.z), sizeof(before));
          sum += before;
        }
        if (problem.unfinished()) {
          std::memcpy(dst + place(problem.dst), &sum, sizeof(sum));
          continue;
        }
        float steps = static_cast<float>(static_cast<int32_t>(sum)) *
                      problem.to.factors[static_cast<size_t>(channel)];
        if (z != nullptr && !problem.joins()) {
          const float addend =
              std::min(std::max(std::nearbyint(steps), problem.sum->low), problem.sum->high);
          steps = problem.sum->StepsOf(addend, z[place(problem.z)]);
        }
        dst[place(problem.dst)] = static_cast<uint8_t>(Rounded(steps, problem.rounding));
      }
    }
  });
}

}  // namespace

absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvBiasForward& op,
                                                       const KernelRequest& request) {
  const TensorType &src = request.inputs[ConvBiasForward::kSrc],
                   &filter = request.inputs[ConvBiasForward::kFilter];
  const TensorType& dst = request.outputs[0];
  QuantizedConvProblem problem;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferConvolution(op.param(), src, filter));
  const ConvolutionGeometry& g = problem.geometry;
  problem.src = StridesOf(src);
  problem.dst = StridesOf(dst);
  problem.flipped = op.param().mode == ConvolutionMode::kConvolution;
  problem.is_signed = src.dtype == DType::kQuantizedS8;
  problem.threads = request.threads;
  const auto requantization = [&](const ConvBiasParam& param, const TensorType& to) {
    return RequantizationOf(param, src.quantization, filter.quantization, to,
                            g.groups * g.out_channels);
  };
  const bool adds = request.inputs.size() > ConvBiasForward::kZ;
  const bool joins = JoinsSums(request.infos());
  const bool unfinished = dst.dtype == DType::kQuantizedS32;
  if (unfinished) {
    problem.to.source_zero_point = src.quantization.zero_point();
  } else {
    problem.to = requantization(op.param(), dst);
    const std::vector<float>& factors = problem.to.factors;
    problem.rounding = ByteRounding(RoundingOf(problem.to), dst.dtype == DType::kQuantizedS8,
                                    *std::max_element(factors.begin(), factors.end()));
  }
  if (joins || unfinished) {
    const auto in_integers = [](ImageStrides strides) {
      for (int64_t* const step : {&strides.n, &strides.c, &strides.h, &strides.w}) *step *= 4;
      return strides;
    };
    problem.sum = TileSum::Joining(/*first=*/!joins, unfinished);
    if (joins) problem.z = in_integers(StridesOf(request.inputs[ConvBiasForward::kZ]));
    if (unfinished) problem.dst = in_integers(problem.dst);
  } else if (adds) {
    const TensorType& z = request.inputs[ConvBiasForward::kZ];
    const ConvBiasParam alone = WithoutSum(op.param());
    ASHLAR_ASSIGN_OR_RETURN(const TensorType addend, QuantizedType(alone.output, dst.shape));
    problem.to = requantization(alone, addend);
    const RoundingSteps of_addend = RoundingOf(problem.to);
    problem.sum = TileSum(of_addend.low, of_addend.high, addend.quantization.scale(),
                          z.quantization.scale(), z.quantization.zero_point(),
                          z.dtype == DType::kQuantizedS8, dst.quantization.scale(),
                          ElemwiseMultiType(SumOf(op.param()))
                              .FixedSum(addend.quantization, z.quantization, dst.quantization));
    problem.z = StridesOf(z);
  }
  KernelList kernels;
  if (request.constant[ConvBiasForward::kFilter]) {
    std::unique_ptr<Kernel> kernel = QuantizedDepthwise(problem, request.processor);
    const bool tiled = kernel == nullptr && FitsRegisterTiles(problem, request.processor);
    if (kernel == nullptr) kernel = AmxConvolution(problem, request.processor);
    const bool copies = kernel != nullptr && kernel->workspace_bytes() > kNegligibleWorkspace;
    if (tiled && copies && request.policy.low_workspace) kernel = nullptr;
    if (kernel != nullptr) kernels.push_back(std::move(kernel));
    if (tiled) {
      kernels.push_back(
          RegisterTiles(problem, request.processor, kernels.empty() ? 1 : kTimeOverAmx));
    }
    if (!kernels.empty()) return kernels;
  }
  const bool is_signed = problem.is_signed;
  return OnlyKernel("int8:elements", [=](const KernelArgs& args) {
    is_signed ? RunElements<int8_t>(problem, args) : RunElements<uint8_t>(problem, args);
  });
}

}  // namespace ashlar::cpu
