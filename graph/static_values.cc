#include "graph/static_values.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/evaluate.h"

namespace ashlar {
namespace {

constexpr int64_t kFreeBytes = 16 << 20;
constexpr int64_t kBytesPerConstantByte = 8;  // Int8 weights to Float32, twice
constexpr int64_t kMaxOperations = int64_t{1} << 32;

bool NeedsValue(const OperatorNode& node, size_t input) {
  return node.op->input_use(static_cast<int>(input)) != InputUse::kShape;
}

}  // namespace

const HostTensor* StaticValues::Find(const Graph& graph, int var) {
  entries_.resize(graph.vars().size());
  // Depth first, with an explicit stack: a file may contain a chain of any length.
  std::vector<int> stack = {var};
  while (!stack.empty()) {
    const int top = stack.back();
    const OperatorNode& node = graph.node(graph.var(top).producer);
    Entry& entry = entries_[top];
    if (entry.state == State::kNew && node.op->role() == Role::kCompute) {
      entry.state = State::kOpen;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const bool known = entries_[node.inputs[i]].state == State::kSettled;
        if (NeedsValue(node, i) && !known) stack.push_back(node.inputs[i]);
      }
      continue;
    }
    stack.pop_back();
    if (entry.state == State::kSettled) continue;
    std::vector<HostTensor> values = Evaluate(graph, node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Entry& output = entries_[node.outputs[i]];
      output.state = State::kSettled;
      if (i < values.size()) output.value = std::move(values[i]);
    }
  }
  return entries_[var].value.has_value() ? &*entries_[var].value : nullptr;
}

std::vector<HostTensor> StaticValues::Evaluate(const Graph& graph, const OperatorNode& node) {
  if (const HostTensor* constant = node.constant.get()) {
    if (!constant->has_data()) return {};
    Cover(*constant);
    return {*constant};
  }
  if (node.op->role() != Role::kCompute) return {};
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorType& type = graph.var(node.inputs[i]).type;
    const std::optional<HostTensor>& value = entries_[node.inputs[i]].value;
    if (!NeedsValue(node, i)) {
      inputs.push_back(HostTensor::ShapeOnly(type.dtype, type.shape));
    } else if (value.has_value()) {
      inputs.push_back(*value);
    } else {
      return {};
    }
  }
  int64_t bytes = evaluated_bytes_, operations = operations_;
  const OwnedSite site = graph.SiteOf(node);
  for (const TensorType& type : site.outputs) {
    bytes += type.bytes();
    operations += type.shape.num_elements();
  }
  operations += node.op->Computation(site);
  if (bytes > kFreeBytes + kBytesPerConstantByte * covered_bytes_ || operations > kMaxOperations) {
    return {};
  }
  evaluated_bytes_ = bytes;
  operations_ = operations;
  absl::StatusOr<std::vector<HostTensor>> values = EvaluateOperator(*node.op, inputs, site.outputs);
  return values.ok() ? *std::move(values) : std::vector<HostTensor>();
}

void StaticValues::Cover(const HostTensor& constant) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(constant.source().raw());
  uintptr_t end = begin + static_cast<uintptr_t>(constant.source().bytes());
  auto next = covered_.upper_bound(begin);
  if (next != covered_.begin() && std::prev(next)->second >= begin) --next;
  while (next != covered_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    covered_bytes_ -= static_cast<int64_t>(next->second - next->first);
    next = covered_.erase(next);
  }
  covered_bytes_ += static_cast<int64_t>(end - begin);
  covered_.emplace(begin, end);
}

}  // namespace ashlar
