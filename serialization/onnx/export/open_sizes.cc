#include "serialization/onnx/export/open_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "serialization/input_shapes.h"
#include "serialization/same_values.h"

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

// The models of a graph with one group of dimensions at the graph's size and at others.
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
  const OpenAxis& one = group[0];
  for (const Binding& input : graph.inputs()) {
    if (input.name == one.input) add(graph, graph.var(input.var).type.shape[one.axis]);
  }
  for (const InputShapes& shapes : SampledShapes(graph, group)) {
    const auto shape = shapes.find(one.input);
    const absl::StatusOr<Graph> other = WithInputShapes(graph, shapes);
    if (shape != shapes.end() && other.ok()) add(*other, shape->second[one.axis]);
  }
  return sizes;
}

// Declares the dimensions of `model` that change with the group as `symbol`, or as unknown: inputs
// that have the group's size in all models, and other values that have it in `joint`, too, where it
// is `joint_size`. `joint` may be null: then others are unknown.
void Declare(const std::string& symbol, onnx::ModelProto* joint, int64_t joint_size, Sizes& sizes,
             onnx::ModelProto& model) {
  std::vector<std::vector<onnx::ValueInfoProto*>> values;
  for (onnx::ModelProto& made : sizes.models) values.push_back(ValuesOf(*made.mutable_graph()));
  const std::vector<onnx::ValueInfoProto*> declared = ValuesOf(*model.mutable_graph());
  std::vector<onnx::ValueInfoProto*> apart;
  if (joint != nullptr) apart = ValuesOf(*joint->mutable_graph());
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
      const bool follows =
          v < static_cast<size_t>(model.graph().input_size()) ||
          (v < apart.size() && ShapeOf(*apart[v]).dim(axis).dim_value() == joint_size);
      if (first && is_group && follows) dim.set_dim_param(symbol);
    }
  }
}

// Returns shapes at which each group of dimensions has a size of its own.
InputShapes JointShapes(const Graph& graph,
                        const std::map<std::string, std::vector<OpenAxis>>& groups) {
  InputShapes shapes;
  int64_t times = 2;
  for (const auto& [symbol, group] : groups) {
    for (const OpenAxis& axis : group) {
      for (const Binding& input : graph.inputs()) {
        if (input.name != axis.input) continue;
        const Shape& now = graph.var(input.var).type.shape;
        shapes.try_emplace(input.name, now).first->second[axis.axis] = times * now[axis.axis];
      }
    }
    ++times;
  }
  return shapes;
}

}  // namespace

std::vector<FixedAxis> FixedByWriting(const Graph& graph, const FileAxes& axes, MakeOnnx make,
                                      ReadAtShapes read) {
  const absl::StatusOr<onnx::ModelProto> model = make(graph);
  if (!model.ok()) return {};  // it is not written, either
  std::vector<OpenAxis> open = AxesOf(graph, axes.open);
  std::erase_if(open, [&](const OpenAxis& axis) { return IsFixed(axes.fixed, axis); });
  return FindFixedAxes(
      graph, open,
      [&](const Graph& inferred, const InputShapes& shapes) -> std::optional<std::string> {
        const absl::StatusOr<onnx::ModelProto> other = make(inferred);
        if (!other.ok()) return "";
        std::optional<std::string> difference = FirstDifference(model->graph(), other->graph());
        if (!difference) return difference;
        const absl::StatusOr<Graph> as_read = read(shapes);
        if (as_read.ok() && HaveSameValues(inferred, *as_read)) difference.reset();
        return difference;
      });
}

void DeclareOpen(const Graph& graph, const FileAxes& axes, MakeOnnx make, onnx::ModelProto& model) {
  std::map<std::string, std::vector<OpenAxis>> groups;  // by symbol
  for (const OpenAxis& axis : axes.open) groups[axis.symbol].push_back(axis);
  std::erase_if(groups, [&](const auto& group) {
    return std::any_of(group.second.begin(), group.second.end(),
                       [&](const OpenAxis& axis) { return IsFixed(axes.fixed, axis); });
  });
  // Broadcasts of two sizes, of which one is 1, may have either: values have symbols only if that
  // is so at sizes that all differ.
  absl::StatusOr<onnx::ModelProto> joint = absl::NotFoundError("no open dimensions");
  const InputShapes shapes = JointShapes(graph, groups);
  const absl::StatusOr<Graph> apart = WithInputShapes(graph, shapes);
  if (apart.ok()) joint = make(*apart);
  for (const auto& [symbol, group] : groups) {
    Sizes sizes = ModelsAtSizes(graph, group, make);
    if (sizes.models.size() <= 1) continue;
    const int64_t joint_size = shapes.at(group[0].input)[group[0].axis];
    Declare(symbol, joint.ok() ? &*joint : nullptr, joint_size, sizes, model);
  }
}

}  // namespace ashlar
