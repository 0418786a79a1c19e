#include "runtime/session/executable.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "opr/table.h"
#include "runtime/device/borrowed_memory.h"
#include "runtime/device/changed_bytes.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/packed_parts.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/shared_pool.h"

namespace ashlar {
namespace {

constexpr uint8_t kPattern = 0xA5;
constexpr int64_t kMeasureSlack = 1 << 16;  // bytes after the pool that packing must not write

// Bytes of packed constants that may stay in memory until they are freed together.
constexpr int64_t kDropBytes = 4 << 20;

// Reports that the bytes of an entry will not be read again.
void LetGo(const PlannedGraph& planned, const WeightEntry& entry, const DoneWith& done_with) {
  if (!done_with || entry.packed != nullptr) return;
  const HostTensor& source = ValueOf(planned.graph, entry).source();
  if (source.raw() != nullptr) done_with(source.raw(), source.bytes());
}

// Packs an entry into its place in a pool.
absl::Status PackIntoPool(const PlannedGraph& planned, const WeightEntry& entry, void* pool) {
  return PackWeight(planned.graph, entry, *planned.device, static_cast<char*>(pool) + entry.offset);
}

absl::Status Pack(const PlannedGraph& planned, void* pool, const DoneWith& done_with) {
  for (const int index : PackingOrder(planned.weights)) {
    const WeightEntry& entry = planned.weights.entries[index];
    ASHLAR_RETURN_IF_ERROR(PackIntoPool(planned, entry, pool));
    LetGo(planned, entry, done_with);
  }
  return absl::OkStatus();
}

// Packs into the pool, in PackingOrder, and frees the packed constants of the graph in groups. So
// memory holds hardly more than one copy of the weights.
absl::Status MoveIntoPool(PlannedGraph& planned, void* pool, const DoneWith& done_with) {
  std::map<int, int> left;  // by var: entries not packed yet
  for (const WeightEntry& entry : planned.weights.entries) ++left[entry.var];
  std::vector<int> packed;
  int64_t waiting = 0;
  const auto drop = [&] {
    planned.graph = planned.graph.WithoutConstantData(packed, Operators());
    packed.clear();
    waiting = 0;
  };
  for (const int index : PackingOrder(planned.weights)) {
    WeightEntry& entry = planned.weights.entries[index];
    ASHLAR_RETURN_IF_ERROR(PackIntoPool(planned, entry, pool));
    if (--left[entry.var] == 0) LetGo(planned, entry, done_with);
    entry.equal.reset();
    if (left[entry.var] > 0 || planned.graph.HasHostReader(entry.var)) continue;
    packed.push_back(entry.var);
    if (entry.packed == nullptr) waiting += planned.graph.constant(entry.var)->bytes();
    if (waiting >= kDropBytes) drop();
  }
  drop();
  return absl::OkStatus();
}

// Returns the end of a pool of weights. The rest stays untouched, so that measuring takes no more
// memory.
PatternedEnd EndOf(Device& device, const DeviceMemory& pool, int64_t planned_bytes) {
  return PatternedEnd(device, pool, std::max<int64_t>(planned_bytes - kMeasureSlack, 0));
}

// Returns an error if a plan cannot be run here.
absl::Status CheckRuns(const PlannedGraph& planned) {
  if (planned.planning.workspace != WorkspaceSource::kKernel) {
    return absl::InvalidArgumentError(
        "a plan with recorded workspaces cannot be run: kernels need their own");
  }
  if (planned.weights.window) {
    return absl::FailedPreconditionError(absl::StrCat(
        "weights that are not packed cannot be streamed; `ashlar convert MODEL -o FILE.ash --pack ",
        "--weights-budget ", planned.request.target.weights_budget.value_or(0),
        "` writes a file whose weights can be"));
  }
  return planned.device->ready();
}

// Moves the plan's weights to their places in a packed model. If one is missing there, returns
// false and moves nothing.
bool MoveTo(const PackedPlaces& places, PlannedGraph& planned) {
  std::vector<int64_t> offsets;
  for (const WeightEntry& entry : planned.weights.entries) {
    const PackedWeight* const place = places.Find(planned, entry);
    if (place == nullptr) return false;
    offsets.push_back(place->offset);
  }
  for (size_t i = 0; i < offsets.size(); ++i) planned.weights.entries[i].offset = offsets[i];
  return true;
}

// Plans a packed model's graph. If the model was packed untiled, a recorded plan brings its own
// tiles.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanPacked(Graph graph, const PackedModel& packed,
                                                         const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const PlanRequest options, ParsePackingOptions(packed.options));
  if (request.planning.recorded != nullptr && options.target.tiles.empty()) {
    return PlanRewrittenAsRecorded({std::move(graph), {}}, request);
  }
  return PlanWithKernels(std::move(graph), {packed.kernels, packed.other_shapes}, request);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> Executable::Compile(Graph graph,
                                                                      const PlanRequest& request,
                                                                      const DoneWith& done_with) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(graph), request));
  return FromPlan(std::move(planned), {.done_with = done_with});
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::FromPlan(
    std::unique_ptr<PlannedGraph> planned, const PackOptions& options) {
  ASHLAR_RETURN_IF_ERROR(CheckRuns(*planned));
  Device& device = *planned->device;
  auto executable = std::make_shared<Executable>();
  planned->device->UseThreads(planned->request.target.threads);
  const int64_t bytes = planned->weights.bytes;
  if (options.packed != nullptr && options.packed->HasWeightsOf(*planned)) {
    executable->weights_ =
        std::make_unique<BorrowedMemory>(options.packed, options.packed->weights(), bytes);
    executable->planned_ = std::move(planned);
    return std::shared_ptr<const Executable>(std::move(executable));
  }
  int64_t written = -1;
  if (options.measure) {
    ASHLAR_ASSIGN_OR_RETURN(executable->weights_, device.Allocate(bytes + kMeasureSlack));
    PatternedEnd end = EndOf(device, *executable->weights_, bytes);
    ASHLAR_RETURN_IF_ERROR(end.Fill(kPattern));
    ASHLAR_RETURN_IF_ERROR(Pack(*planned, executable->weights_->data(), options.done_with));
    ASHLAR_ASSIGN_OR_RETURN(written, end.Written(kPattern));
    executable->weights_.reset();  // before the next allocation
  }
  ASHLAR_ASSIGN_OR_RETURN(executable->weights_,
                          device.Allocate(bytes + (options.measure ? kMeasureSlack : 0)));
  // The complement: a byte that equals one of the patterns differs from the other.
  PatternedEnd end = EndOf(device, *executable->weights_, bytes);
  constexpr uint8_t kComplement = static_cast<uint8_t>(~kPattern);
  if (options.measure) ASHLAR_RETURN_IF_ERROR(end.Fill(kComplement));
  ASHLAR_RETURN_IF_ERROR(MoveIntoPool(*planned, executable->weights_->data(), options.done_with));
  if (options.measure) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t again, end.Written(kComplement));
    written = std::max(written, again);
  }
  executable->weights_written_ = written;
  executable->planned_ = std::move(planned);
  return std::shared_ptr<const Executable>(std::move(executable));
}

absl::StatusOr<std::vector<std::shared_ptr<const Executable>>> Executable::FromPlans(
    std::vector<std::unique_ptr<PlannedGraph>> plans, const DoneWith& done_with) {
  std::vector<std::shared_ptr<const Executable>> executables;
  if (plans.empty()) return executables;
  Device& device = *plans[0]->device;
  std::vector<WeightsUser> users;
  for (const auto& planned : plans) {
    ASHLAR_RETURN_IF_ERROR(CheckRuns(*planned));
    if (planned->device != &device) {
      return absl::InvalidArgumentError(
          absl::StrCat("plans of ", planned->device->comp_node().ToString(), " and ",
                       device.comp_node().ToString(), " cannot share weights"));
    }
    users.push_back({&planned->graph, &planned->weights});
  }
  ShareWeights(users, device.alignment());
  for (const auto& planned : plans) {  // entries packed elsewhere need no bytes
    for (WeightEntry& entry : planned->weights.entries) {
      if (entry.elsewhere) entry.equal.reset();
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> allocated,
                          device.Allocate(plans[0]->weights.bytes));
  const std::shared_ptr<const DeviceMemory> pool = std::move(allocated);
  for (auto& planned : plans) {
    device.UseThreads(planned->request.target.threads);
    ASHLAR_RETURN_IF_ERROR(MoveIntoPool(*planned, pool->data(), done_with));
    auto executable = std::make_shared<Executable>();
    executable->weights_ = std::make_unique<BorrowedMemory>(pool, pool->data(), pool->bytes());
    executable->planned_ = std::move(planned);
    executables.push_back(std::move(executable));
  }
  return executables;
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::FromPacked(
    PackedModel packed, const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(request.target.comp_node));
  ASHLAR_RETURN_IF_ERROR(CheckPackedFor(packed, *device, request.target, request.planning));
  const PackedPlaces places(packed);
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanPacked(std::move(packed.graph), packed, request));
  if (request.planning.recorded == nullptr) planned->extra_flops_ratio = packed.extra_flops_ratio;
  const bool same = planned->weights.bytes <= packed.pool_bytes &&
                    PackedWeightsOf(planned->weights) == packed.weights;
  if (!same && (request.planning.recorded == nullptr || !MoveTo(places, *planned))) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed as ", packed.weights.size(), " parts of ",
                     packed.pool_bytes, " bytes; kernels want ", planned->weights.entries.size(),
                     " of ", planned->weights.bytes, ", or others"));
  }
  auto executable = std::make_shared<Executable>();
  executable->planned_ = std::move(planned);
  if (executable->planned_->weights.window) {
    if (!packed.open_pool) {
      return absl::FailedPreconditionError(
          "weights are streamed from a file, and this model is in memory");
    }
    ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, packed.open_pool());
    executable->streamed_ =
        std::make_unique<StreamedWeights>(*executable->planned_, std::move(source));
    return std::shared_ptr<const Executable>(std::move(executable));
  }
  executable->weights_ =
      std::make_unique<BorrowedMemory>(std::move(packed.owner), packed.pool, packed.pool_bytes);
  return std::shared_ptr<const Executable>(std::move(executable));
}

bool Executable::HasWeightsOf(const PlannedGraph& planned) const {
  if (streamed_ != nullptr || planned.weights.window) return false;
  return planned_->device == planned.device && weights_bytes() >= planned.weights.bytes &&
         PackedWeightsOf(planned_->weights) == PackedWeightsOf(planned.weights);
}

const char* Executable::AddressOf(const Location& weight) const {
  const std::vector<WeightEntry>& entries = planned_->weights.entries;
  const void* const base = weight.binding >= 0 ? entries[weight.binding].packed.get() : weights();
  return static_cast<const char*>(base) + weight.offset;
}

namespace {

// Returns all but the pool.
PackedModel WithoutPool(const PlannedGraph& planned) {
  PackedModel packed;
  packed.processor = std::string(Name(planned.processor().isa));
  packed.options = PackingOptionsText(planned.SettledRequest());
  packed.graph = planned.graph;
  for (size_t i = 0; i < planned.kernels.size(); ++i) {
    const Kernel* const kernel = planned.kernels[i].get();
    const OperatorNode& node = planned.graph.node(static_cast<int>(i));
    packed.kernels.push_back(kernel ? KernelIdentity(planned.graph, node, *kernel) : "");
  }
  packed.weights = PackedWeightsOf(planned.weights);
  packed.extra_flops_ratio = planned.extra_flops_ratio;
  packed.pool_bytes = planned.weights.bytes;
  return packed;
}

}  // namespace

PackedModel Executable::ToPacked(std::shared_ptr<const Executable> executable) {
  PackedModel packed = WithoutPool(executable->planned());
  packed.pool = executable->weights();
  packed.owner = std::move(executable);
  return packed;
}

absl::StatusOr<PackedModel> Executable::ToPacked(std::unique_ptr<PlannedGraph> planned,
                                                 const DoneWith& done_with) {
  ASHLAR_RETURN_IF_ERROR(CheckRuns(*planned));
  PackedModel packed = WithoutPool(*planned);
  std::vector<int> only_packed;
  for (const WeightEntry& entry : planned->weights.entries) {
    if (!planned->graph.HasHostReader(entry.var)) only_packed.push_back(entry.var);
  }
  packed.graph = packed.graph.WithoutConstantData(only_packed, Operators());
  packed.pack = [planned = std::shared_ptr<const PlannedGraph>(std::move(planned)),
                 done_with](TakePacked take) -> absl::Status {
    Device& device = *planned->device;
    device.UseThreads(planned->request.target.threads);
    for (const WeightEntry& entry : planned->weights.entries) {
      ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceMemory> memory,
                              device.Allocate(entry.bytes));
      ASHLAR_RETURN_IF_ERROR(PackWeight(planned->graph, entry, device, memory->data()));
      ASHLAR_RETURN_IF_ERROR(take(entry.offset, memory->data(), entry.bytes));
      LetGo(*planned, entry, done_with);
    }
    return absl::OkStatus();
  };
  return packed;
}

}  // namespace ashlar
