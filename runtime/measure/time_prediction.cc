#include "runtime/measure/time_prediction.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "runtime/plan/time_estimate.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeastRounds = 3, kMostRounds = 9;
constexpr auto kEnough = std::chrono::seconds(2);
constexpr int kPattern = 0x3C;  // of bytes: 0.0115 as a Float32

// One kernel, as much of whose output is in place, and the first operator that it computes.
struct Sample {
  const Kernel* kernel = nullptr;
  int node = 0;
  int64_t count = 0;  // operators
  std::unique_ptr<KernelState> state;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  std::vector<double> ms;  // of each round
};

// Memory as a session has it. What it holds is of no account, but it has to be written: all pages
// that nobody wrote are one page to the caches.
struct Memory {
  std::unique_ptr<DeviceMemory> arena, weights, inputs, outputs;
};

absl::StatusOr<std::unique_ptr<DeviceMemory>> Written(Device& device, int64_t bytes) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, device.Allocate(bytes));
  ASHLAR_RETURN_IF_ERROR(device.Fill(memory->data(), kPattern, bytes));
  return memory;
}

void* AddressOf(const Memory& memory, const std::optional<Location>& location) {
  if (!location.has_value()) return nullptr;
  const auto in = [&](const DeviceMemory& pool) {
    return static_cast<char*>(pool.data()) + location->offset;
  };
  switch (location->pool) {
    case Pool::kArena:
      return in(*memory.arena);
    case Pool::kWeights:
      return in(*memory.weights);
    case Pool::kInput:
      return in(*memory.inputs);
    case Pool::kOutput:
      return in(*memory.outputs);
  }
  return nullptr;
}

// Bytes of a node's output that lie in their place before it runs: parts that the plan placed.
int64_t BytesInPlace(const PlannedGraph& planned, int node) {
  int64_t bytes = 0;
  for (const Placement& placement : planned.model.placements[node]) {
    const Storage& part = planned.model.storages[placement.inner];
    const Storage& whole = planned.model.storages[placement.outer];
    const int64_t place = planned.Locate(whole.owner)->offset + placement.offset;
    if (planned.Locate(part.owner)->offset == place) bytes += part.bytes;
  }
  return bytes;
}

void Bind(const PlannedGraph& planned, const Memory& memory, Sample& sample) {
  const OperatorNode& node = planned.graph.node(sample.node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    sample.inputs.push_back(
        AddressOf(memory, planned.LocateInput(sample.node, static_cast<int>(i))));
  }
  for (int var : node.outputs) sample.outputs.push_back(AddressOf(memory, planned.Locate(var)));
  sample.workspace = AddressOf(memory, planned.LocateWorkspace(sample.node));
}

}  // namespace

class TimePrediction::Samples {
 public:
  // Runs each kernel once and notes its milliseconds.
  absl::Status Measure() {
    if (stream != nullptr) return MeasureOnStream();
    for (Sample& sample : list) {
      const Clock::time_point start = Clock::now();
      ASHLAR_RETURN_IF_ERROR(Run(sample));
      sample.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    return absl::OkStatus();
  }

  // Later measurements are of one recording: the host hands over small kernels more slowly than
  // they run. What cannot be recorded is handed over each time.
  void Record() {
    if (stream == nullptr || !stream->BeginRecording().ok()) return;
    const absl::Status status = Enqueue();
    recorded_ = stream->EndRecording().ok() && status.ok();
  }

  Memory memory;
  std::unique_ptr<Stream> stream;  // null on the host; goes before the memory that it works on
  std::vector<Sample> list;

 private:
  absl::Status Run(Sample& sample) {
    const KernelArgs args{sample.inputs, absl::MakeSpan(sample.outputs), sample.workspace,
                          stream.get()};
    return sample.kernel->Run(args, sample.state.get());
  }
  absl::Status Enqueue() {
    for (size_t i = 0; i < list.size(); ++i) {
      ASHLAR_RETURN_IF_ERROR(stream->Mark(static_cast<int>(2 * i)));
      ASHLAR_RETURN_IF_ERROR(Run(list[i]));
      ASHLAR_RETURN_IF_ERROR(stream->Mark(static_cast<int>(2 * i + 1)));
    }
    return absl::OkStatus();
  }
  absl::Status MeasureOnStream() {
    ASHLAR_RETURN_IF_ERROR(recorded_ ? stream->Replay() : Enqueue());
    ASHLAR_RETURN_IF_ERROR(stream->Wait());
    for (size_t i = 0; i < list.size(); ++i) {
      const int before = static_cast<int>(2 * i);
      ASHLAR_ASSIGN_OR_RETURN(const double seconds, stream->SecondsBetween(before, before + 1));
      list[i].ms.push_back(seconds * 1e3);
    }
    return absl::OkStatus();
  }

  bool recorded_ = false;
};

TimePrediction::TimePrediction() : samples_(std::make_unique<Samples>()) {}
TimePrediction::~TimePrediction() = default;

absl::StatusOr<std::unique_ptr<TimePrediction>> TimePrediction::Create(
    const PlannedGraph& planned) {
  std::unique_ptr<TimePrediction> prediction(new TimePrediction());
  std::vector<Sample>& samples = prediction->samples_->list;
  std::map<std::pair<const Kernel*, int64_t>, size_t> index;
  for (int node : planned.schedule.order) {
    const Kernel* kernel = planned.kernels[node].get();
    if (kernel == nullptr || planned.graph.node(node).op->role() != Role::kCompute) continue;
    const auto [it, is_new] =
        index.try_emplace({kernel, BytesInPlace(planned, node)}, samples.size());
    if (is_new) {
      samples.emplace_back();
      samples.back().kernel = kernel;
      samples.back().node = node;
    }
    ++samples[it->second].count;
  }
  Device& device = *planned.device;
  device.UseThreads(planned.wishes.threads);
  Memory& memory = prediction->samples_->memory;
  ASHLAR_ASSIGN_OR_RETURN(memory.arena, Written(device, planned.plan.plan.arena));
  ASHLAR_ASSIGN_OR_RETURN(memory.weights, Written(device, planned.weights.bytes));
  ASHLAR_ASSIGN_OR_RETURN(memory.inputs, Written(device, planned.input_bytes()));
  ASHLAR_ASSIGN_OR_RETURN(memory.outputs, Written(device, planned.output_bytes()));
  for (Sample& sample : samples) {
    Bind(planned, memory, sample);
    ASHLAR_ASSIGN_OR_RETURN(sample.state, sample.kernel->NewState());
  }
  ASHLAR_ASSIGN_OR_RETURN(prediction->samples_->stream, device.NewStream());
  if (prediction->samples_->stream != nullptr) {
    ASHLAR_RETURN_IF_ERROR(
        prediction->samples_->stream->MakeMarks(static_cast<int>(2 * samples.size())));
  }
  // The first round touches the memory.
  ASHLAR_RETURN_IF_ERROR(prediction->Measure());
  for (Sample& sample : samples) sample.ms.clear();
  prediction->samples_->Record();
  return prediction;
}

absl::Status TimePrediction::Measure() { return samples_->Measure(); }

double TimePrediction::milliseconds() const {
  double total = 0;
  for (const Sample& sample : samples_->list) {
    std::vector<double> ms = sample.ms;
    const auto median = ms.begin() + static_cast<ptrdiff_t>(ms.size() / 2);
    std::nth_element(ms.begin(), median, ms.end());
    total += *median * static_cast<double>(sample.count);
  }
  return total;
}

absl::StatusOr<double> PredictTime(const PlannedGraph& planned) {
  if (!planned.ready().ok()) {
    ASHLAR_ASSIGN_OR_RETURN(
        const ProcessorSpeed speed,
        SpeedOf(*planned.device, planned.wishes.processor, planned.wishes.threads));
    return EstimateTime(planned.graph, planned.model, speed);
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TimePrediction> prediction,
                          TimePrediction::Create(planned));
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && Clock::now() - begin > kEnough) break;
    ASHLAR_RETURN_IF_ERROR(prediction->Measure());
  }
  return prediction->milliseconds();
}

}  // namespace ashlar
