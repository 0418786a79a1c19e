#include "serialization/onnx/export/open_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "serialization/input_shapes.h"

namespace ashlar {
namespace {

// Returns the name of the first node that reads a constant.
std::string ReaderOf(const onnx::GraphProto& graph, const std::string& constant) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (std::find(node.input().begin(), node.input().end(), constant) != node.input().end()) {
      return node.name();
    }
  }
  return constant;
}

template <typename Messages>
std::optional<std::string> FirstDifference(const Messages& a, const Messages& b) {
  const int count = std::min(a.size(), b.size());
  for (int i = 0; i < count; ++i) {
    if (a[i].SerializeAsString() != b[i].SerializeAsString()) return a[i].name();
  }
  if (a.size() == b.size()) return std::nullopt;
  return (count < a.size() ? a : b)[count].name();
}

// Compares nodes and constants, and returns the name of the first node that differs.
std::optional<std::string> FirstDifference(const onnx::GraphProto& a, const onnx::GraphProto& b) {
  if (const auto node = FirstDifference(a.node(), b.node())) return node;
  const auto constant = FirstDifference(a.initializer(), b.initializer());
  return constant ? std::optional(ReaderOf(a, *constant)) : std::nullopt;
}

bool IsFixed(const std::vector<FixedAxis>& fixed, const OpenAxis& axis) {
  return std::any_of(fixed.begin(), fixed.end(), [&](const FixedAxis& other) {
    return other.input == axis.input && other.axis == axis.axis;
  });
}

// All values that a model declares, in the order of models of one graph.
std::vector<onnx::ValueInfoProto*> ValuesOf(onnx::GraphProto& graph) {
  std::vector<onnx::ValueInfoProto*> values;
  for (auto* const infos :
       {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& info : *infos) values.push_back(&info);
  }
  return values;
}

onnx::TensorShapeProto& ShapeOf(onnx::ValueInfoProto& value) {
  return *value.mutable_type()->mutable_tensor_type()->mutable_shape();
}

// The models of a graph with one group of dimensions at the graph's size and at larger ones.
struct Sizes {
  std::vector<int64_t> of_group;  // by model
  std::vector<onnx::ModelProto> models;
};

Sizes ModelsAtSizes(const Graph& graph, const std::vector<OpenAxis>& group, MakeOnnx make) {
  Sizes sizes;
  const auto add = [&](const Graph& at, int64_t size) {
    absl::StatusOr<onnx::ModelProto> model = make(at);
    if (!model.ok()) return;
    sizes.of_group.push_back(size);
    sizes.models.push_back(*std::move(model));
  };
  for (const Binding& input : graph.inputs()) {
    if (input.name != group[0].input) continue;
    add(graph, graph.var(input.var).type.shape[group[0].axis]);
  }
  for (const int64_t more : {0, 1}) {
    const InputShapes shapes = LargerShapes(graph, group, more);
    if (shapes.empty()) continue;
    const absl::StatusOr<Graph> larger = WithInputShapes(graph, shapes);
    if (larger.ok()) add(*larger, shapes.begin()->second[group[0].axis]);
  }
  return sizes;
}

// Declares the dimensions of `model` that change with the group as `symbol`, or as unknown.
void Declare(const std::string& symbol, Sizes& sizes, onnx::ModelProto& model) {
  std::vector<std::vector<onnx::ValueInfoProto*>> values;
  for (onnx::ModelProto& made : sizes.models) values.push_back(ValuesOf(*made.mutable_graph()));
  const std::vector<onnx::ValueInfoProto*> declared = ValuesOf(*model.mutable_graph());
  for (size_t v = 0; v < declared.size(); ++v) {
    onnx::TensorShapeProto& shape = ShapeOf(*declared[v]);
    for (int axis = 0; axis < shape.dim_size(); ++axis) {
      bool changes = false, is_group = true;
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t size = ShapeOf(*values[i][v]).dim(axis).dim_value();
        changes = changes || size != ShapeOf(*values[0][v]).dim(axis).dim_value();
        is_group = is_group && size == sizes.of_group[i];
      }
      if (!changes) continue;
      onnx::TensorShapeProto::Dimension& dim = *shape.mutable_dim(axis);
      const bool first = dim.has_dim_value();  // otherwise it changes with two groups
      dim.Clear();
      if (first && is_group) dim.set_dim_param(symbol);
    }
  }
}

}  // namespace

std::vector<FixedAxis> FixedByWriting(const Graph& graph, const FileAxes& axes, MakeOnnx make) {
  const absl::StatusOr<onnx::ModelProto> model = make(graph);
  if (!model.ok()) return {};  // it is not written, either
  std::vector<OpenAxis> open = AxesOf(graph);
  std::erase_if(open, [&](const OpenAxis& axis) { return IsFixed(axes.fixed, axis); });
  for (OpenAxis& axis : open) {
    for (const OpenAxis& named : axes.open) {
      if (named.input == axis.input && named.axis == axis.axis) axis.symbol = named.symbol;
    }
  }
  return FindFixedAxes(
      graph, open, [&](const Graph& inferred, const InputShapes&) -> std::optional<std::string> {
        const absl::StatusOr<onnx::ModelProto> larger = make(inferred);
        return larger.ok() ? FirstDifference(model->graph(), larger->graph()) : "";
      });
}

void DeclareOpen(const Graph& graph, const FileAxes& axes, MakeOnnx make, onnx::ModelProto& model) {
  std::map<std::string, std::vector<OpenAxis>> groups;  // by symbol
  for (const OpenAxis& axis : axes.open) groups[axis.symbol].push_back(axis);
  for (const auto& [symbol, group] : groups) {
    if (std::any_of(group.begin(), group.end(),
                    [&](const OpenAxis& axis) { return IsFixed(axes.fixed, axis); })) {
      continue;
    }
    Sizes sizes = ModelsAtSizes(graph, group, make);
    if (sizes.models.size() > 1) Declare(symbol, sizes, model);
  }
}

}  // namespace ashlar
