#include "serialization/fixed_axes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/stored_tensor.h"
#include "serialization/same_values.h"

namespace ashlar {
namespace {

constexpr int kMostCompared = 200;  // further changes count as refused

bool SameConstant(const HostTensor& a, const HostTensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return !a.has_data() || !b.has_data() || HaveSameBytes(a, b);
}

bool SameNode(const Graph& a, const OperatorNode& x, const Graph& b, const OperatorNode& y) {
  if (x.op->type() != y.op->type() || x.inputs != y.inputs || x.outputs != y.outputs) return false;
  if ((x.constant == nullptr) != (y.constant == nullptr)) return false;
  if (x.constant != nullptr && !SameConstant(*x.constant, *y.constant)) return false;
  if (x.constant == nullptr && ToString(x.op->params()) != ToString(y.op->params())) return false;
  return a.OutputTypes(x) == b.OutputTypes(y);
}

// Returns the name of the operator that a user knows: a constant's first reader, an output's
// producer.
std::string NameOf(const Graph& graph, const OperatorNode& node) {
  const OperatorNode* named = &node;
  if (node.constant != nullptr && !graph.readers(node.outputs[0]).empty()) {
    named = &graph.node(graph.readers(node.outputs[0])[0]);
  }
  if (named->op->role() == Role::kOutput) named = &graph.node(graph.var(named->inputs[0]).producer);
  return named->name;
}

// Returns the name of the first operator that differs.
std::optional<std::string> FirstDifference(const Graph& a, const Graph& b) {
  const size_t count = std::min(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < count; ++i) {
    const OperatorNode& node = a.node(static_cast<int>(i));
    if (!SameNode(a, node, b, b.node(static_cast<int>(i)))) return NameOf(a, node);
  }
  if (a.nodes().size() == b.nodes().size()) return std::nullopt;
  const Graph& longer = count < a.nodes().size() ? a : b;
  return NameOf(longer, longer.node(static_cast<int>(count)));
}

// Returns groups of dimensions that may have to change together: with the same symbol (or each
// without one), with the same index, and all.
std::vector<std::vector<OpenAxis>> GroupsOf(const std::vector<OpenAxis>& open) {
  std::map<std::pair<int, std::string>, std::vector<OpenAxis>> groups;  // by kind and key
  int unnamed = 0;
  for (const OpenAxis& axis : open) {
    const bool named = !axis.symbol.empty();
    groups[{named ? 1 : 0, named ? axis.symbol : absl::StrCat(unnamed++)}].push_back(axis);
    groups[{2, absl::StrCat(axis.axis)}].push_back(axis);
    groups[{3, ""}].push_back(axis);
  }
  std::vector<std::vector<OpenAxis>> in_order;
  for (auto& [key, group] : groups) in_order.push_back(std::move(group));
  return in_order;
}

// Whether the first of the inputs has more elements than now.
bool AreLarger(const Graph& graph, const InputShapes& shapes) {
  const auto& [input, shape] = *shapes.begin();
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [&, &input = input, &shape = shape](const Binding& binding) {
                       return binding.name == input &&
                              shape.num_elements() >
                                  graph.var(binding.var).type.shape.num_elements();
                     });
}

}  // namespace

std::vector<OpenAxis> AxesOf(const Graph& graph, const std::vector<OpenAxis>& named) {
  std::vector<OpenAxis> axes;
  for (const Binding& input : graph.inputs()) {
    const int rank = graph.var(input.var).type.shape.rank();
    for (int axis = 0; axis < rank; ++axis) axes.push_back({input.name, axis});
  }
  for (OpenAxis& axis : axes) {
    for (const OpenAxis& other : named) {
      if (other.input == axis.input && other.axis == axis.axis) axis.symbol = other.symbol;
    }
  }
  return axes;
}

std::vector<InputShapes> SampledShapes(const Graph& graph, const std::vector<OpenAxis>& axes) {
  // A size n becomes n * times / over + plus.
  static constexpr struct {
    int64_t times, over, plus;
  } kSamples[] = {{2, 1, 0}, {2, 1, 1},  {1, 1, 1}, {1, 1, 2}, {1, 1, 3},
                  {3, 1, 2}, {1, 1, -1}, {1, 2, 0}, {0, 1, 1}};
  std::vector<InputShapes> samples;
  for (const auto& [times, over, plus] : kSamples) {
    InputShapes shapes;
    bool changes = false, exists = true;
    for (const OpenAxis& axis : axes) {
      for (const Binding& input : graph.inputs()) {
        const Shape& now = graph.var(input.var).type.shape;
        if (input.name != axis.input || axis.axis >= now.rank() || now[axis.axis] == 0) continue;
        const int64_t size = now[axis.axis] * times / over + plus;
        shapes.try_emplace(input.name, now).first->second[axis.axis] = size;
        changes = changes || size != now[axis.axis];
        exists = exists && size > 0;
      }
    }
    if (changes && exists && std::find(samples.begin(), samples.end(), shapes) == samples.end()) {
      samples.push_back(std::move(shapes));
    }
  }
  return samples;
}

std::vector<FixedAxis> FindFixedAxes(const Graph& graph, const std::vector<OpenAxis>& open,
                                     DifferenceAtShapes difference_at) {
  std::vector<FixedAxis> fixed;
  std::set<std::pair<std::string, int>> known, changed;  // dimensions in `fixed`, and open ones
  const auto left = [&](const OpenAxis& axis) {
    const auto key = std::make_pair(axis.input, axis.axis);
    return !known.contains(key) && !changed.contains(key);
  };
  const auto fix = [&](const OpenAxis& axis, const std::string& node) {
    if (known.insert({axis.input, axis.axis}).second) {
      fixed.push_back({axis.input, axis.axis, node});
    }
  };
  std::vector<std::vector<OpenAxis>> tried;
  int compared = 0;
  const auto change = [&](std::vector<OpenAxis> group) {
    std::erase_if(group, [&](const OpenAxis& axis) {
      return known.contains({axis.input, axis.axis});
    });
    if (std::find(tried.begin(), tried.end(), group) != tried.end()) return;
    tried.push_back(group);
    bool same = false;
    std::optional<std::string> difference;
    for (const InputShapes& shapes : SampledShapes(graph, group)) {
      const absl::StatusOr<Graph> inferred = WithInputShapes(graph, shapes);
      if (!inferred.ok() || difference) continue;
      difference = std::string();
      if (++compared <= kMostCompared) difference = difference_at(*inferred, shapes);
      // A model that takes only a little less, as its layers round up, is not open.
      same = same || (!difference && AreLarger(graph, shapes));
    }
    for (const OpenAxis& axis : group) {
      if (difference) {
        fix(axis, *difference);
      } else if (same) {
        changed.insert({axis.input, axis.axis});
      }
    }
  };
  for (std::vector<OpenAxis>& group : GroupsOf(open)) change(std::move(group));
  for (size_t i = 0; i < open.size(); ++i) {
    for (size_t j = i + 1; j < open.size() && left(open[i]); ++j) {
      if (left(open[j])) change({open[i], open[j]});
    }
  }
  for (const OpenAxis& axis : open) {
    if (left(axis)) fix(axis, "");
  }
  return fixed;
}

std::vector<FixedAxis> FixedByReading(const Graph& graph, const std::vector<OpenAxis>& open,
                                      ReadAtShapes read) {
  return FindFixedAxes(
      graph, open,
      [&](const Graph& inferred, const InputShapes& shapes) -> std::optional<std::string> {
        const absl::StatusOr<Graph> as_read = read(shapes);
        // A file that takes no smaller sizes has no other values for them.
        if (!as_read.ok()) return AreLarger(graph, shapes) ? std::optional("") : std::nullopt;
        std::optional<std::string> difference = FirstDifference(inferred, *as_read);
        // An operator without effect at this size is left out.
        if (difference && HaveSameValues(inferred, *as_read)) difference.reset();
        return difference;
      });
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
        ", which was fixed when the file was written; write it again from its source at this "
        "shape"));
  }
  return absl::OkStatus();
}

std::string ToText(const FixedAxis& axis) {
  return absl::StrCat(axis.axis, "\n", absl::CEscape(axis.input), "\n", absl::CEscape(axis.node));
}

absl::StatusOr<FixedAxis> ParseFixedAxis(absl::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  FixedAxis axis;
  if (lines.size() == 3 && absl::SimpleAtoi(lines[0], &axis.axis) && axis.axis >= 0) {
    if (!absl::CUnescape(lines[1], &axis.input)) axis.input = lines[1];
    if (!absl::CUnescape(lines[2], &axis.node)) axis.node = lines[2];
    return axis;
  }
  return absl::InvalidArgumentError("a fixed dimension is not an axis, an input and a node");
}

}  // namespace ashlar
