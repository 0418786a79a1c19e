// Arithmetic and traffic: a roofline model (Williams, Waterman and Patterson 2009). Its two terms
// are added, because prefetching hides little of either.
#include "runtime/plan/stages/time_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "graph/region.h"

namespace ashlar {
namespace {

// Weights up to this size stay in the second-level cache between two reads, and up to the other one
// in the third level.
constexpr int64_t kCachedWeights = 1 << 19;
constexpr int64_t kNearWeights = 4 << 20;
// Operators of so few bytes find them in the third level, and of so many in memory; in between, a
// part of them.
constexpr double kInThirdLevel = 8 << 20, kBeyondThirdLevel = 32 << 20;

// A data centre GPU; not measured. Convolutions in Float32.
constexpr ProcessorSpeed kGpuSpeed = {.flops = 3e10,
                                      .second_level = 3e9,
                                      .third_level = 3e9,
                                      .memory = 3e9,
                                      .second_level_bytes = 1e9};

// By instruction set, for one thread per millisecond: multiplications and additions of floats in
// registers, and bytes from each level.
// - AVX-512: measured on AMD EPYC (Zen 4) and Intel Xeon (Sapphire Rapids), which differ by less
//   than the accuracy of the estimate.
// - Neon: the peak of a Cortex-A76 at 2.4 GHz, times the share of the peak that AVX2's kernels
//   reach. It does two multiply-adds of four floats a cycle.
// `operations` of floats are done in a cycle at that peak.
struct SpeedRow {
  Isa isa;
  double flops, operations, second_level, third_level, memory;
};
constexpr SpeedRow kSpeeds[] = {
    {Isa::kBaseline, 1e7, 4, 6e7, 2e7, 1e7},
    {Isa::kNeon, 2.2e7, 16, 4e7, 1.5e7, 8e6},
    {Isa::kAvx2, 5.65e7, 32, 9e7, 2.6e7, 1.35e7},
    {Isa::kAvx512, 1.176e8, 64, 1.19e8, 2.6e7, 1.35e7},
};

// By microcontroller, instructions of a multiplication and addition with all around it, of a byte
// that is moved, and of a call. They only rank plans of one model, and were set by hand: products
// from totals of small networks of 8 bits, which differ by a factor of two (on a Cortex-M7,
// ResNet-8 has 2.9 and DS-CNN 6.1), the other two by guess. What `plan` and `compile` state is
// fitted to counts (runtime/mcu/instructions.inc). A millisecond is 10^5 instructions, as of 100
// MHz.
struct InstructionsRow {
  Microcontroller microcontroller;
  double product, byte, call;
};
constexpr double kInstructionsOfMs = 1e5;
constexpr InstructionsRow kInstructions[] = {
    {Microcontroller::kGeneric, 6, 8, 300},    {Microcontroller::kCortexM4, 4.5, 8, 300},
    {Microcontroller::kCortexM7, 4.5, 8, 300}, {Microcontroller::kCortexM55, 3, 8, 300},
    {Microcontroller::kRv32imc, 14, 10, 400},
};

ProcessorSpeed SpeedOf(const InstructionsRow& row) {
  ProcessorSpeed speed;
  speed.flops = 2 * kInstructionsOfMs / row.product;
  speed.second_level = speed.third_level = speed.memory = kInstructionsOfMs / row.byte;
  speed.kernel_ms = row.call / kInstructionsOfMs;
  return speed;
}

// Speed of the thread that measured ProcessorSpeed::kernel_ms.
constexpr double kFlopsOfKernelMs = 1.176e8;
// Work of fewer cycles is done by one thread; waking others takes so many.
constexpr double kCyclesToShare = 60000;
constexpr double kWakingCycles = 30000;
constexpr double kCopyingCycles = 150;  // to start a copy

// Bandwidth beyond the second-level caches does not grow with the threads: two cores that read 70
// MB each got 26 to 32 GB/s together, and one alone 26.
constexpr double kRateOfAll = 1.1;  // times the third level's rate of one thread
// Processors with more cores have more channels to memory.
constexpr double kThreadsThatShare = 8;

// Milliseconds to read or write a tensor of an operator that reads and writes `all` bytes.
double Traffic(double bytes, double all, const ProcessorSpeed& speed) {
  if (bytes <= speed.second_level_bytes / 2) return bytes / speed.second_level;
  if (all <= kInThirdLevel) return bytes / speed.third_level;
  const double beyond =
      std::min(1.0, std::log2(all / kInThirdLevel) / std::log2(kBeyondThirdLevel / kInThirdLevel));
  return bytes / speed.third_level * std::pow(speed.third_level / speed.memory, beyond);
}

// Returns the storages that a node certainly overwrites: nothing else reads them.
std::vector<int> OverwrittenBy(const StorageModel& model, int node) {
  std::vector<int> storages;
  for (const Overwrite& overwrite : model.overwrites[node]) {
    const Storage& storage = model.storages[overwrite.storage];
    if (storage.readers.size() == 1 && storage.pool == Pool::kArena) {
      storages.push_back(overwrite.storage);
    }
  }
  return storages;
}

// Returns the bytes that an operator reads of an input: strips and tiles crop larger images.
double ReadOf(const Graph& graph, const OperatorNode& node, int input) {
  const TensorType& type = graph.var(node.inputs[input]).type;
  const auto bytes = static_cast<double>(type.bytes());
  if (node.outputs.size() != 1 || !node.op->CropsInput(input)) return bytes;
  const Shape& made = graph.var(node.outputs[0]).type.shape;
  if (2 * made.num_elements() > type.shape.num_elements()) return bytes;
  const auto regions = node.op->InputRegions(WholeRegion(made), graph.SiteOf(node));
  if (!regions) return bytes;
  double share = 1;
  for (size_t d = 2; d < (*regions)[input].size(); ++d) {
    share *= static_cast<double>((*regions)[input][d].size()) /
             static_cast<double>(std::max<int64_t>(1, type.shape[static_cast<int>(d)]));
  }
  return share * bytes;
}

const MeasuredSpeeds* SpeedsOnRecord(const KernelRecord* record, int threads) {
  if (record == nullptr) return nullptr;
  const auto found = record->speeds.find(threads);
  return found == record->speeds.end() ? nullptr : &found->second;
}

ProcessorSpeed WithWork(ProcessorSpeed speed, const Device& device, const Processor& processor,
                        int threads) {
  speed.kernels = &device.kernels();
  speed.threads = threads;
  speed.processor = processor;
  for (const SpeedRow& row : kSpeeds) {
    if (row.isa == processor.isa) speed.cycles = speed.flops / row.operations;
  }
  return speed;
}

// Milliseconds of an operator's arithmetic; `kernel` may be null.
double Arithmetic(const Graph& graph, const OperatorNode& node, const ProcessorSpeed& speed,
                  double share, const Kernel* kernel) {
  const OwnedSite site = graph.SiteOf(node);
  const double relative = kernel == nullptr ? 1 : kernel->relative_arithmetic();
  const WorkFunction work =
      speed.kernels == nullptr ? nullptr : speed.kernels->FindWork(node.op->type());
  if (work == nullptr) {
    return speed.kernel_ms +
           relative * share * static_cast<double>(node.op->Computation(site)) / speed.flops;
  }
  const double cycles =
      relative * share * work({*node.op, site, speed.processor, kernel != nullptr || speed.direct});
  if (cycles > kCyclesToShare) {
    return (cycles + (speed.threads > 1 ? kWakingCycles : 0)) / speed.cycles;
  }
  return cycles / speed.cycles * speed.threads;
}

}  // namespace

ProcessorSpeed SpeedOf(const Device& device, const std::optional<Processor>& processor, int threads,
                       const KernelRecord* record) {
  if (!device.is_host()) return kGpuSpeed;
  const Processor of = processor.value_or(device.processor());
  if (const MeasuredSpeeds* const measured = SpeedsOnRecord(record, threads)) {
    ProcessorSpeed speed{measured->flops, measured->second_level, measured->third_level,
                         measured->memory, static_cast<double>(of.l2_bytes) * threads};
    speed.kernel_ms *= kFlopsOfKernelMs * threads / measured->flops;
    return WithWork(speed, device, of, threads);
  }
  for (const InstructionsRow& row : kInstructions) {
    if (row.microcontroller == of.microcontroller) return SpeedOf(row);
  }
  for (const SpeedRow& row : kSpeeds) {
    if (row.isa != of.isa) continue;
    const double shared = kRateOfAll * row.third_level * std::max(1.0, threads / kThreadsThatShare);
    const ProcessorSpeed speed{row.flops * threads, row.second_level * threads,
                               std::min(row.third_level * threads, shared),
                               std::min(row.memory * threads, shared),
                               static_cast<double>(of.l2_bytes) * threads};
    return WithWork(speed, device, of, threads);
  }
  return {};
}

double EstimateOperator(const Graph& graph, const StorageModel& model, int index,
                        const ProcessorSpeed& speed, double share, const Kernel* kernel) {
  const OperatorNode& node = graph.node(index);
  if (node.op->role() != Role::kCompute || !model.Writes(graph, index)) return 0;
  double ms = 0, weights = 0;
  std::vector<double> moved;  // bytes of tensors
  std::vector<int> counted = OverwrittenBy(model, index);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue) continue;
    int64_t size = graph.var(node.inputs[k]).type.bytes();
    if (kernel != nullptr && graph.constant(node.inputs[k]) != nullptr) {
      const std::optional<Packing> packing = kernel->packing(static_cast<int>(k));
      if (packing) size = packing->bytes;
    }
    if (graph.constant(node.inputs[k]) == nullptr) {
      // Tensors that are overwritten, or read again, are in the caches.
      const int storage = model.views[node.inputs[k]].storage;
      if (std::find(counted.begin(), counted.end(), storage) != counted.end()) continue;
      moved.push_back(share * ReadOf(graph, node, static_cast<int>(k)));
      if (storage >= 0 && model.storages[storage].whole < 0) counted.push_back(storage);
    } else if (size > kCachedWeights) {
      weights +=
          static_cast<double>(size) / (size > kNearWeights ? speed.memory : speed.third_level);
    }
  }
  double made = 0;
  for (int storage : model.writes[index]) {
    made += share * static_cast<double>(model.storages[storage].bytes);
  }
  if (model.placements[index].empty()) {
    moved.push_back(made);
    const double all = std::accumulate(moved.begin(), moved.end(), 0.0);
    for (const double bytes : moved) ms += Traffic(bytes, all, speed);
    const double arithmetic = Arithmetic(graph, node, speed, share, kernel);
    // Kernels that state their arithmetic apart fetch weights while they compute.
    const bool meanwhile =
        kernel != nullptr && kernel->relative_arithmetic() != kernel->relative_time();
    return ms + (meanwhile ? std::max(weights, arithmetic) : weights + arithmetic);
  }
  // A part that was computed in place is not copied.
  double copied = made;
  for (const Placement& placement : model.placements[index]) {
    copied -= share * static_cast<double>(model.storages[placement.inner].bytes);
  }
  const bool known =
      speed.kernels != nullptr && speed.kernels->FindWork(node.op->type()) != nullptr;
  const double start = known ? kCopyingCycles * speed.threads / speed.cycles : speed.kernel_ms;
  return start + 2 * Traffic(copied, 2 * copied, speed);
}

double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                    absl::Span<const std::shared_ptr<const Kernel>> kernels) {
  double ms = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Kernel* const kernel = kernels.empty() ? nullptr : kernels[i].get();
    ms += EstimateOperator(graph, model, static_cast<int>(i), speed, 1, kernel);
  }
  return ms;
}

}  // namespace ashlar
