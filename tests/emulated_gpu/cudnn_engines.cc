// Heuristics, engines and plans of the emulated cuDNN. Each convolution has several engines: some
// with workspace, some less precise, some that fail only when they are prepared or run.
#include <cudnn.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "tests/emulated_gpu/cudnn_descriptors.h"
#include "tests/emulated_gpu/cudnn_graph.h"
#include "tests/emulated_gpu/device_memory.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

struct Config {
  int64_t engine;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
  std::vector<cudnnBackendNumericalNote_t> notes;
  int64_t workspace;  // bytes
  double microseconds;
  Arithmetic arithmetic;
  bool refuses = false;       // when its plan is finalized
  bool whole_images = false;  // takes no slice of a larger image
  bool is_fallback = false;
  bool compiled = false;  // when its plan is finalized
};

constexpr auto kTile = CUDNN_KNOB_TYPE_TILE_SIZE;
constexpr auto kEdge = CUDNN_KNOB_TYPE_EDGE;

// In the order of the heuristics, which differs from the order of their times.
const std::vector<Config>& Configs() {
  static const auto* const configs = new std::vector<Config>{
      {0, {{kTile, 1}}, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 0, 30, Arithmetic::kTf32},
      {0, {{kTile, 2}}, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 12289, 20, Arithmetic::kTf32},
      {3, {}, {}, 0, 1, Arithmetic::kImprecise, /*refuses=*/true},
      {6,
       {},
       {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6},
       40001,
       2,
       Arithmetic::kImprecise},
      {4, {}, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0, 3, Arithmetic::kImprecise},
      {7, {}, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, 0, 4, Arithmetic::kImprecise},
      {2, {{kTile, 0}, {kEdge, 4}}, {}, 4097, 50, Arithmetic::kExact},
      {2, {{kTile, 1}, {kEdge, 4}}, {}, 0, 40, Arithmetic::kExact},
      {5,
       {},
       {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
       20001,
       35,
       Arithmetic::kExact,
       /*refuses=*/false,
       /*whole_images=*/true},
      {8, {{kTile, 1}}, {}, 0, 60, Arithmetic::kExact, false, false, false, /*compiled=*/true},
      {8, {{kTile, 2}}, {}, 0, 60, Arithmetic::kExact, false, false, false, /*compiled=*/true},
      {28, {}, {}, 100, 100, Arithmetic::kExact, false, false, /*is_fallback=*/true},
      {29, {}, {}, 0, 110, Arithmetic::kExact, false, false, /*is_fallback=*/true},
  };
  return *configs;
}

const GraphOperation& ConvolutionOf(const OperationGraph& graph) { return graph.operations[0]; }

// Returns whether the library has engines for such a graph. It needs one convolution, followed only
// by broadcast and pointwise operations, with images and filter all in one order.
bool IsSupported(const OperationGraph& graph) {
  const auto& operations = graph.operations;
  if (operations[0].step != GraphStep::kConvolution) return false;
  if (operations.size() > 1 && TheMachine().unfused != 0) return false;
  for (size_t i = 1; i < operations.size(); ++i) {
    if (operations[i].step == GraphStep::kConvolution || operations[i].x != operations[i - 1].y) {
      return false;
    }
  }
  const bool last =
      graph.At(operations.back().y).IsChannelsLast() && graph.At(operations[0].x).strides[1] == 1;
  const bool rows =
      graph.At(operations.back().y).IsRowMajor() && graph.At(operations[0].w).IsRowMajor();
  return last ? graph.At(operations[0].w).IsChannelsLast() : rows;
}

// Returns whether an activation is not a ReLU. As in the real library, the fast engines know only
// the ReLU.
bool HasOtherActivation(const OperationGraph& graph) {
  return std::any_of(graph.operations.begin(), graph.operations.end(), [](const auto& operation) {
    const bool clips =
        operation.step == GraphStep::kRelu && operation.upper < std::numeric_limits<float>::max();
    return clips || operation.step == GraphStep::kSigmoid;
  });
}

cudnnStatus_t Prepare(const OperationGraph& graph, const Config& config) {
  const GraphTensor& x = graph.At(ConvolutionOf(graph).x);
  const bool whole = x.IsChannelsLast() || x.IsRowMajor();
  if (config.refuses) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!whole && (config.whole_images || TheMachine().whole_images != 0)) {
    return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  }
  // Tensor cores need channels in packs; engine 2 needs workspace for transposed tensors.
  if (config.engine == 0 && (x.alignment < 16 || x.strides[1] != 1)) {
    return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  }
  if (config.engine == 2 && config.workspace > 0 && x.strides[1] != 1) {
    return CUDNN_STATUS_NOT_SUPPORTED_LAYOUT;
  }
  return CUDNN_STATUS_SUCCESS;
}

bool Overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const char *first = static_cast<const char*>(a), *second = static_cast<const char*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

// Finds the tensors that are not virtual in a variant pack, by number. Returns false, and notes a
// misuse, if a tensor is missing or its place is not valid.
bool FindTensors(const Call& call, const OperationGraph& graph, const BackendDescriptor& pack,
                 int64_t scratch, std::map<int64_t, void*>& places) {
  const std::vector<int64_t> ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const std::vector<void*> pointers = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  void* const workspace = pack.One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto refuse = [&](const std::string& what) {
    call.Misuse(what);
    return false;
  };
  for (size_t i = 0; i < ids.size(); ++i) places[ids[i]] = pointers[i];
  if (scratch > 0 && Find(workspace, scratch) != Place::kDevice) {
    return refuse("the workspace is not " + std::to_string(scratch) + " bytes of the device");
  }
  const int64_t output = graph.operations.back().y;
  size_t tensors = 0;
  for (const auto& [id, tensor] : graph.tensors) {
    if (tensor.is_virtual) continue;
    ++tensors;
    const std::string name = "tensor " + std::to_string(id);
    const auto place = places.find(id);
    if (place == places.end()) return refuse(name + " is missing");
    const int64_t bytes = tensor.Reach() * BytesOf(tensor.number);
    if (Find(place->second, bytes) != Place::kDevice) {
      return refuse(name + " is not " + std::to_string(bytes) + " bytes of the device");
    }
    if (reinterpret_cast<uintptr_t>(place->second) % static_cast<uintptr_t>(tensor.alignment) !=
        0) {
      return refuse(name + " is not aligned as its descriptor says");
    }
    if (scratch > 0 && Overlap(place->second, bytes, workspace, scratch)) {
      return refuse(name + " lies in the workspace");
    }
    const GraphTensor& written = graph.At(output);
    const bool same = places.at(output) == place->second && tensor.strides == written.strides;
    const bool is_summand = id != ConvolutionOf(graph).x && id != ConvolutionOf(graph).w;
    if (id != output && !(same && is_summand) &&
        Overlap(place->second, bytes, places.at(output),
                written.Reach() * BytesOf(written.number))) {
      return refuse(name + " lies where the output does");
    }
  }
  return tensors == places.size() || refuse("tensors that the graph has not");
}

// Overwrites the output before added tensors are read: fallback engines write sums there first.
void SpoilOutput(const OperationGraph& graph, const std::map<int64_t, void*>& places) {
  const int64_t output = graph.operations.back().y;
  const GraphTensor& y = graph.At(output);
  if (!y.IsChannelsLast() && !y.IsRowMajor()) return;  // others' elements may lie between
  std::memset(places.at(output), 0xff, static_cast<size_t>(y.Reach() * BytesOf(y.number)));
}

}  // namespace

cudnnStatus_t FinalizeHeuristics(const Call& call, BackendDescriptor& heuristics) {
  const BackendDescriptor& graph = *DescriptorAt(
      call, heuristics.One<cudnnBackendDescriptor_t>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  if (!graph.graph->has_handle && !heuristics.Has(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP)) {
    call.Misuse("neither a handle nor a description of a device");
    return CUDNN_STATUS_BAD_PARAM;
  }
  heuristics.graph = graph.graph;
  return IsSupported(*graph.graph) ? CUDNN_STATUS_SUCCESS
                                   : CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
cudnnStatus_t FinalizePlan(const Call& call, BackendDescriptor& plan) {
  if (!plan.Has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
      !plan.Has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP)) {
    call.Misuse("neither a handle nor a description of a device");
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (plan.Has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) && IsCapturing(call)) {
    return CUDNN_STATUS_INTERNAL_ERROR;
  }
  const BackendDescriptor& made = *DescriptorAt(
      call, plan.One<cudnnBackendDescriptor_t>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  plan.graph = made.graph;
  plan.config = made.config;
  const Config& config = Configs()[static_cast<size_t>(made.config)];
  if (config.compiled) const Call compilation("(compilation of an engine)");
  const Call preparation("(preparation of an engine)");
  plan.Put<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, {config.workspace});
  return Prepare(*made.graph, config);
}
#pragma GCC diagnostic pop

cudnnStatus_t FinalizeVariantPack(const Call& call, BackendDescriptor& pack) {
  const std::vector<int64_t> ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const std::vector<void*> pointers = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (ids.size() == pointers.size() &&
      std::set<int64_t>(ids.begin(), ids.end()).size() == ids.size()) {
    return CUDNN_STATUS_SUCCESS;
  }
  call.Misuse("not one pointer for each number, or a number twice");
  return CUDNN_STATUS_BAD_PARAM;
}

// Returns configurations by position, for the requested mode.
static std::vector<int> ConfigsOf(const BackendDescriptor& heuristics) {
  const bool fallback = heuristics.One<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) ==
                        CUDNN_HEUR_MODE_FALLBACK;
  std::vector<int> positions;
  if (!fallback && HasOtherActivation(*heuristics.graph)) return positions;
  for (size_t i = 0; i < Configs().size(); ++i) {
    if (Configs()[i].is_fallback == fallback) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

int64_t CountDescriptors(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name) {
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    return static_cast<int64_t>(ConfigsOf(descriptor).size());
  }
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) return 1;
  if (name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES) {
    return static_cast<int64_t>(Configs()[static_cast<size_t>(descriptor.config)].knobs.size());
  }
  return 0;
}

bool GetDescriptor(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name,
                   int64_t index, BackendDescriptor& into) {
  // The source descriptor must live as long as this one.
  const auto source = name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH
                                                            : CUDNN_ATTR_ENGINE_OPERATION_GRAPH;
  into.Put(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR,
           descriptor.All<cudnnBackendDescriptor_t>(source));
  into.graph = descriptor.graph;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    into.config = ConfigsOf(descriptor)[static_cast<size_t>(index)];
    return true;
  }
  into.config = descriptor.config;
  const Config& config = Configs()[static_cast<size_t>(descriptor.config)];
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    into.Put<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {config.engine});
    into.Put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, config.notes);
    std::vector<cudnnBackendBehaviorNote_t> behavior;
    if (config.compiled) behavior.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
    into.Put(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, behavior);
    return true;
  }
  const auto& [knob, value] = config.knobs[static_cast<size_t>(index)];
  into.Put<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, {knob});
  into.Put<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, {value});
  return true;
}

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const Exclusive use_plan("cudnnBackendExecute", plan), use_handle("cudnnBackendExecute", handle);
  const Call call("cudnnBackendExecute");
  if (call.fails()) return CUDNN_STATUS_EXECUTION_FAILED;
  const cudaStream_t* const stream = StreamOf(call, handle);
  const BackendDescriptor* const planned =
      DescriptorAt(call, plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  const BackendDescriptor* const packed =
      DescriptorAt(call, pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  if (stream == nullptr || planned == nullptr || packed == nullptr || !IsWhole(call, *planned)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  // Kernels are loaded by their first call, which a capture does not allow.
  if (!planned->loaded && IsCaptured(*stream)) {
    call.Misuse("an engine's kernels are loaded while its stream is captured");
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  planned->loaded = true;
  const Config& config = Configs()[static_cast<size_t>(planned->config)];
  std::map<int64_t, void*> places;
  if (!FindTensors(call, *planned->graph, *packed, config.workspace, places)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const bool rounds = planned->graph->At(ConvolutionOf(*planned->graph).x).number == Number::kFloat;
  const Arithmetic arithmetic =
      config.arithmetic == Arithmetic::kTf32 && !rounds ? Arithmetic::kExact : config.arithmetic;
  void* const workspace = packed->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const size_t scratch = static_cast<size_t>(config.workspace);
  const bool unfinished = config.is_fallback;
  const cudaError_t error =
      Enqueue(call, *stream, config.microseconds, [=, graph = planned->graph] {
        if (scratch > 0) std::memset(workspace, 0xff, scratch);
        if (unfinished) SpoilOutput(*graph, places);
        Interpret(*graph, arithmetic, places);
      });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED_CUDART;
}
