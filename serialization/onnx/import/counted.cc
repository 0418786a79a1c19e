#include "serialization/onnx/import/counted.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "opr/counted.h"
#include "opr/subtensor.h"

namespace ashlar {

using F = ScalarFunction;

OnnxVar CountAlong(OnnxNode& node, OnnxVar var, int axis) {
  const OnnxCount* const count = node.count(var);
  if (count != nullptr && count->axis == axis) return count->count;
  return node.Integer(node.shape(var)[axis]);
}

OnnxVar Checked(OnnxNode& node, OnnxVar count, OnnxVar other, const std::string& what,
                bool at_most) {
  if (!node.ok() || count == other) return count;
  // Without the guard, it is compared with itself.
  if (const OnnxVar guard = node.guard(); guard != kNoOnnxVar) {
    other = node.Sum(count, node.Product(node.Difference(other, count), guard));
  }
  return node.Add<CheckCount>({at_most, what}, {count, other});
}

namespace {

// Returns 1 at places before the count and 0 after it, of a shape that broadcasts to the var's.
OnnxVar Valid(OnnxNode& node, OnnxVar var, const OnnxCount& count) {
  std::vector<int64_t> along(static_cast<size_t>(node.rank(var)), 1);
  along[static_cast<size_t>(count.axis)] = node.shape(var)[count.axis];
  std::optional<HostTensor> places = node.NewTensor(DType::kInt64, along);
  if (!places) return kNoOnnxVar;
  for (int64_t i = 0; i < places->num_elements(); ++i) places->SetInteger(i, i);
  return node.Function(F::kLess, {node.Constant(*std::move(places)), count.count});
}

}  // namespace

OnnxVar Filled(OnnxNode& node, OnnxVar var, double value) {
  const std::vector<OnnxCount> counts = node.counts(var);
  const DType dtype = node.dtype(var);
  for (const OnnxCount& count : counts) {
    if (!node.ok()) return var;
    const OnnxVar valid = Valid(node, var, count);
    if (dtype == DType::kBool) {  // no kernel chooses between them
      var = node.Converted(node.Product(node.Converted(var, DType::kInt64), valid), dtype);
    } else {
      var =
          node.Function(F::kSelect, {node.Converted(valid, dtype), var, node.Scalar(value, dtype)});
    }
  }
  return var;
}

OnnxVar FirstPlaces(OnnxNode& node, OnnxVar var, int axis, int64_t size) {
  if (!node.ok() || node.shape(var)[axis] == size) return var;
  return node.Add<Subtensor>(
      {{axis}, {1}, {1}, {1}, {0}},
      {var, node.IntVector({0}), node.IntVector({size}), node.IntVector({1})});
}

OnnxVar ElementOf(OnnxNode& node, OnnxVar vector, int64_t i) {
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar one = node.rank(vector) == 0 ? vector
                                             : node.Add<Subtensor>({{0}, {0}, {0}, {0}, {1}},
                                                                   {vector, node.IntVector({i})});
  return node.Converted(one, DType::kInt64);
}

OnnxVar Within(OnnxNode& node, OnnxVar indices, OnnxVar count) {
  if (!node.ok()) return kNoOnnxVar;
  const OnnxCount* const own = node.count(indices);
  // Without the guard, all indices are 0, of one element.
  if (const OnnxVar guard = node.guard(); guard != kNoOnnxVar) {
    indices = node.Product(indices, node.Converted(guard, node.dtype(indices)));
    count = node.Sum(node.Product(node.Sum(count, -1), guard), 1);
  }
  if (own == nullptr) return node.Add<IndicesWithin>({-1}, {indices, count});
  return node.Add<IndicesWithin>({own->axis}, {indices, count, own->count});
}

OnnxVar PlacesOf(OnnxNode& node, OnnxVar flags, int64_t at_most) {
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVars found =
      node.AddOperator(std::make_shared<const NonZero>(NonZeroParam{at_most}), {flags});
  return node.ok() ? node.Counted(found[0], {found[1], 1}) : kNoOnnxVar;
}

OnnxVar Truth(OnnxNode& node, OnnxVar condition) {
  return node.Converted(node.Reshaped(condition, {}), DType::kInt64);
}

OnnxVar EitherOf(OnnxNode& node, OnnxVar condition, OnnxVar a, OnnxVar b) {
  const DType dtype = node.dtype(a);
  const int rank = node.rank(a);
  if (dtype != node.dtype(b) || rank != node.rank(b)) {
    return node.Unsupported("the branches differ in dtype or rank");
  }
  if (IsQuantized(dtype)) return node.Unsupported("the branches are quantised");
  int along = -1;
  for (const OnnxVar var : {a, b}) {
    if (node.counts(var).size() > 1) return node.Unsupported("sizes of two axes depend on data");
    if (const OnnxCount* const count = node.count(var)) {
      if (along >= 0 && along != count->axis) return node.Unsupported("sizes of two axes differ");
      along = count->axis;
    }
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (axis == along || node.shape(a)[axis] == node.shape(b)[axis]) continue;
    if (along >= 0) return node.Unsupported("the branches differ in the sizes of two axes");
    along = axis;
  }
  const auto choose = [&](OnnxVar one, OnnxVar other) {
    const DType of = node.dtype(one) == DType::kBool ? DType::kInt64 : node.dtype(one);
    return node.Converted(
        node.Function(F::kSelect, {node.Converted(node.Reshaped(condition, {}), of),
                                   node.Converted(one, of), node.Converted(other, of)}),
        node.dtype(one));
  };
  if (along < 0) return choose(a, b);
  const int64_t size = std::max(node.shape(a)[along], node.shape(b)[along]);
  const auto grown = [&](OnnxVar var) {
    Shape shape = node.shape(var);
    if (shape.num_elements() > 0) return node.Padded(var, along, 0, size - shape[along]);
    shape[along] = size;
    std::optional<HostTensor> fill = node.NewTensor(dtype, shape.dims());
    return fill ? node.Constant(*std::move(fill)) : kNoOnnxVar;
  };
  const OnnxVar count = choose(CountAlong(node, a, along), CountAlong(node, b, along));
  return node.ok() ? node.Counted(choose(grown(a), grown(b)), {count, along}) : kNoOnnxVar;
}

void RefuseCounts(OnnxNode& node, int first) {
  for (int i = first; i < node.num_inputs(); ++i) {
    if (node.has(i) && node.count(node.inputs()[static_cast<size_t>(i)]) != nullptr) {
      node.Unsupported(absl::StrCat("the size of input ", i, " depends on data"));
    }
  }
}

void RefuseOutputs(OnnxNode& node, int first) {
  for (int i = first; i < node.num_outputs(); ++i) {
    if (node.has_output(i)) {
      node.Unsupported(absl::StrCat("output ", i, " of an input whose size depends on data"));
    }
  }
}

namespace {

// An input of a function of elements.
struct CountedInput {
  int index = 0;  // of the node
  OnnxVar var = kNoOnnxVar;
  std::vector<OnnxCount> counts;
  int shift = 0;  // axis of the result - axis of the input
  const OnnxCount* CountOf(int axis) const {
    for (const OnnxCount& count : counts) {
      if (count.axis + shift == axis) return &count;
    }
    return nullptr;
  }
};

// Makes the sizes of all inputs along an axis of the result agree, and returns the count. All but
// known sizes of 1 must be equal in the run.
OnnxCount Agreed(OnnxNode& node, const std::vector<CountedInput>& inputs, int axis) {
  OnnxVar agreed = kNoOnnxVar;
  int64_t size = 0;
  for (const bool with_count : {true, false}) {
    for (const CountedInput& input : inputs) {
      const int own = axis - input.shift;
      const OnnxCount* const counted = input.CountOf(axis);
      if ((counted != nullptr) != with_count || own < 0) continue;
      const int64_t most = node.shape(input.var)[own];
      if (!with_count && most == 1) continue;
      const OnnxVar count = with_count ? counted->count : node.Integer(most);
      size = agreed == kNoOnnxVar ? most : std::min(size, most);
      agreed = agreed == kNoOnnxVar ? count : Checked(node, agreed, count, "a size");
    }
  }
  for (const CountedInput& input : inputs) {
    const int own = axis - input.shift;
    if (own < 0 || !node.ok()) continue;
    const int64_t most = node.shape(input.var)[own];
    if (input.CountOf(axis) != nullptr) {
      node.SetInput(input.index, FirstPlaces(node, node.input(input.index), own, size));
    } else if (most != 1 && most != size) {
      node.Unsupported(absl::StrCat("size ", most, " meets at most ", size));
    }
  }
  return {agreed, axis};
}

}  // namespace

OnnxVars CountedElements(OnnxNode& node, OnnxImportFunction run) {
  RefuseOutputs(node, 1);
  int rank = 0;
  std::vector<CountedInput> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.has(i)) continue;
    const OnnxVar var = node.input(i);
    if (!node.ok()) return kNoOnnxVar;
    inputs.push_back({i, var, node.counts(var)});
    rank = std::max(rank, node.rank(var));
  }
  std::set<int> axes;  // of the result
  for (CountedInput& input : inputs) {
    input.shift = rank - node.rank(input.var);
    for (const OnnxCount& count : input.counts) axes.insert(count.axis + input.shift);
  }
  if (axes.empty()) return run(node);
  if (node.num_inputs() > 1 && node.version() < 7) {
    return node.Unsupported("of inputs whose sizes depend on data, below operator set 7");
  }
  std::vector<OnnxCount> counts;
  for (const int axis : axes) counts.push_back(Agreed(node, inputs, axis));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.WithCounts(outputs[0], std::move(counts)))
                   : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedBatch(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  RefuseOutputs(node, 1);
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  if (count->axis != 0) return node.Unsupported("a size of an image depends on data");
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(outputs[0]) == 0 || node.shape(outputs[0])[0] != node.shape(x)[0]) {
    return node.Unsupported("the size of input 0 depends on data");
  }
  return node.Counted(outputs[0], *count);
}

OnnxVars CountedAlong(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  RefuseOutputs(node, 1);
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const int axis = node.Axis(node.Int("axis", node.version() < 13 ? 1 : -1), node.rank(x));
  const bool alone = node.version() < 13 || node.type() == "LayerNormalization"
                         ? count->axis < axis
                         : count->axis != axis;
  if (!alone) return node.Unsupported("the size along its axis depends on data");
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], *count)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedProduct(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0), by = node.input(1);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const bool rows = count->axis < node.rank(x) - 1 && node.rank(by) == 2;
  bool added_rows = false;  // a third input with a row for each of x
  if (node.has(2)) {
    const Shape& third = node.shape(node.input(2));
    added_rows = third.rank() == 2 && third[0] != 1;
  }
  if (!rows || added_rows || node.Int("transA", 0) != 0) {
    return node.Unsupported("of other inputs than rows whose number depends on data, by a matrix");
  }
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], *count)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedTopK(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(node.Int("axis", -1), node.rank(x));
  const bool largest = node.Int("largest", 1) != 0;
  const OnnxCount* const found = node.count(x);
  const std::optional<OnnxCount> along = found != nullptr ? std::optional(*found) : std::nullopt;
  OnnxVar k = kNoOnnxVar;
  if (node.version() >= 10) {
    k = node.input(1);
    const OnnxRange* const range = node.range(k);
    if (range != nullptr) {
      HostTensor most = range->most;
      // More than there are is an error of the run.
      if (most.num_elements() == 1) {
        most.SetInteger(0, std::min(most.IntegerAt(0), node.shape(x)[axis]));
      }
      node.SetInput(1, node.Constant(std::move(most)));
      k = ElementOf(node, k, 0);
    } else if (node.ok() && node.constant(k) == nullptr) {  // any data
      if (node.type_of(k).shape.num_elements() != 1) return node.Invalid("k is not one number");
      const int64_t most = node.Bound(node.shape(x)[axis]);
      node.SetInput(1, node.IntVector({most}));
      k = Checked(node, ElementOf(node, k, 0), node.Integer(most),
                  node.has_bound() ? "k (--bound)" : "k", true);
    } else {
      k = node.Integer(node.KnownInteger(1, "k"));
    }
  } else {
    k = node.Integer(node.Int("k", 0));
  }
  if (!node.ok()) return kNoOnnxVar;
  if (along && along->axis == axis) {
    // Fill comes last: it loses against every number, and against equal ones by its index. NaN is
    // the greatest.
    const double last = IsFloat(node.dtype(x)) ? std::nan("") : kInfinity;
    node.SetInput(0, Filled(node, x, largest ? -kInfinity : last));
  }
  k = Checked(node, k, CountAlong(node, x, axis), "k", true);
  OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  if (along && along->axis != axis) {
    if (node.constant(k) == nullptr) return node.Unsupported("sizes of two axes depend on data");
    for (OnnxVar& output : outputs) output = node.Counted(output, *along);
  } else if (node.constant(k) == nullptr) {
    for (OnnxVar& output : outputs) output = node.Counted(output, {k, axis});
  }
  return outputs;
}

OnnxVars CountedPoints(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0), points = node.input(1);
  const OnnxCount* const count = node.count(points);
  if (!node.ok()) return kNoOnnxVar;
  if (node.count(x) != nullptr) return node.Unsupported("the size of input 0 depends on data");
  if (count == nullptr) return run(node);  // an input is within a range
  const int last = node.rank(points) - 1;
  if (count->axis == 0 || count->axis == last) {
    return node.Unsupported("of images or coordinates whose number depends on data");
  }
  const OnnxCount moved = {count->count, count->axis + 1};  // after the channels
  node.SetInput(1, Filled(node, points, 0));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], moved)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedBoxes(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0), boxes = node.input(1), images = node.input(2);
  if (!node.ok()) return kNoOnnxVar;
  if (node.count(x) != nullptr) return node.Unsupported("the size of input 0 depends on data");
  const int64_t size = std::min(node.shape(boxes)[0], node.shape(images)[0]);
  const OnnxVar count =
      Checked(node, CountAlong(node, boxes, 0), CountAlong(node, images, 0), "the number of boxes");
  node.SetInput(1, FirstPlaces(node, Filled(node, boxes, 0), 0, size));
  node.SetInput(2, FirstPlaces(node, Filled(node, images, 0), 0, size));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], {count, 0})) : OnnxVars(kNoOnnxVar);
}

}  // namespace ashlar
