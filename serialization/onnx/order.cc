#include "serialization/onnx/order.h"

#include <functional>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/graph.h"

namespace ashlar {
namespace {

void AddNamesRead(const onnx::GraphProto& graph, std::vector<std::string>& names);

// Adds the names that a node reads, including its subgraphs. Subgraphs may use the same names for
// values of their own.
void AddNamesRead(const onnx::NodeProto& node, std::vector<std::string>& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.push_back(input);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddNamesRead(attribute.g(), names);
    for (const onnx::GraphProto& graph : attribute.graphs()) AddNamesRead(graph, names);
  }
}

void AddNamesRead(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) AddNamesRead(node, names);
  for (const onnx::ValueInfoProto& output : graph.output()) names.push_back(output.name());
}

using Producers = absl::flat_hash_map<std::string, int>;

absl::StatusOr<Producers> ProducersOf(const OnnxNodes& nodes) {
  Producers producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty() || producers.emplace(output, i).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("value '", output.substr(0, kLongestUncheckedName),
                       "' is made twice, the second time by ", DescribeOnnx(nodes[i])));
    }
  }
  return producers;
}

}  // namespace

absl::StatusOr<OnnxOrder> OrderOf(const OnnxNodes& nodes, const std::vector<std::string>& outputs) {
  const absl::StatusOr<Producers> producers = ProducersOf(nodes);
  if (!producers.ok()) return producers.status();
  OnnxOrder order;
  std::vector<bool> needed(nodes.size(), false);
  std::vector<std::vector<int>> readers(nodes.size());  // readers of a node's outputs
  std::vector<int> waits_for(nodes.size(), 0);          // producers not in the order yet
  std::vector<int> stack;
  const auto need = [&](const std::string& name) {
    order.read.insert(name);
    const auto producer = producers->find(name);
    if (producer == producers->end()) return -1;
    if (!needed[producer->second]) stack.push_back(producer->second);
    needed[producer->second] = true;
    return producer->second;
  };
  for (const std::string& output : outputs) need(output);
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    std::vector<std::string> names;
    AddNamesRead(nodes[node], names);
    for (const std::string& name : names) {
      const int producer = need(name);
      if (producer < 0) continue;
      readers[producer].push_back(node);
      ++waits_for[node];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  int left = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (needed[i]) ++left;
    if (needed[i] && waits_for[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.nodes.push_back(node);
    for (const int reader : readers[node]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (static_cast<int>(order.nodes.size()) == left) return order;
  for (int i = 0; i < nodes.size(); ++i) {
    if (!needed[i] || waits_for[i] == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeOnnx(nodes[i]), " needs its own output, by way of others or not"));
  }
  return absl::InternalError("no order");
}

std::string NameOfOnnx(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.output_size() > 0 ? node.output(0) : "";
}

std::string DescribeOnnx(const onnx::NodeProto& node) {
  return absl::StrCat("node '", NameOfOnnx(node).substr(0, kLongestUncheckedName), "' (",
                      node.op_type().substr(0, kLongestUncheckedName), ")");
}

}  // namespace ashlar
