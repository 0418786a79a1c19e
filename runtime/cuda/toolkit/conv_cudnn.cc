#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/toolkit/conv_engines.h"
#include "runtime/cuda/toolkit/conv_libraries.h"
#include "runtime/cuda/toolkit/stream.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kAlignment = 256;  // of parts of the workspace, in bytes

// Expected slowdown if bias, z or activation take a launch of their own.
constexpr double kEpilogueSlowdown = 0.15;

// The data pointers of one session, bound once.
class BoundPointers final : public KernelState {
 public:
  absl::StatusOr<cudnnBackendDescriptor_t> For(const ConvEngine& engine,
                                               absl::Span<const int64_t> ids,
                                               absl::Span<void* const> pointers, void* workspace) {
    if (!std::equal(pointers.begin(), pointers.end(), pointers_.begin(), pointers_.end()) ||
        workspace != workspace_) {
      pack_ = std::make_unique<Descriptor>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      pack_->SetAll<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
          .SetAll<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
          .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
               engine.plan->workspace() > 0 ? workspace : nullptr)
          .Finalize();
      pointers_.assign(pointers.begin(), pointers.end());
      workspace_ = workspace;
    }
    ASHLAR_RETURN_IF_ERROR(pack_->status());
    return pack_->get();
  }

 private:
  std::unique_ptr<Descriptor> pack_;
  std::vector<void*> pointers_;
  void* workspace_ = nullptr;
};

class CudnnConvolution final : public Kernel {
 public:
  // Operations that the graph lacks run in a second launch.
  CudnnConvolution(const ConvProblem& problem, const ConvEngine& engine, GraphTail tail,
                   double relative_time)
      : problem_(problem), engine_(engine), relative_time_(relative_time) {
    if (tail == GraphTail::kAll) return;
    ConvProblem rest = problem;
    if (tail == GraphTail::kSums) {
      rest.has_bias = false;
      rest.z.reset();
    }
    rest_ = tail == GraphTail::kSums ? "+activation" : "+epilogue";
    epilogue_ = MakeConvEpilogue(rest);
    // z may share the output's address; then the sums need separate memory.
    if (rest.z.has_value()) sums_bytes_ = RoundUp(problem.dst.bytes(), kAlignment);
  }

  std::string implementation() const override {
    return absl::StrCat("cudnn:", engine_.name, rest_);
  }
  int64_t workspace_bytes() const override { return sums_bytes_ + engine_.plan->workspace(); }
  double relative_time() const override { return relative_time_; }

  std::optional<Packing> packing(int input) const override {
    if (input != kFilter || problem_.src.format != Format::kNHWC) return std::nullopt;
    return FilterPacking(problem_);
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    PackFilter(problem_, value, packed);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return std::make_unique<BoundPointers>();
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    const OriginScope scope(AllocationOrigin::kLibrary);
    char* const workspace = static_cast<char*>(args.workspace);
    std::array<void*, 5> pointers = {};
    const std::vector<ConvTensor>& tensors = engine_.plan->graph().tensors;
    std::array<int64_t, 5> ids = {};
    for (size_t i = 0; i < tensors.size(); ++i) {
      ids[i] = tensors[i];
      pointers[i] = PointerTo(tensors[i], args);
    }
    ASHLAR_ASSIGN_OR_RETURN(
        const cudnnBackendDescriptor_t pack,
        static_cast<BoundPointers*>(state)->For(
            engine_, absl::MakeConstSpan(ids.data(), tensors.size()),
            absl::MakeConstSpan(pointers.data(), tensors.size()), workspace + sums_bytes_));
    const auto* stream = static_cast<const DeviceStream*>(args.stream);
    ASHLAR_RETURN_IF_ERROR(engine_.plan->Execute(*stream, pack));
    return epilogue_ == nullptr ? absl::OkStatus() : epilogue_->Run(args, nullptr);
  }

 private:
  void* PointerTo(ConvTensor tensor, const KernelArgs& args) const {
    switch (tensor) {
      case kX:
        return const_cast<char*>(args.Input<char>(kSrc)) + problem_.src_offset_bytes();
      case kW:
        return const_cast<void*>(args.inputs[kFilter]);
      case kBiasTensor:
        return const_cast<void*>(args.inputs[kBias]);
      case kZTensor:
        return const_cast<void*>(args.inputs[kZ]);
      case kY:
        break;
    }
    return sums_bytes_ > 0 ? args.workspace : args.outputs[0];
  }

  const ConvProblem problem_;
  const ConvEngine engine_;
  const double relative_time_;
  std::unique_ptr<Kernel> epilogue_;
  absl::string_view rest_;  // for the name
  int64_t sums_bytes_ = 0;
};

using CudnnKernels = std::vector<std::unique_ptr<CudnnConvolution>>;

// Returns the tails that a graph can have, the whole one first.
std::vector<GraphTail> TailsOf(const ConvProblem& problem) {
  std::vector<GraphTail> tails;
  const bool activates = problem.param.nonlineMode != ScalarFunction::kIdentity;
  if (GraphHasActivation(problem)) tails.push_back(GraphTail::kAll);
  if (activates && (problem.has_bias || problem.z.has_value())) tails.push_back(GraphTail::kSums);
  if (NeedsEpilogue(problem)) tails.push_back(GraphTail::kNone);
  return tails;
}

void KeepLeastWorkspace(CudnnKernels& kernels) {
  int64_t least = kernels[0]->workspace_bytes();
  for (const auto& kernel : kernels) least = std::min(least, kernel->workspace_bytes());
  least = std::max(least, kNegligibleWorkspace);
  kernels.erase(
      std::remove_if(kernels.begin(), kernels.end(),
                     [&](const auto& kernel) { return kernel->workspace_bytes() > least; }),
      kernels.end());
}

}  // namespace

absl::StatusOr<KernelList> CudnnConvolutions(const ConvProblem& problem,
                                             const LibraryDevice& device) {
  CudnnKernels kernels;
  if (!GraphTakes(problem)) return KernelList();
  // The fewer operations follow the convolution in the graph, the more engines the library has.
  for (GraphTail tail : TailsOf(problem)) {
    const auto engines = ConvEngines(problem, tail, device);  // cached by the device
    const double time = tail == GraphTail::kAll ? 1.0 : 1.0 + kEpilogueSlowdown;
    for (const ConvEngine& engine : *engines) {
      kernels.push_back(
          std::make_unique<CudnnConvolution>(problem, engine, tail, time + engine.slowdown));
    }
    if (!engines->empty() && engines->front().slowdown < kLastResort) break;
  }
  if (problem.policy.low_workspace && !kernels.empty()) KeepLeastWorkspace(kernels);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a->relative_time() < b->relative_time();
  });
  KernelList list;
  for (auto& kernel : kernels) list.push_back(std::move(kernel));
  return list;
}

}  // namespace ashlar::cuda
