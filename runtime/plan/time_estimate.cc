#include "runtime/plan/time_estimate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "graph/status.h"
#include "opr/conv_bias.h"

namespace ashlar {
namespace {

// Weights that lie in the second-level cache when they are read again soon.
constexpr int64_t kCachedWeights = 1 << 19;

// Of a data centre GPU: what is known without asking one. Convolutions in Float32.
constexpr ProcessorSpeed kGpuSpeed = {
    .flops = 3e10, .cache_bytes = 3e9, .memory_bytes = 3e9, .kernel_ms = 0.003};

// Of a thread of a processor that is not at hand, a millisecond.
double FlopsOf(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return 1e8;
    case Isa::kAvx2:
      return 5e7;
    case Isa::kBaseline:
      break;
  }
  return 1e7;
}

// The least of some runs, milliseconds.
template <typename Body>
absl::StatusOr<double> LeastTime(int runs, const Body& body) {
  double least = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASHLAR_RETURN_IF_ERROR(body());
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    least = std::min(least, ms.count());
  }
  return least;
}

// Of a convolution in the middle of a network.
absl::StatusOr<double> MeasureFlops(Device& device, int threads) {
  const TensorType image{DType::kFloat32, {1, 64, 28, 28}, Format::kNHCW16c};
  const TensorType filter{DType::kFloat32, {64, 64, 3, 3}}, bias{DType::kFloat32, {1, 64, 1, 1}};
  ConvBiasParam param;
  param.pad_h = param.pad_w = 1;
  const ConvBiasForward op(param);
  KernelRequest request;
  request.op = &op;
  request.inputs = {image, filter, bias};
  request.outputs = {image};
  request.constant = {false, true, true};
  request.host_values.assign(3, nullptr);
  request.processor = device.processor();
  request.threads = threads;
  request.policy.exact = true;
  const KernelFactory* factory = device.kernels().Find(op.type());
  if (factory == nullptr) return absl::UnimplementedError("no convolution to measure");
  device.UseThreads(threads);
  ASHLAR_ASSIGN_OR_RETURN(const KernelList kernels, (*factory)(request));
  const Kernel& kernel = *kernels.front();
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<KernelState> state, kernel.NewState());
  const std::optional<Packing> packing = kernel.packing(1);
  const int64_t filter_bytes = packing ? packing->bytes : filter.bytes();
  ASHLAR_ASSIGN_OR_RETURN(
      const std::unique_ptr<DeviceMemory> memory,
      device.Allocate(2 * image.bytes() + filter_bytes + 4096 + kernel.workspace_bytes()));
  char* const base = static_cast<char*>(memory->data());
  const void* inputs[] = {base, base + 2 * image.bytes(), base + 2 * image.bytes() + filter_bytes};
  void* outputs[] = {base + image.bytes()};
  const KernelArgs args{inputs, outputs, base + 2 * image.bytes() + filter_bytes + 4096};
  ASHLAR_ASSIGN_OR_RETURN(const double ms,
                          LeastTime(4, [&] { return kernel.Run(args, state.get()); }));
  return static_cast<double>(op.Computation(OwnedSite{{{image}, {filter}, {bias}}, {image}})) / ms;
}

}  // namespace

absl::StatusOr<ProcessorSpeed> SpeedOf(Device& device, const std::optional<Processor>& processor,
                                       int threads) {
  if (!device.is_host()) return kGpuSpeed;
  if (processor.has_value()) return ProcessorSpeed{.flops = FlopsOf(processor->isa) * threads};
  static std::mutex mutex;
  static auto* const known = new std::map<std::pair<Device*, int>, ProcessorSpeed>();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [entry, is_new] = known->try_emplace({&device, threads});
  ProcessorSpeed& speed = entry->second;
  if (is_new) {
    const absl::StatusOr<double> flops = MeasureFlops(device, threads);
    if (flops.ok()) speed.flops = *flops;
  }
  return speed;
}

double EstimateOperator(const Graph& graph, const StorageModel& model, int index,
                        const ProcessorSpeed& speed, double share) {
  const OperatorNode& node = graph.node(index);
  if (node.op->role() != Role::kCompute || model.writes[index].empty()) return 0;
  double weights = 0, bytes = 0;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue) continue;
    const int64_t size = graph.var(node.inputs[k]).type.bytes();
    if (graph.constant(node.inputs[k]) == nullptr) {
      bytes += static_cast<double>(size);
    } else if (size > kCachedWeights) {
      weights += static_cast<double>(size);
    }
  }
  double made = 0;
  for (int storage : model.writes[index]) {
    made += static_cast<double>(model.storages[storage].bytes);
  }
  bytes += made;
  double flops = 0;
  if (model.placements[index].empty()) {
    flops = static_cast<double>(node.op->Computation(graph.SiteOf(node)));
  } else {
    // What was made in its place is not copied.
    bytes = 2.0 * made;
    for (const Placement& placement : model.placements[index]) {
      bytes -= 2.0 * static_cast<double>(model.storages[placement.inner].bytes);
    }
  }
  return speed.kernel_ms +
         std::max(share * flops / speed.flops,
                  weights / speed.memory_bytes + share * bytes / speed.cache_bytes);
}

double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed) {
  double ms = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    ms += EstimateOperator(graph, model, static_cast<int>(i), speed);
  }
  return ms;
}

}  // namespace ashlar
