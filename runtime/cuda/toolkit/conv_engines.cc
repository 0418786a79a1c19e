#include "runtime/cuda/toolkit/conv_engines.h"

#include <map>
#include <utility>

#include "graph/status.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {
namespace {

constexpr int64_t kMostConfigs = 64;  // to request: engines without tensor cores come late

// The limits on the number of engines: in total, per engine index, and of engines that the library
// compiles during preparation, which takes a second each. One set of limits if speed is only
// estimated, another if it is measured.
struct Limits {
  size_t engines;
  int per_engine;
  int compiled;
};
constexpr Limits kByHeuristics = {3, 1, 0}, kAllCandidates = {12, 6, 4};

// Expected slowdown of an engine relative to the first allowed one:
// - for each position in the heuristics' list;
// - for lacking tensor cores, after an engine that has them;
// - for being, or coming after, the engine that takes any graph;
// - for being a fallback.
constexpr double kPlaceSlowdown = 0.02, kNoTensorCores = 0.3, kTakesAll = kLastResort,
                 kFallback = kLastResort;
constexpr int64_t kTakesAllIndex = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
constexpr cudnnBackendAttributeName_t kPlanHandle = CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
#pragma GCC diagnostic pop

// The properties of an engine, known before it is prepared.
struct Traits {
  int64_t index = 0;  // the engine's index in the library
  bool allowed = true;
  bool tensor_cores = false;
  bool compiled = false;    // during preparation
  bool transforms = false;  // Winograd's algorithm or a Fourier transform

  bool takes_all() const { return index == kTakesAllIndex && !tensor_cores; }
};

// Whether an engine with this note is as precise as the problem requires, and deterministic.
bool IsAllowed(const ConvProblem& problem, cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return false;
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      // In 16 bits, transformed images are rounded too: larger errors than of direct sums.
      return !problem.policy.exact && problem.src.dtype == DType::kFloat32;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      return problem.src.dtype != DType::kFloat32 || problem.policy.allow_tf32;
    default:
      return true;
  }
}

absl::StatusOr<Traits> TraitsOf(const ConvProblem& problem, const Descriptor& config) {
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<Descriptor> engines,
      config.GetDescriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
  if (engines.empty()) return absl::InternalError("a cuDNN configuration has no engine");
  Traits traits;
  ASHLAR_ASSIGN_OR_RETURN(traits.index, engines[0].Get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<cudnnBackendNumericalNote_t> numerical,
                          engines[0].GetAll<cudnnBackendNumericalNote_t>(
                              CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
  for (cudnnBackendNumericalNote_t note : numerical) {
    traits.allowed &= IsAllowed(problem, note);
    traits.tensor_cores |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    traits.transforms |= note == CUDNN_NUMERICAL_NOTE_WINOGRAD || note == CUDNN_NUMERICAL_NOTE_FFT;
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<cudnnBackendBehaviorNote_t> behavior,
                          engines[0].GetAll<cudnnBackendBehaviorNote_t>(
                              CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT));
  for (cudnnBackendBehaviorNote_t note : behavior) {
    traits.compiled |= note == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  }
  return traits;
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

// Returns configurations in the order of one of the library's heuristics.
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

// A search that collects engines up to the limits. It prepares them if speed is only estimated, and
// leaves out engines that the library refuses.
class EngineSearch {
 public:
  EngineSearch(const ConvProblem& problem, GraphTail tail, std::shared_ptr<const ConvGraph> graph,
               const LibraryDevice& device)
      : problem_(problem),
        adds_(problem.z.has_value() && tail != GraphTail::kNone),
        graph_(std::move(graph)),
        device_(device) {}

  std::vector<ConvEngine> Run() {
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      absl::StatusOr<std::vector<Descriptor>> configs = Configs(*graph_, mode, device_);
      if (configs.ok()) Consider(*configs, mode == CUDNN_HEUR_MODE_FALLBACK);
      if (without_workspace_ || (lists_ && !engines_.empty())) break;  // others are slower
    }
    return std::move(engines_);
  }

  // Whether more memory might have given more engines.
  bool lacked_memory() const { return lacked_memory_; }

 private:
  void Consider(std::vector<Descriptor>& configs, bool fallback) {
    int place = 0;  // position after the first allowed engine
    bool takes_all = false;
    for (Descriptor& config : configs) {
      const bool full = engines_.size() >= limits_.engines;
      if (full && without_workspace_) return;
      const absl::StatusOr<Traits> traits = TraitsOf(problem_, config);
      if (!traits.ok() || !traits->allowed) {
        place += place > 0;
        continue;
      }
      // z may share the output's address. The library does not say whether its last-resort engines
      // read z before they write (even partial) sums there.
      if (adds_ && (fallback || traits->takes_all())) continue;
      takes_all |= traits->takes_all();
      const double slowdown = kPlaceSlowdown * place++ + (takes_all ? kTakesAll : 0) +
                              (tensor_cores_ && !traits->tensor_cores ? kNoTensorCores : 0) +
                              (fallback ? kFallback : 0);
      if (traits->compiled && compiled_ >= limits_.compiled) continue;
      const bool room = !full && of_engine_[traits->index] < limits_.per_engine;
      if (!room && (lists_ || without_workspace_)) continue;
      absl::StatusOr<std::string> name = NameOf(traits->index, config);
      if (!name.ok()) continue;
      auto plan = std::make_shared<const EnginePlan>(graph_, std::move(config), device_);
      compiled_ += traits->compiled;
      if (!lists_ && !IsWanted(*plan, room)) continue;
      ++of_engine_[traits->index];
      tensor_cores_ |= traits->tensor_cores;
      engines_.push_back({std::move(plan),
                          absl::StrCat(*name, traits->transforms ? ":transforms" : "",
                                       traits->compiled ? ":compiled" : ""),
                          slowdown});
    }
  }

  // Without room, accepts only an engine that needs no workspace.
  bool IsWanted(const EnginePlan& plan, bool room) {
    const absl::StatusOr<int64_t> workspace = plan.Prepare();
    lacked_memory_ |= absl::IsUnavailable(workspace.status());
    if (!workspace.ok()) return false;
    const bool has_workspace = *workspace > kNegligibleWorkspace;
    without_workspace_ |= !has_workspace;
    return room || !has_workspace;
  }

  const ConvProblem& problem_;
  const bool adds_;  // the graph adds z
  const std::shared_ptr<const ConvGraph> graph_;
  const LibraryDevice& device_;
  const bool lists_ = problem_.policy.all_candidates;  // lists engines without preparing them
  const Limits& limits_ = lists_ ? kAllCandidates : kByHeuristics;
  std::vector<ConvEngine> engines_;
  std::map<int64_t, int> of_engine_;
  int compiled_ = 0;
  bool without_workspace_ = false;
  bool tensor_cores_ = false;  // some engine uses them
  bool lacked_memory_ = false;
};

// Problems with equal keys have the same engines.
std::string KeyOf(const ConvProblem& problem, GraphTail tail) {
  const ConvolutionGeometry& g = problem.geometry;
  const ImageStrides& in = problem.src_strides;
  std::string key = absl::StrCat(problem.src.ToString(), " ", in.n, " ", in.c, " ", in.h, " ", in.w,
                                 " +", problem.src_offset_bytes() % kTensorAlignment, " ",
                                 problem.filter.ToString(), " > ", problem.dst.ToString());
  for (const WindowAxis& axis : {g.h, g.w}) {
    absl::StrAppend(&key, " ", axis.window, "/", axis.stride, "/", axis.dilation, "/",
                    axis.pad_begin, "/", axis.pad_end);
  }
  absl::StrAppend(&key, g.groups == 1 ? "" : absl::StrCat(" groups ", g.groups));
  const KernelPolicy& policy = problem.policy;
  absl::StrAppend(&key, policy.exact ? " exact" : "", policy.allow_tf32 ? " tf32" : "",
                  policy.all_candidates ? " all" : "");
  if (tail == GraphTail::kNone) return key;
  absl::StrAppend(&key, problem.has_bias ? " bias" : "",
                  problem.z.has_value() ? " z " + problem.z->ToString() : "");
  if (tail == GraphTail::kSums) return key;
  const ConvBiasParam& param = problem.param;
  return absl::StrCat(key, " activation ", static_cast<int>(param.nonlineMode), " ",
                      param.parameters[0], " ", param.parameters[1]);
}

}  // namespace

absl::StatusOr<int64_t> EnginePlan::Prepare() const {
  if (!absl::IsUnavailable(workspace_.status())) return workspace_;
  auto plan = std::make_unique<Descriptor>(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (device_.cudnn != nullptr) {
    plan->Set(kPlanHandle, device_.cudnn);
  } else {
    plan->SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device_.described);
  }
  plan->SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_).Finalize();
  workspace_ = plan->status().ok() ? plan->Get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
                                   : plan->status();
  if (workspace_.ok()) plan_ = std::move(plan);
  return workspace_;
}

int64_t EnginePlan::workspace() const {
  const std::lock_guard<std::mutex> lock(device_.planning);
  return Prepare().value_or(kRefused);
}

absl::Status EnginePlan::Execute(const DeviceStream& stream, cudnnBackendDescriptor_t pack) const {
  if (plan_ == nullptr) return absl::FailedPreconditionError("an engine that was not to be had");
  const std::lock_guard<std::mutex> lock(running_);
  return stream.cudnn().Use(stream.stream(), [&](cudnnHandle_t handle) -> absl::Status {
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnBackendExecute(handle, plan_->get(), pack));
    return absl::OkStatus();
  });
}

std::shared_ptr<const std::vector<ConvEngine>> ConvEngines(const ConvProblem& problem,
                                                           GraphTail tail,
                                                           const LibraryDevice& device) {
  const std::lock_guard<std::mutex> lock(device.planning);
  const std::string key = KeyOf(problem, tail);
  if (const auto* const found = device.prepared.Find(key)) return *found;
  auto engines = std::make_shared<std::vector<ConvEngine>>();
  absl::StatusOr<std::shared_ptr<const ConvGraph>> graph =
      MakeConvGraph(problem, tail, device.cudnn);
  if (!graph.ok()) return engines;
  EngineSearch search(problem, tail, *std::move(graph), device);
  *engines = search.Run();
  // A later call may find memory for more.
  if (!engines->empty() && !search.lacked_memory()) device.prepared.Put(key, engines);
  return engines;
}

}  // namespace ashlar::cuda
