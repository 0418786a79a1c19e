#include "runtime/plan/stages/weights.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "graph/file_mapping.h"
#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Places an entry after the first `bytes` bytes of a pool.
void Place(WeightEntry& entry, int64_t alignment, int64_t& bytes) {
  entry.offset = RoundUp(bytes, alignment);
  bytes = entry.offset + entry.bytes;
}

}  // namespace

const HostTensor& ValueOf(const Graph& graph, const WeightEntry& entry) {
  return entry.equal ? *entry.equal : *graph.constant(entry.var);
}

WeightsPlan PlanWeights(const Graph& graph, const StorageModel& model,
                        const std::vector<std::shared_ptr<const Kernel>>& kernels,
                        int64_t alignment) {
  WeightsPlan plan;
  plan.by_input.resize(graph.nodes().size());
  std::map<std::pair<int, std::string>, int> known;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    plan.by_input[n].assign(node.inputs.size(), -1);
    if (kernels[n] == nullptr) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int storage = model.views[node.inputs[i]].storage;
      if (storage < 0 || model.storages[storage].pool != Pool::kWeights ||
          node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) {
        continue;
      }
      WeightEntry entry;
      entry.var = model.storages[storage].owner;
      entry.bytes = model.storages[storage].bytes;
      // A view of a constant is read unpacked; only the constant itself can be packed.
      if (entry.var == node.inputs[i]) {
        if (const std::optional<Packing> packing = kernels[n]->packing(static_cast<int>(i))) {
          entry.key = packing->key;
          entry.bytes = packing->bytes;
          entry.packer = kernels[n];
          entry.packer_input = static_cast<int>(i);
        }
      }
      const auto [it, inserted] =
          known.try_emplace({entry.var, entry.key}, static_cast<int>(plan.entries.size()));
      plan.by_input[n][i] = it->second;
      if (!inserted) continue;
      Place(entry, alignment, plan.bytes);
      plan.entries.push_back(std::move(entry));
    }
  }
  return plan;
}

std::vector<int> PackingOrder(const WeightsPlan& plan) {
  std::vector<int> order(plan.entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return plan.entries[a].bytes > plan.entries[b].bytes; });
  return order;
}

namespace {

// Returns whether a tensor owns its bytes: only then it can be written to.
bool OwnsBytes(HostTensor tensor) { return tensor.mutable_raw() != nullptr; }

}  // namespace

int64_t PackingPeak(const Graph& graph, const WeightsPlan& plan) {
  int64_t owned = 0;  // by the graph, and not packed
  std::set<int> seen;
  for (const WeightEntry& entry : plan.entries) {
    const HostTensor& source = ValueOf(graph, entry).source();
    if (OwnsBytes(source) && seen.insert(entry.var).second) owned += source.bytes();
  }
  int64_t packed = 0, peak = owned;
  for (const int index : PackingOrder(plan)) {
    const WeightEntry& entry = plan.entries[index];
    const HostTensor& value = ValueOf(graph, entry);
    const HostTensor& source = value.source();
    packed += entry.bytes;
    const int64_t mapped = OwnsBytes(source) ? 0 : source.bytes();
    const int64_t computed = &source == &value || entry.packed != nullptr ? 0 : value.bytes();
    peak = std::max(peak, packed + owned + mapped + computed);
    if (OwnsBytes(source) && seen.erase(entry.var) > 0) owned -= source.bytes();
  }
  return peak;
}

namespace {

absl::Status PackInto(const WeightEntry& entry, const HostTensor& value, Device& device,
                      char* packed) {
  if (entry.packer == nullptr) return device.CopyIn(packed, value.raw(), entry.bytes);
  if (device.is_host()) return entry.packer->Pack(entry.packer_input, value, packed);
  std::vector<char> staging(static_cast<size_t>(entry.bytes));
  ASHLAR_RETURN_IF_ERROR(entry.packer->Pack(entry.packer_input, value, staging.data()));
  return device.CopyIn(packed, staging.data(), entry.bytes);
}

}  // namespace

absl::Status PackWeight(const Graph& graph, const WeightEntry& entry, Device& device, void* to) {
  if (entry.elsewhere || entry.packed != nullptr) return absl::OkStatus();
  const HostTensor& value = ValueOf(graph, entry);
  const HostTensor& source = value.source();
  ASHLAR_RETURN_IF_ERROR(LoadIfMapped(source.raw(), source.bytes()));
  return Annotate(PackInto(entry, value.Computed(), device, static_cast<char*>(to)),
                  absl::StrCat("weights ", graph.var(entry.var).name));
}

}  // namespace ashlar
