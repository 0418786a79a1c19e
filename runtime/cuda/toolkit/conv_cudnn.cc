#include "runtime/cuda/toolkit/conv_cudnn.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "graph/status.h"
#include "runtime/allocation_origin.h"
#include "runtime/cuda/toolkit/conv_graph.h"
#include "runtime/cuda/toolkit/stream.h"

namespace ashlar::cuda {
namespace {

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

constexpr int64_t kMostConfigs = 64;  // that are asked for: those without tensor cores come late
// How many are kept of all and of one engine: of those expected to be fast, and to be measured.
struct Limits {
  size_t kernels;
  int per_engine;
};
constexpr Limits kByHeuristics = {3, 1}, kAllCandidates = {12, 4};
constexpr int64_t kAlignment = 256;  // of parts of the workspace, bytes

// Expected times over that of the heuristics' first choice, by rank, and by what a convolution
// loses whose tail is a launch of its own.
constexpr double kRankSlowdown = 0.05, kEpilogueSlowdown = 0.15, kFallbackSlowdown = 0.5;

int64_t AlignUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr cudnnBackendAttributeName_t kPlanHandle = CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
#pragma GCC diagnostic pop

// An engine that was prepared for a graph.
struct Engine {
  std::shared_ptr<const ConvGraph> graph;
  std::shared_ptr<const std::vector<Descriptor>> configs;  // what the plan refers to
  std::shared_ptr<const Descriptor> plan;
  int64_t index = 0;  // of the engine in the library
  std::string name;   // "eng34{2=1,4=0}": with the values of its knobs
  int64_t workspace = 0;
};

// The data pointers of one session, bound once.
class BoundPointers final : public KernelState {
 public:
  absl::StatusOr<cudnnBackendDescriptor_t> For(const Engine& engine, absl::Span<const int64_t> ids,
                                               absl::Span<void* const> pointers, void* workspace) {
    if (!std::equal(pointers.begin(), pointers.end(), pointers_.begin(), pointers_.end()) ||
        workspace != workspace_) {
      pack_ = std::make_unique<Descriptor>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      pack_->SetAll<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
          .SetAll<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
          .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, engine.workspace > 0 ? workspace : nullptr)
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
  // `fused`: the engine's graph has bias, z and activation; else a launch of its own follows.
  CudnnConvolution(const ConvProblem& problem, Engine engine, bool fused, double relative_time)
      : problem_(problem), engine_(std::move(engine)), relative_time_(relative_time) {
    if (!fused && NeedsEpilogue(problem)) {
      epilogue_ = MakeConvEpilogue(problem);
      // z may lie where the output does: the sums then need a place of their own.
      if (problem.z.has_value()) sums_bytes_ = AlignUp(problem.dst.bytes());
    }
  }

  std::string implementation() const override {
    return absl::StrCat("cudnn:", engine_.name, epilogue_ == nullptr ? "" : "+epilogue");
  }
  int64_t workspace_bytes() const override { return sums_bytes_ + engine_.workspace; }
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
    const std::vector<ConvTensor>& tensors = engine_.graph->tensors;
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
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnBackendExecute(stream->cudnn(), engine_.plan->get(), pack));
    return epilogue_ == nullptr ? absl::OkStatus() : epilogue_->Run(args, nullptr);
  }

 private:
  void* PointerTo(ConvTensor tensor, const KernelArgs& args) const {
    switch (tensor) {
      case kX:
        return const_cast<char*>(static_cast<const char*>(args.inputs[kSrc])) +
               problem_.src_offset_bytes();
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
  const Engine engine_;
  const double relative_time_;
  std::unique_ptr<Kernel> epilogue_;
  int64_t sums_bytes_ = 0;
};

// Whether an engine computes as precisely as the problem asks, and the same in every run.
absl::StatusOr<bool> IsAllowed(const ConvProblem& problem, const Descriptor& engine) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<cudnnBackendNumericalNote_t> notes,
                          engine.GetAll<cudnnBackendNumericalNote_t>(
                              CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
  const bool strict = problem.src.dtype == DType::kFloat32 && !problem.policy.allow_tf32;
  for (cudnnBackendNumericalNote_t note : notes) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return false;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        if (problem.policy.exact) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        if (strict) return false;
        break;
      default:
        break;
    }
  }
  return true;
}

absl::StatusOr<std::string> NameOf(int64_t index, const Descriptor& config) {
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<Descriptor> knobs,
      config.GetDescriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                            CUDNN_KNOB_TYPE_COUNTS));
  std::string name = absl::StrCat("eng", index, "{");
  for (size_t i = 0; i < knobs.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(const cudnnBackendKnobType_t type,
                            knobs[i].Get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
    ASHLAR_ASSIGN_OR_RETURN(const int64_t value,
                            knobs[i].Get<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    absl::StrAppend(&name, i == 0 ? "" : ",", static_cast<int>(type), "=", value);
  }
  return absl::StrCat(name, "}");
}

// The engine of a configuration, prepared to run (or, without a device, to be asked for its
// workspace).
absl::StatusOr<Engine> Prepare(const ConvProblem& problem, std::shared_ptr<const ConvGraph> graph,
                               Descriptor config, const LibraryDevice& device) {
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<Descriptor> engines,
      config.GetDescriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
  if (engines.empty()) return absl::InternalError("a cuDNN configuration has no engine");
  ASHLAR_ASSIGN_OR_RETURN(const bool allowed, IsAllowed(problem, engines[0]));
  if (!allowed) return absl::FailedPreconditionError("not as precise as it has to be");
  Engine prepared;
  prepared.graph = std::move(graph);
  ASHLAR_ASSIGN_OR_RETURN(prepared.index, engines[0].Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  ASHLAR_ASSIGN_OR_RETURN(prepared.name, NameOf(prepared.index, config));
  auto configs = std::make_shared<std::vector<Descriptor>>();
  configs->push_back(std::move(config));
  auto plan = std::make_shared<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (device.cudnn != nullptr) {
    plan->Set(kPlanHandle, device.cudnn);
  } else {
    plan->SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device.described);
  }
  plan->SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs->front()).Finalize();
  ASHLAR_RETURN_IF_ERROR(plan->status());
  ASHLAR_ASSIGN_OR_RETURN(prepared.workspace,
                          plan->Get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  prepared.configs = std::move(configs);
  prepared.plan = std::move(plan);
  return prepared;
}

// Configurations in the order of one of the library's heuristics.
absl::StatusOr<std::vector<Descriptor>> Configs(const ConvGraph& graph, cudnnBackendHeurMode_t mode,
                                                const LibraryDevice& device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .Set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (device.cudnn == nullptr) {
    heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.described);
  }
  heuristics.Finalize();
  return heuristics.GetDescriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostConfigs);
}

using CudnnKernels = std::vector<std::unique_ptr<CudnnConvolution>>;

// Adds kernels for the graph, fused or not: as many as the limits say, and one without scratch.
// What the library refuses is left out.
void AddEngines(const ConvProblem& problem, bool fused, const Limits& limits,
                const LibraryDevice& device, CudnnKernels& kernels) {
  absl::StatusOr<std::shared_ptr<const ConvGraph>> graph =
      MakeConvGraph(problem, fused, device.cudnn);
  if (!graph.ok()) return;
  double slowdown = fused || !NeedsEpilogue(problem) ? 0 : kEpilogueSlowdown;
  size_t added = 0;
  bool without_scratch = false;
  std::map<int64_t, int> of_engine;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    absl::StatusOr<std::vector<Descriptor>> configs = Configs(**graph, mode, device);
    if (!configs.ok()) continue;
    for (Descriptor& config : *configs) {
      absl::StatusOr<Engine> engine = Prepare(problem, *graph, std::move(config), device);
      if (!engine.ok()) continue;
      const bool room = added < limits.kernels && of_engine[engine->index] < limits.per_engine;
      if (!room && (without_scratch || engine->workspace > 0)) continue;
      ++of_engine[engine->index];
      without_scratch |= engine->workspace == 0;
      const double time = 1.0 + slowdown + kRankSlowdown * static_cast<double>(added++);
      kernels.push_back(
          std::make_unique<CudnnConvolution>(problem, *std::move(engine), fused, time));
    }
    slowdown += kFallbackSlowdown;
  }
}

void KeepLeastScratch(CudnnKernels& kernels) {
  int64_t least = kernels[0]->workspace_bytes();
  for (const auto& kernel : kernels) least = std::min(least, kernel->workspace_bytes());
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
  const bool all = problem.policy.all_candidates;
  const Limits& limits = all ? kAllCandidates : kByHeuristics;
  const bool fuses = GraphFuses(problem);
  if (fuses) AddEngines(problem, /*fused=*/true, limits, device, kernels);
  // The convolution alone has more engines.
  if (NeedsEpilogue(problem) && (all || kernels.empty())) {
    AddEngines(problem, /*fused=*/false, limits, device, kernels);
  }
  if (problem.policy.least_memory && !kernels.empty()) KeepLeastScratch(kernels);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a->relative_time() < b->relative_time();
  });
  KernelList list;
  for (auto& kernel : kernels) list.push_back(std::move(kernel));
  return list;
}

}  // namespace ashlar::cuda
