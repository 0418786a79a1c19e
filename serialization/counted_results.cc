#include "serialization/counted_results.h"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "opr/host_io.h"

namespace ashlar {
namespace {

// Returns the first `size` places along an axis.
HostTensor FirstOf(const HostTensor& whole, int axis, int64_t size) {
  Shape shape = whole.shape();
  shape[axis] = size;
  HostTensor cut = HostTensor::Zeros(whole.dtype(), shape);
  int64_t outer = 1, inner = SizeOf(whole.dtype());
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  const auto* const from = static_cast<const char*>(whole.raw());
  auto* const to = static_cast<char*>(cut.mutable_raw());
  for (int64_t i = 0; i < outer; ++i) {
    std::memcpy(to + i * size * inner, from + i * whole.shape()[axis] * inner,
                static_cast<size_t>(size * inner));
  }
  return cut;
}

}  // namespace

std::vector<CountedOutput> CountedOutputsOf(const Graph& graph) {
  const std::vector<Binding>& outputs = graph.outputs();
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < outputs.size(); ++i) places.emplace(outputs[i].name, i);
  std::vector<CountedOutput> counted;
  std::set<std::pair<size_t, int64_t>> found;  // outputs and axes
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* const output =
        dynamic_cast<const OutputCallback*>(graph.node(outputs[i].node).op.get());
    if (output == nullptr || output->param().count_of.empty()) continue;
    const auto of = places.find(output->param().count_of);
    const TensorType& count = graph.var(outputs[i].var).type;
    if (of == places.end() || count.dtype != DType::kInt64 || count.shape.rank() != 0) continue;
    const int64_t axis = output->param().axis;
    if (axis < 0 || axis >= graph.var(outputs[of->second].var).type.shape.rank()) continue;
    // In joined models, the first one keeps its names.
    if (!found.insert({of->second, axis}).second) continue;
    counted.push_back({of->second, i, static_cast<int>(axis)});
  }
  return counted;
}

NamedTensors CutToCounts(NamedTensors outputs, const Graph& graph) {
  for (const CountedOutput& counted : CountedOutputsOf(graph)) {
    HostTensor& tensor = outputs[counted.output].second;
    const int64_t count = outputs[counted.count].second.IntegerAt(0);
    if (count < 0 || count >= tensor.shape()[counted.axis]) continue;
    tensor = FirstOf(tensor, counted.axis, count);
  }
  return outputs;
}

}  // namespace ashlar
