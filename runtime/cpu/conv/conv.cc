// Chooses the kernels of ConvolutionForward and ConvBiasForward.
#include <algorithm>
#include <limits>
#include <utility>

#include "graph/status.h"
#include "runtime/cpu/amx_kernels.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/direct.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/cpu/conv/panel_plan.h"
#include "runtime/cpu/conv/time.h"
#include "runtime/cpu/conv/winograd.h"
#include "runtime/cpu/doubles.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/quantized.h"

namespace ashlar::cpu {
namespace {

constexpr double kWorthwhile =
    0.95;  // relative to the direct kernel, to justify less precision and more memory
// Keeps the variants of a kernel in order, with no other kernel between them.
constexpr double kNextVariant = 1e-6;
// For images of 16-bit floats: the smallest input of a run in bytes, and the relative time lost if
// a run's input exceeds its part of the cache.
constexpr int64_t kLeast16BitInput = 4096;
constexpr double kLargerRuns = 0.02;
constexpr double kAcceptable = 1.25;  // relative time accepted to save workspace
// Relative time of AMX's tiles if each copy of pixels is a quarter of the size.
constexpr double kSmallerCopies = 1.05;

const ConvBiasParam& ParamOf(const ConvBiasForward& op) { return op.param(); }
ConvBiasParam ParamOf(const ConvolutionForward& op) { return {op.param()}; }

// Adds the direct kernel, the most promising variant first.
void AddPanelConvolutions(const ConvProblem& problem, KernelList& kernels) {
  const ConvStrides strides(problem);
  double time = 1;
  int64_t likely = PanelInputBytes(problem.processor), next = 2 * likely;
  // Each run reads all weights. If they exceed the second-level cache, fewer runs are better even
  // though not all of their input stays in the cache.
  if (problem.filter.bytes() > problem.processor.l2_bytes) std::swap(likely, next);
  for (int64_t input_bytes : {likely, next, PanelInputBytes(problem.processor) / 2}) {
    auto kernel = MakePanelConvolution(problem, strides, time, input_bytes);
    const auto same = [&](const std::unique_ptr<Kernel>& other) {
      return other->implementation() == kernel->implementation();
    };
    if (std::any_of(kernels.begin(), kernels.end(), same)) continue;
    kernels.push_back(std::move(kernel));
    time *= 1 + kNextVariant;
  }
  if (problem.constant_filter || PackedWhole(problem.filter.bytes(), problem.processor)) return;
  kernels.push_back(MakePanelConvolution(problem, strides, ChunksTime(problem.geometry),
                                         kWholeInput, FilterPacking::kChunks));
}

// The same for images of 16-bit floats. Longer runs widen fewer elements twice, but take more
// workspace.
void Add16BitConvolutions(const ConvProblem& problem, bool low_workspace, KernelList& kernels) {
  const ConvStrides strides(problem);
  struct Candidate {
    int64_t input_bytes;
    double time;
  };
  const bool depthwise = problem.geometry.in_channels * problem.geometry.out_channels == 1;
  const int64_t likely =
      depthwise ? 3 * problem.processor.l1_bytes / 4 : PanelInputBytes(problem.processor);
  std::vector<Candidate> candidates;
  double best = std::numeric_limits<double>::infinity();
  for (int64_t bytes = 2 * likely; bytes >= kLeast16BitInput; bytes /= 2) {
    double time = 1 + WideningTime(problem, strides, bytes);
    if (bytes > likely) time *= 1 + kNextVariant + kLargerRuns;
    candidates.push_back({bytes, time});
    best = std::min(best, time);
  }
  KernelList made;
  for (const Candidate& candidate : candidates) {
    if (low_workspace && !made.empty() && candidate.time > kAcceptable * best) continue;
    auto kernel =
        MakePanelConvolution(problem, strides, candidate.time / best, candidate.input_bytes);
    const bool more = !made.empty() && kernel->workspace_bytes() >= made.back()->workspace_bytes();
    if (!more) made.push_back(std::move(kernel));
  }
  for (auto& kernel : made) {
    if (!low_workspace || kernel == made.back()) kernels.push_back(std::move(kernel));
  }
}

// Adds the kernel of AMX's tiles. Its results have the same bits for all sizes of copies, so plans
// within a budget have them, too, if no other kernel is offered beside it.
void AddAmxConvolutions(const ConvProblem& problem, bool low_workspace, KernelList& kernels) {
  double time = 1;
  KernelList made;
  for (const int64_t most_copied : kAmxCopies) {
    auto kernel = AmxBFloat16Convolution(problem, most_copied, time);
    if (kernel == nullptr) return;
    const bool less = made.empty() || kernel->workspace_bytes() < made.back()->workspace_bytes();
    if (less) made.push_back(std::move(kernel));
    time *= kSmallerCopies;
  }
  for (auto& kernel : made) {
    if (!low_workspace || kernel == made.back()) kernels.push_back(std::move(kernel));
  }
}

// Adds Winograd's convolution if it is expected to take at most `worthwhile` of the direct kernel's
// time.
void AddWinogradConvolutions(const ConvProblem& problem, double worthwhile, KernelList& kernels) {
  if (!WinogradConvolutionFits(problem)) return;
  const ConvStrides strides(problem);
  for (int m : {4, 3, 2}) {
    const double time = WinogradTime(problem, m);
    if (time > worthwhile) continue;
    double slower = 1;
    for (const WinogradBlocking& blocking : WinogradBlockings(problem, m)) {
      kernels.push_back(MakeWinogradConvolution(problem, strides, m, blocking, slower * time,
                                                slower * WinogradArithmetic(problem, m)));
      slower *= 1 + kNextVariant;
    }
  }
}

template <typename Op>
absl::StatusOr<KernelList> ConvolutionKernels(const Op& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(ConvProblem problem, ReadConvolution(request, ParamOf(op)));
  KernelList kernels;
  AddAmxConvolutions(problem, request.policy.low_workspace, kernels);
  if (!kernels.empty()) return kernels;
  if (PanelConvolutionFits(problem)) {
    if (Is16BitFloat(problem.src.dtype)) {
      Add16BitConvolutions(problem, request.policy.low_workspace, kernels);
    } else {
      AddPanelConvolutions(problem, kernels);
    }
    const bool exact = request.policy.exact || problem.param.compute_mode == ComputeMode::kFloat32;
    if (!exact && !request.policy.low_workspace) {
      constexpr double kAny = std::numeric_limits<double>::infinity();
      AddWinogradConvolutions(problem, request.policy.packed_before ? kAny : kWorthwhile, kernels);
    }
  } else if (Is16BitFloat(problem.src.dtype)) {
    return absl::UnimplementedError(absl::StrCat(problem.src.ToString(), ": by kernels of floats"));
  } else {
    kernels.push_back(MakeDirectConvolution(problem));
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a->relative_time() < b->relative_time();
  });
  return kernels;
}

absl::StatusOr<KernelList> MakeConvolution(const ConvolutionForward& op,
                                           const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kFloat64) return DoubleConvolution(op, request);
  return ConvolutionKernels(op, request);
}

absl::StatusOr<KernelList> MakeConvBias(const ConvBiasForward& op, const KernelRequest& request) {
  return IsQuantized(request.inputs[0].dtype) ? QuantizedConvolutionKernels(op, request)
                                              : ConvolutionKernels(op, request);
}

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry) {
  registry.Register<ConvolutionForward>(
      MakeConvolution, {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64},
      ChannelsLast::kImage);
  registry.Register<ConvBiasForward>(
      MakeConvBias,
      {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kQuantized8Asymm,
       DType::kQuantizedS8, DType::kQuantizedS32},
      ChannelsLast::kImage);
}

}  // namespace ashlar::cpu
