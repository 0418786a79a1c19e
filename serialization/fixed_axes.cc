#include "serialization/fixed_axes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ashlar {
namespace {

constexpr int kMostTried = 16;  // further dimensions count as fixed
// Larger constants are weights, which are compared by their type alone.
constexpr int64_t kMostCompared = 1 << 16;  // bytes

bool SameConstant(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!a.has_data() || !b.has_data() || a.bytes() > kMostCompared) return true;
  return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

bool SameNode(const Graph& a, const OperatorNode& x, const Graph& b, const OperatorNode& y) {
  if (x.op->type() != y.op->type() || x.inputs != y.inputs || x.outputs != y.outputs) return false;
  if ((x.constant == nullptr) != (y.constant == nullptr)) return false;
  if (x.constant != nullptr && !SameConstant(*x.constant, *y.constant)) return false;
  if (x.constant == nullptr && ToString(x.op->params()) != ToString(y.op->params())) return false;
  return a.OutputTypes(x) == b.OutputTypes(y);
}

// Returns the name of the first operator that differs; constants are named by their first reader.
std::optional<std::string> FirstDifference(const Graph& a, const Graph& b) {
  const size_t count = std::min(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < count; ++i) {
    const OperatorNode& node = a.node(static_cast<int>(i));
    if (SameNode(a, node, b, b.node(static_cast<int>(i)))) continue;
    if (node.constant == nullptr) return node.name;
    const auto& readers = a.readers(node.outputs[0]);
    return readers.empty() ? node.name : a.node(readers[0]).name;
  }
  if (a.nodes().size() == b.nodes().size()) return std::nullopt;
  return (count < a.nodes().size() ? a : b).node(static_cast<int>(count)).name;
}

// Returns the shapes of the graph's inputs with these dimensions twice as large.
InputShapes Doubled(const Graph& graph, const std::vector<OpenAxis>& group) {
  InputShapes shapes;
  for (const OpenAxis& axis : group) {
    for (const Binding& input : graph.inputs()) {
      const Shape& shape = graph.var(input.var).type.shape;
      if (input.name != axis.input || axis.axis >= shape.rank() || shape[axis.axis] == 0) continue;
      shapes.try_emplace(input.name, shape).first->second[axis.axis] *= 2;
    }
  }
  return shapes;
}

}  // namespace

std::vector<FixedAxis> FindFixedAxes(const Graph& graph, const std::vector<OpenAxis>& open,
                                     ReadAtShapes read) {
  std::vector<std::vector<OpenAxis>> groups;  // dimensions that change together
  std::vector<OpenAxis> batch;
  for (const OpenAxis& axis : open) {
    groups.push_back({axis});
    if (axis.axis == 0) batch.push_back(axis);
  }
  if (batch.size() > 1) groups.push_back(std::move(batch));  // inputs may need the same batch
  std::vector<FixedAxis> fixed;
  int tried = 0;
  for (const std::vector<OpenAxis>& group : groups) {
    const InputShapes shapes = Doubled(graph, group);
    if (shapes.empty()) continue;
    const absl::StatusOr<Graph> inferred = WithInputShapes(graph, shapes);
    if (!inferred.ok()) continue;  // these sizes are refused anyway
    std::optional<std::string> difference = std::string();
    if (++tried <= kMostTried) {
      const absl::StatusOr<Graph> as_read = read(shapes);
      if (as_read.ok()) difference = FirstDifference(*inferred, *as_read);
    }
    if (!difference) continue;
    for (const OpenAxis& axis : group) {
      const bool known = std::any_of(fixed.begin(), fixed.end(), [&](const FixedAxis& other) {
        return other.input == axis.input && other.axis == axis.axis;
      });
      if (!known && shapes.contains(axis.input)) {
        fixed.push_back({axis.input, axis.axis, *difference});
      }
    }
  }
  return fixed;
}

absl::Status CheckFixedAxes(const std::string& input, const Shape& shape,
                            const std::vector<FixedAxis>& fixed, const InputShapes& shapes) {
  const auto found = shapes.find(input);
  if (found == shapes.end()) return absl::OkStatus();
  const Shape& asked = found->second;
  for (const FixedAxis& axis : fixed) {
    if (axis.input != input || axis.axis >= shape.rank()) continue;
    if (asked.rank() == shape.rank() && asked[axis.axis] == shape[axis.axis]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", input, " is ", shape.ToString(), ", and asked for is ", asked.ToString(), ": ",
        axis.node.empty() ? "the model" : absl::StrCat("'", axis.node.substr(0, 200), "'"),
        " depends on dimension ", axis.axis,
        ", which was fixed when the model was read; read its .onnx file with this shape"));
  }
  return absl::OkStatus();
}

std::string ToText(const FixedAxis& axis) {
  return absl::StrCat(axis.axis, "\n", axis.input, "\n", axis.node);
}

absl::StatusOr<FixedAxis> ParseFixedAxis(absl::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  FixedAxis axis;
  if (lines.size() == 3 && absl::SimpleAtoi(lines[0], &axis.axis) && axis.axis >= 0) {
    axis.input = lines[1];
    axis.node = lines[2];
    return axis;
  }
  return absl::InvalidArgumentError("a fixed dimension is not an axis, an input and a node");
}

}  // namespace ashlar
