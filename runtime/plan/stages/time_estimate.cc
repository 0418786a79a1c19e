// Arithmetic and traffic: a roofline model (Williams, Waterman and Patterson 2009). Its two terms
// are added, because prefetching hides little of either.
#include "runtime/plan/stages/time_estimate.h"

#include <algorithm>

namespace ashlar {
namespace {

// Weights up to this size stay in the second-level cache between two reads.
constexpr int64_t kCachedWeights = 1 << 19;
// Larger tensors have left a third-level cache before they are read.
constexpr double kThirdLevelBytes = 16 << 20;

// A data centre GPU; not measured. Convolutions in Float32.
constexpr ProcessorSpeed kGpuSpeed = {.flops = 3e10,
                                      .second_level = 3e9,
                                      .third_level = 3e9,
                                      .memory = 3e9,
                                      .second_level_bytes = 1e9};

// By instruction set, for one thread per millisecond: operations of a convolution that keeps it
// busy, and bytes from each level.
// - AVX-512: measured on AMD EPYC (Zen 4) and Intel Xeon (Sapphire Rapids), which differ by less
//   than the accuracy of the estimate.
// - Neon: the peak of a Cortex-A76 at 2.4 GHz, times the share of the peak that AVX2's kernels
//   reach. It does two multiply-adds of four floats a cycle.
struct SpeedRow {
  Isa isa;
  double flops, second_level, third_level, memory;
};
constexpr SpeedRow kSpeeds[] = {
    {Isa::kBaseline, 1e7, 6e7, 2e7, 1e7},
    {Isa::kNeon, 2.5e7, 4e7, 1.5e7, 8e6},
    {Isa::kAvx2, 6.5e7, 9e7, 2.6e7, 1.35e7},
    {Isa::kAvx512, 1.35e8, 1.19e8, 2.6e7, 1.35e7},
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

// Operations of a network's convolutions, counted as direct ones, relative to the measured
// convolution: Winograd needs fewer. From ResNet-50 on Zen 4: the table has 1.35e8, and 1.176e8 is
// measured.
constexpr double kOfMeasured = 1.15;
// Speed of the thread that measured ProcessorSpeed::kernel_ms.
constexpr double kFlopsOfKernelMs = 1.176e8;

// Bandwidth beyond the second-level caches does not grow with the threads: two cores that read 70
// MB each got 26 to 32 GB/s together, and one alone 26.
constexpr double kRateOfAll = 1.1;  // times the third level's rate of one thread
// Processors with more cores have more channels to memory.
constexpr double kThreadsThatShare = 8;

// Milliseconds to read or write a tensor.
double Traffic(double bytes, const ProcessorSpeed& speed) {
  if (bytes <= speed.second_level_bytes / 2) return bytes / speed.second_level;
  return bytes / (bytes <= kThirdLevelBytes ? speed.third_level : speed.memory);
}

const MeasuredSpeeds* SpeedsOnRecord(const KernelRecord* record, int threads) {
  if (record == nullptr) return nullptr;
  const auto found = record->speeds.find(threads);
  return found == record->speeds.end() ? nullptr : &found->second;
}

}  // namespace

ProcessorSpeed SpeedOf(const Device& device, const std::optional<Processor>& processor, int threads,
                       const KernelRecord* record) {
  if (!device.is_host()) return kGpuSpeed;
  const Processor of = processor.value_or(device.processor());
  if (const MeasuredSpeeds* const measured = SpeedsOnRecord(record, threads)) {
    ProcessorSpeed speed{kOfMeasured * measured->flops, measured->second_level,
                         measured->third_level, measured->memory,
                         static_cast<double>(of.l2_bytes) * threads};
    speed.kernel_ms *= kFlopsOfKernelMs * threads / measured->flops;
    return speed;
  }
  for (const InstructionsRow& row : kInstructions) {
    if (row.microcontroller == of.microcontroller) return SpeedOf(row);
  }
  for (const SpeedRow& row : kSpeeds) {
    if (row.isa != of.isa) continue;
    const double shared = kRateOfAll * row.third_level * std::max(1.0, threads / kThreadsThatShare);
    return {row.flops * threads, row.second_level * threads,
            std::min(row.third_level * threads, shared), std::min(row.memory * threads, shared),
            static_cast<double>(of.l2_bytes) * threads};
  }
  return {};
}

double EstimateOperator(const Graph& graph, const StorageModel& model, int index,
                        const ProcessorSpeed& speed, double share) {
  const OperatorNode& node = graph.node(index);
  if (node.op->role() != Role::kCompute || !model.Writes(graph, index)) return 0;
  double ms = 0;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue) continue;
    const int64_t size = graph.var(node.inputs[k]).type.bytes();
    if (graph.constant(node.inputs[k]) == nullptr) {
      ms += Traffic(share * static_cast<double>(size), speed);
    } else if (size > kCachedWeights) {
      ms += static_cast<double>(size) / speed.memory;
    }
  }
  double made = 0;
  for (int storage : model.writes[index]) {
    made += share * static_cast<double>(model.storages[storage].bytes);
  }
  if (model.placements[index].empty()) {
    ms += Traffic(made, speed);
    ms += share * static_cast<double>(node.op->Computation(graph.SiteOf(node))) / speed.flops;
  } else {
    // A part that was computed in place is not copied.
    double copied = made;
    for (const Placement& placement : model.placements[index]) {
      copied -= share * static_cast<double>(model.storages[placement.inner].bytes);
    }
    ms = 2 * Traffic(copied, speed);
  }
  return speed.kernel_ms + ms;
}

double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed) {
  double ms = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    ms += EstimateOperator(graph, model, static_cast<int>(i), speed);
  }
  return ms;
}

}  // namespace ashlar
