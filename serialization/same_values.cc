#include "serialization/same_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/random.h"
#include "serialization/checksum.h"

namespace ashlar {
namespace {

constexpr int64_t kMostOperations = int64_t{1} << 28;
constexpr double kRounding = 1e-5;  // of the largest value

// Numbers from -1 to 1, or 0 and 1 for types without fractions: valid as indices, too.
HostTensor RandomInput(const std::string& name, const TensorType& type) {
  Random random(Checksum(name.data(), name.size()));
  HostTensor tensor = HostTensor::Zeros(type);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double number = random.Uniform(-1, 1);
    tensor.Set(i, IsFloat(type.dtype) ? number : number > 0 ? 1 : 0);
  }
  return tensor;
}

absl::StatusOr<std::vector<HostTensor>> Evaluated(const Graph& graph) {
  return EvaluateNodes(graph, [&](const OperatorNode& input) {
    return RandomInput(input.binding, graph.var(input.outputs[0]).type);
  });
}

bool AreSame(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!IsFloat(a.dtype())) {
    return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
  }
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const double x = a.At(i), y = b.At(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return false;
    apart = std::max(apart, std::abs(x - y));
  }
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if (std::isfinite(a.At(i))) largest = std::max(largest, std::abs(a.At(i)));
  }
  return apart <= kRounding * largest;
}

template <typename Bindings>
bool SameNames(const Bindings& a, const Bindings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Binding& x, const Binding& y) { return x.name == y.name; });
}

}  // namespace

bool IsCheap(const Graph& graph) {
  int64_t operations = 0;
  for (const OperatorNode& node : graph.nodes()) {
    for (const int output : node.outputs) operations += graph.var(output).type.shape.num_elements();
    if (node.op->role() == Role::kCompute) operations += node.op->Computation(graph.SiteOf(node));
    if (operations > kMostOperations) return false;
  }
  return true;
}

bool HaveSameValues(const Graph& a, const Graph& b) {
  if (!SameNames(a.inputs(), b.inputs()) || !SameNames(a.outputs(), b.outputs())) return false;
  if (!IsCheap(a) || !IsCheap(b)) return false;
  const auto x = Evaluated(a), y = Evaluated(b);
  return x.ok() && y.ok() && std::equal(x->begin(), x->end(), y->begin(), y->end(), AreSame);
}

}  // namespace ashlar
