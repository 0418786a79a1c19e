#include "runtime/plan/stages/kernel_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// A kernel with less workspace may take this much longer than the fastest. A kernel that is slower
// is only used if memory requires it.
constexpr double kAcceptableSlowdown = 1.25;

// Makes a request without processor and threads, which no key names.
KernelRequest RequestFor(const Graph& graph, const OperatorNode& node, const KernelPolicy& policy) {
  KernelRequest request;
  request.op = node.op.get();
  request.inputs = graph.InputTypes(node);
  request.outputs = graph.OutputTypes(node);
  request.policy = policy;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool host_value = node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
    request.constant.push_back(graph.constant(node.inputs[i]) != nullptr);
    request.host_values.push_back(host_value ? graph.host_value(node.inputs[i]) : nullptr);
  }
  return request;
}

KernelRequest RequestOn(const Device& device, const PlanTarget& target, const Graph& graph,
                        const OperatorNode& node, const KernelPolicy& policy) {
  KernelRequest request = RequestFor(graph, node, policy);
  request.processor = target.ProcessorOn(device);
  request.threads = target.threads;
  return request;
}

// Returns the key of a request, by which it is recorded; it only outlines scales.
std::string KeyOf(const KernelRequest& request) {
  std::string key = absl::StrCat(request.op->type(), " ", ToString(request.op->params()),
                                 request.policy.allow_tf32 ? " tf32" : "");
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    absl::StrAppend(&key, " ", request.inputs[i].ToString(), request.constant[i] ? "c" : "");
    if (const HostTensor* value = request.host_values[i]) {
      key.append(static_cast<const char*>(value->raw()), value->bytes());
    }
  }
  for (const TensorType& output : request.outputs) absl::StrAppend(&key, " > ", output.ToString());
  if (request.policy.exact) key += ", exact";
  if (request.policy.low_workspace) key += ", least memory";
  return key;
}

template <typename Value>
void AppendValue(const Value& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendType(const TensorType& type, std::string& bytes) {
  AppendValue(type.dtype, bytes);
  AppendValue(type.format, bytes);
  AppendValue(type.shape.rank(), bytes);
  for (const int64_t dim : type.shape.dims()) AppendValue(dim, bytes);
  if (type.quantization.empty()) return;
  const absl::Span<const float> scales = type.quantization.scales();
  AppendValue(type.quantization.zero_point(), bytes);
  AppendValue(scales.size(), bytes);
  bytes.append(reinterpret_cast<const char*>(scales.data()), scales.size() * sizeof(float));
}

// Returns bytes that are equal for requests with the same kernels, if the rest of the requests is
// the same. A key takes longer to write.
std::string BytesOf(const KernelRequest& request) {
  std::string bytes;
  bytes.reserve(256);
  absl::StrAppend(&bytes, request.op->type());
  bytes += '\0';
  request.op->AppendParams(bytes);
  AppendValue(request.inputs.size(), bytes);
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    AppendType(request.inputs[i], bytes);
    bytes += request.constant[i] ? 'c' : 'v';
    if (const HostTensor* value = request.host_values[i]) {
      AppendValue(value->bytes(), bytes);
      bytes.append(static_cast<const char*>(value->raw()), value->bytes());
    }
  }
  for (const TensorType& output : request.outputs) AppendType(output, bytes);
  return bytes;
}

bool NeedsKernel(const Graph& graph, const StorageModel& model, int index) {
  const OperatorNode& node = graph.node(index);
  switch (node.op->role()) {
    case Role::kInput:
    case Role::kConstant:
    case Role::kState:
      return false;
    case Role::kCompute: {
      const auto has_elements = [&](int var) {
        return graph.var(var).type.shape.num_elements() > 0;
      };
      return model.Writes(graph, index) &&
             std::any_of(node.outputs.begin(), node.outputs.end(), has_elements);
    }
    case Role::kOutput: {
      const int index_of_storage = model.views[node.inputs[0]].storage;
      if (index_of_storage < 0) return false;
      const Storage& storage = model.storages[index_of_storage];
      return storage.pool != Pool::kOutput || graph.outputs()[storage.binding].node != index;
    }
  }
  return false;
}

// Returns Unimplemented if a tensor has a format of another kind of device.
absl::Status CheckFormats(const KernelRequest& request, const Device& device) {
  for (const std::vector<TensorType>* types : {&request.inputs, &request.outputs}) {
    for (const TensorType& type : *types) {
      const bool fits =
          type.format == Format::kDefault || IsQuantized(type.dtype) ||
          IsBlocked(type.format) == IsBlocked(device.image_format()) ||
          (type.format == Format::kNHWC && device.kernels().TakesChannelsLast(request));
      if (fits) continue;
      return absl::UnimplementedError(absl::StrCat(type.ToString(), ": ",
                                                   device.comp_node().ToString(), " has NCHW and ",
                                                   Name(device.image_format())));
    }
  }
  return absl::OkStatus();
}

// Returns the least workspace, in bytes, of the candidates that are not much slower than the
// fastest.
int64_t LeastWorkspaceOf(const std::vector<std::shared_ptr<const Kernel>>& candidates) {
  if (candidates.empty()) return 0;
  double fastest = candidates[0]->relative_time();
  for (const auto& kernel : candidates) fastest = std::min(fastest, kernel->relative_time());
  int64_t least = candidates[0]->workspace_bytes();
  for (const auto& kernel : candidates) {
    // Times are relative to the best kernel that a device expects. If it has none that good,
    // compare with the best available.
    if (kernel->relative_time() > kAcceptableSlowdown * std::max(1.0, fastest)) continue;
    least = std::min(least, kernel->workspace_bytes());
  }
  return least;
}

// Returns the recorded variant for this number of threads, otherwise the family; "" if there is
// none.
std::string Recorded(const KernelRecord* record, const std::string& key, int threads) {
  if (record == nullptr) return "";
  const auto choice = record->choices.find(key);
  if (choice == record->choices.end()) return "";
  const auto variant = choice->second.variants.find(threads);
  return variant != choice->second.variants.end() ? variant->second : choice->second.family;
}

using Candidates = std::vector<std::shared_ptr<const Kernel>>;

absl::Status Append(const KernelFactory& factory, const KernelRequest& request,
                    Candidates& candidates) {
  ASHLAR_ASSIGN_OR_RETURN(KernelList kernels, factory(request));
  for (std::unique_ptr<Kernel>& kernel : kernels) candidates.push_back(std::move(kernel));
  return absl::OkStatus();
}

// Returns the recorded kernel. Adds the kernels that the device expects to be fast if the recorded
// one no longer exists, or needs workspace that may not fit. Kernels of a library take up to
// seconds to prepare, and are only prepared when their workspace is read.
absl::StatusOr<Candidates> AsRecorded(const KernelFactory& factory, KernelRequest request,
                                      const std::string& recorded) {
  Candidates all, kept;
  request.policy.all_candidates = true;
  ASHLAR_RETURN_IF_ERROR(Append(factory, request, all));
  const auto of_name = [&](const auto& kernel) { return kernel->implementation() == recorded; };
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept), of_name);
  if (!kept.empty() && kept[0]->workspace_bytes() <= kNegligibleWorkspace) return kept;
  request.policy.all_candidates = false;
  ASHLAR_RETURN_IF_ERROR(Append(factory, request, kept));
  return kept;
}

// Finds the kernels for one node's request, the recorded one first, then the fastest.
absl::StatusOr<Candidates> FindCandidates(const OperatorNode& node, KernelRequest request,
                                          const std::string& key, Device& device,
                                          const KernelRecord* record) {
  const KernelFactory* const factory = device.kernels().Find(node.op->type());
  if (factory == nullptr) {
    return absl::UnimplementedError(absl::StrCat("no kernel on ", device.comp_node().ToString()));
  }
  ASHLAR_RETURN_IF_ERROR(CheckFormats(request, device));
  const int threads = request.threads;
  const std::string recorded = Recorded(record, key, threads);
  Candidates candidates;
  if (!recorded.empty() && !device.is_host()) {
    ASHLAR_ASSIGN_OR_RETURN(candidates, AsRecorded(*factory, std::move(request), recorded));
  } else {
    // The recorded kernel may not be among the kernels that are offered first.
    request.policy.all_candidates |= !recorded.empty();
    ASHLAR_RETURN_IF_ERROR(Append(*factory, request, candidates));
  }
  if (candidates.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("no kernel for ", key, " on ", device.comp_node().ToString()));
  }
  if (record != nullptr) {
    const auto preference = [&](const std::shared_ptr<const Kernel>& kernel) {
      return record->Preference(key, threads, kernel->implementation());
    };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const auto& a, const auto& b) { return preference(a) > preference(b); });
  }
  return candidates;
}

constexpr size_t kMostRefused = 20;  // limit on the names in a message

// Returns one error for all refusals; it names the first ones.
absl::Status AllRefused(const std::vector<std::string>& refused) {
  const size_t named = std::min(refused.size(), kMostRefused);
  std::string text = absl::StrJoin(refused.begin(), refused.begin() + named, "; ");
  if (named < refused.size()) {
    absl::StrAppend(&text, "; and ", refused.size() - named, " more without a kernel");
  }
  return absl::UnimplementedError(text);
}

}  // namespace

absl::StatusOr<KernelCandidates> FindKernels(const Graph& graph, const StorageModel& model,
                                             Device& device, const PlanTarget& target,
                                             const KernelPolicy& policy,
                                             const KernelRecord* record) {
  device.UseThreads(target.threads);
  KernelCandidates candidates(graph.nodes().size());
  absl::flat_hash_map<std::string, Candidates> made;
  std::vector<std::string> refused;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!model.scheduled[i] || !NeedsKernel(graph, model, static_cast<int>(i))) continue;
    const OperatorNode& node = graph.node(static_cast<int>(i));
    KernelRequest request = RequestOn(device, target, graph, node, policy);
    const auto [it, inserted] = made.try_emplace(BytesOf(request));
    if (inserted) {
      const std::string key = KeyOf(request);
      absl::StatusOr<Candidates> found =
          FindCandidates(node, std::move(request), key, device, record);
      if (found.ok()) {
        it->second = *std::move(found);
      } else {
        const absl::Status status = Annotate(found.status(), Describe(node));
        if (!absl::IsUnimplemented(status)) return status;
        refused.emplace_back(status.message());
      }
    }
    candidates[i] = it->second;
  }
  if (!refused.empty()) return AllRefused(refused);
  return candidates;
}

bool RefusesInputs(const Graph& graph, const OperatorNode& node, const Device& device,
                   const PlanTarget& target, const KernelPolicy& policy) {
  const KernelFactory* const factory = device.kernels().Find(node.op->type());
  return factory != nullptr &&
         absl::IsUnimplemented((*factory)(RequestOn(device, target, graph, node, policy)).status());
}

bool TakesChannelsLast(const Graph& graph, const OperatorNode& node, int var,
                       const Device& device) {
  KernelRequest request = RequestFor(graph, node, KernelPolicy());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == var) request.inputs[i].format = Format::kNHWC;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == var) request.outputs[i].format = Format::kNHWC;
  }
  return device.kernels().TakesChannelsLast(request);
}

std::string KernelContents(const Graph& graph, const OperatorNode& node) {
  return BytesOf(RequestFor(graph, node, KernelPolicy()));
}

std::string KernelIdentity(const Graph& graph, const OperatorNode& node, const Kernel& kernel) {
  std::string identity(FamilyOf(kernel.implementation()));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.constant(node.inputs[i]) == nullptr) continue;
    const std::optional<Packing> packing = kernel.packing(static_cast<int>(i));
    if (packing) absl::StrAppend(&identity, " | ", packing->key);
  }
  return identity;
}

namespace {

// Returns the part of an identity that is about weights.
absl::string_view PackingIn(absl::string_view identity) {
  return identity.substr(std::min(identity.find(" | "), identity.size()));
}

}  // namespace

absl::Status KeepKernels(const Graph& graph, const ChosenKernels& chosen,
                         KernelCandidates& candidates) {
  const absl::Span<const std::string> identities = chosen.identities;
  if (identities.size() != candidates.size()) {
    return absl::FailedPreconditionError(absl::StrCat("kernels are named for ", identities.size(),
                                                      " nodes, the graph has ", candidates.size()));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const OperatorNode& node = graph.node(static_cast<int>(i));
    std::vector<std::shared_ptr<const Kernel>> kept;
    for (const std::shared_ptr<const Kernel>& kernel : candidates[i]) {
      const std::string identity = KernelIdentity(graph, node, *kernel);
      const bool same = chosen.other_shapes ? PackingIn(identity) == PackingIn(identities[i])
                                            : identity == identities[i];
      if (same) kept.push_back(kernel);
    }
    const std::string where = Describe(node, kLongestUncheckedName);
    if (!chosen.other_shapes && candidates[i].empty() != identities[i].empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          where, identities[i].empty() ? " has to run, and no kernel is named for it"
                                       : " has nothing to run, and a kernel is named"));
    }
    if (kept.empty() && !candidates[i].empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(where, ": there is no kernel '", identities[i].substr(0, 200),
                       chosen.other_shapes ? "' for these shapes" : "' any more"));
    }
    candidates[i] = std::move(kept);
  }
  return absl::OkStatus();
}

std::vector<std::string> KernelKeys(const Graph& graph, const StorageModel& model,
                                    const KernelPolicy& policy) {
  std::vector<std::string> keys(graph.nodes().size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!model.scheduled[i] || !NeedsKernel(graph, model, static_cast<int>(i))) continue;
    keys[i] = KeyOf(RequestFor(graph, graph.node(static_cast<int>(i)), policy));
  }
  return keys;
}

std::vector<int64_t> LeastWorkspace(const KernelCandidates& candidates) {
  std::vector<int64_t> least(candidates.size(), 0);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const int64_t bytes = LeastWorkspaceOf(candidates[i]);
    least[i] = bytes > kNegligibleWorkspace ? bytes : 0;
  }
  return least;
}

std::vector<int64_t> KnownWorkspaces::Of(const Graph& graph, const StorageModel& model) {
  std::vector<int64_t> least(graph.nodes().size(), 0);
  for (size_t i = 0; i < least.size(); ++i) {
    if (!model.scheduled[i] || !NeedsKernel(graph, model, static_cast<int>(i))) continue;
    const std::optional<int64_t> bytes = Of(graph, graph.node(static_cast<int>(i)));
    if (!bytes) return std::vector<int64_t>(least.size(), 0);
    least[i] = *bytes;
  }
  return least;
}

std::optional<int64_t> KnownWorkspaces::Of(const Graph& graph, const OperatorNode& node) {
  KernelRequest request = RequestOn(device_, target_, graph, node, policy_);
  std::string bytes = BytesOf(request);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto known = known_.find(bytes); known != known_.end()) return known->second;
  }
  const std::string key = KeyOf(request);
  const absl::StatusOr<Candidates> found =
      FindCandidates(node, std::move(request), key, device_, record_.get());
  std::optional<int64_t> least;
  if (found.ok()) least = LeastWorkspace({*found})[0];
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.emplace(std::move(bytes), least);
  return least;
}

std::vector<std::shared_ptr<const Kernel>> ChooseKernels(const KernelCandidates& candidates,
                                                         absl::Span<const int64_t> live,
                                                         int64_t extra) {
  int64_t peak = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    peak = std::max(peak, live[i] + LeastWorkspaceOf(candidates[i]));
  }
  std::vector<std::shared_ptr<const Kernel>> chosen(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const std::shared_ptr<const Kernel>& kernel : candidates[i]) {
      if (live[i] + kernel->workspace_bytes() - extra > peak) continue;
      chosen[i] = kernel;
      break;
    }
  }
  return chosen;
}

}  // namespace ashlar
