#include "runtime/session/executable.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "opr/table.h"
#include "runtime/device/changed_bytes.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/plan_graph.h"

namespace ashlar {
namespace {

constexpr int64_t kMeasureSlack = 1 << 16;  // bytes behind the pool that packing must leave alone

// Bytes of constants that may wait in memory, packed, before they are dropped together.
constexpr int64_t kDropBytes = 4 << 20;

// By entry: whether it is the last of its constant, whose value nobody needs on the host.
std::vector<bool> EndsConstant(const PlannedGraph& planned) {
  std::vector<bool> ends(planned.weights.entries.size(), false);
  std::map<int, size_t> last;
  for (size_t i = 0; i < ends.size(); ++i) last[planned.weights.entries[i].var] = i;
  for (const auto& [var, entry] : last) {
    bool host_value = false;
    for (int reader : planned.graph.readers(var)) {
      const OperatorNode& node = planned.graph.node(reader);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        host_value |= node.inputs[i] == var &&
                      node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
      }
    }
    ends[entry] = !host_value;
  }
  return ends;
}

absl::Status Pack(const PlannedGraph& planned, void* pool) {
  for (const WeightEntry& entry : planned.weights.entries) {
    ASHLAR_RETURN_IF_ERROR(PackWeight(planned.graph, entry, *planned.device, pool));
  }
  return absl::OkStatus();
}

// Packs into the pool and drops from the graph what is packed, bit by bit, so that hardly more than
// one copy of the weights is in memory at a time.
absl::Status MoveIntoPool(PlannedGraph& planned, void* pool, const ReplacedListener& done_with) {
  const std::vector<bool> ends = EndsConstant(planned);
  std::vector<int> packed;
  int64_t waiting = 0;
  const auto drop = [&] {
    planned.graph = planned.graph.WithoutConstantData(packed, Operators());
    packed.clear();
    waiting = 0;
  };
  for (size_t i = 0; i < ends.size(); ++i) {
    const WeightEntry& entry = planned.weights.entries[i];
    ASHLAR_RETURN_IF_ERROR(PackWeight(planned.graph, entry, *planned.device, pool));
    if (!ends[i]) continue;
    const HostTensor& value = *planned.graph.constant(entry.var);
    if (done_with) done_with(value);
    packed.push_back(entry.var);
    waiting += value.bytes();
    if (waiting >= kDropBytes) drop();
  }
  drop();
  return absl::OkStatus();
}

// Whether a plan can be run here.
absl::Status CheckRuns(const PlannedGraph& planned) {
  if (planned.means.workspace != WorkspaceSource::kKernel) {
    return absl::InvalidArgumentError(
        "a plan with recorded workspaces cannot be run: kernels need their own");
  }
  return planned.device->ready();
}

// Memory that somebody else owns and nobody writes to.
class BorrowedMemory final : public DeviceMemory {
 public:
  BorrowedMemory(std::shared_ptr<const void> owner, const void* data, int64_t bytes)
      : owner_(std::move(owner)) {
    data_ = const_cast<void*>(data);
    bytes_ = bytes;
  }

 private:
  std::shared_ptr<const void> owner_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> Executable::Compile(
    Graph graph, const PlanRequest& request, const ReplacedListener& done_with) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(graph), request, done_with));
  return FromPlan(std::move(planned), {.done_with = done_with});
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::FromPlan(
    std::unique_ptr<PlannedGraph> planned, const PackOptions& options) {
  ASHLAR_RETURN_IF_ERROR(CheckRuns(*planned));
  Device& device = *planned->device;
  auto executable = std::make_shared<Executable>();
  planned->device->UseThreads(planned->wishes.threads);
  const int64_t slack = options.measure ? kMeasureSlack : 0;
  ASHLAR_ASSIGN_OR_RETURN(executable->weights_,
                          planned->device->Allocate(planned->weights.bytes + slack));
  DeviceMemory& pool = *executable->weights_;
  // Twice, with complementary patterns: a byte that equals one of them differs from the other.
  constexpr uint8_t kPattern = 0xA5, kComplement = 0x5A;
  int64_t written = -1;
  if (options.measure) {
    ASHLAR_RETURN_IF_ERROR(device.Fill(pool.data(), kPattern, pool.bytes()));
    ASHLAR_RETURN_IF_ERROR(Pack(*planned, pool.data()));
    ASHLAR_ASSIGN_OR_RETURN(written, HighestChangedOn(device, pool.data(), pool.bytes(), kPattern));
    ASHLAR_RETURN_IF_ERROR(device.Fill(pool.data(), kComplement, pool.bytes()));
  }
  ASHLAR_RETURN_IF_ERROR(MoveIntoPool(*planned, pool.data(), options.done_with));
  if (options.measure) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t again,
                            HighestChangedOn(device, pool.data(), pool.bytes(), kComplement));
    written = std::max(written, again);
  }
  executable->weights_written_ = written;
  executable->planned_ = std::move(planned);
  return std::shared_ptr<const Executable>(std::move(executable));
}

absl::StatusOr<std::vector<std::shared_ptr<const Executable>>> Executable::FromPlans(
    std::vector<std::unique_ptr<PlannedGraph>> plans, const ReplacedListener& done_with) {
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
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> allocated,
                          device.Allocate(plans[0]->weights.bytes));
  const std::shared_ptr<const DeviceMemory> pool = std::move(allocated);
  for (auto& planned : plans) {
    device.UseThreads(planned->wishes.threads);
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
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(request.wishes.comp_node));
  ASHLAR_RETURN_IF_ERROR(CheckPackedFor(packed, *device, request.wishes, request.means));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanWithKernels(std::move(packed.graph), packed.kernels, request));
  planned->extra_flops_ratio = packed.extra_flops_ratio;
  if (planned->weights.bytes > packed.pool_bytes ||
      PackedWeightsOf(planned->weights) != packed.weights) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed as ", packed.weights.size(), " parts of ",
                     packed.pool_bytes, " bytes; kernels want ", planned->weights.entries.size(),
                     " of ", planned->weights.bytes, ", or others"));
  }
  auto executable = std::make_shared<Executable>();
  executable->weights_ =
      std::make_unique<BorrowedMemory>(std::move(packed.owner), packed.pool, packed.pool_bytes);
  executable->planned_ = std::move(planned);
  return std::shared_ptr<const Executable>(std::move(executable));
}

PackedModel Executable::ToPacked(std::shared_ptr<const Executable> executable) {
  const PlannedGraph& planned = executable->planned();
  PackedModel packed;
  packed.processor = std::string(Name(planned.processor().isa));
  packed.options = PackingOptions::Of(planned.wishes, planned.means).ToString();
  packed.graph = planned.graph;
  for (size_t i = 0; i < planned.kernels.size(); ++i) {
    const Kernel* const kernel = planned.kernels[i].get();
    const OperatorNode& node = planned.graph.node(static_cast<int>(i));
    packed.kernels.push_back(kernel ? KernelIdentity(planned.graph, node, *kernel) : "");
  }
  packed.weights = PackedWeightsOf(planned.weights);
  packed.extra_flops_ratio = planned.extra_flops_ratio;
  packed.pool = executable->weights();
  packed.pool_bytes = planned.weights.bytes;
  packed.owner = std::move(executable);
  return packed;
}

}  // namespace ashlar
