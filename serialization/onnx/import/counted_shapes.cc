// How counts pass through operators that move elements, and that read shapes.
#include <algorithm>

#include "opr/concat.h"
#include "opr/counted.h"
#include "opr/gather.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// Runs a node that moves the axes of input 0's counts; `moved` returns the new one.
template <typename AxisMap>
OnnxVars Moved(OnnxNode& node, OnnxImportFunction run, const AxisMap& moved) {
  const std::vector<OnnxCount> counts = node.counts(node.input(0));
  OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  for (OnnxVar& output : outputs) {
    std::vector<OnnxCount> own;
    for (const OnnxCount& count : counts) own.push_back({count.count, moved(count.axis)});
    output = node.WithCounts(output, std::move(own));
  }
  return outputs;
}

// Returns the elements of input 0 under another shape. Its valid elements are the first ones of
// each block after the axis, and stay so. `axis` of the shape becomes the counted one, and its
// size is computed; the others are given. `asked` is its count as the file computes it.
OnnxVars ReshapedTo(OnnxNode& node, OnnxImportFunction run, std::vector<int64_t> dims, int axis,
                    OnnxVar asked) {
  const OnnxVar x = node.input(0);
  const OnnxCount from = *node.count(x);
  const Shape& shape = node.shape(x);
  const int64_t outer = ElementsBetween(shape, 0, from.axis);
  const int64_t inner = ElementsBetween(shape, from.axis + 1, shape.rank());
  int64_t before = 1, behind = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int>(i) < axis) before *= dims[i];
    if (static_cast<int>(i) > axis) behind *= dims[i];
  }
  const int64_t block = shape[from.axis] * inner;
  if (before != outer || behind < 1 || inner < 1 || (inner % behind != 0 && behind % inner != 0) ||
      block % behind != 0) {
    return node.Unsupported(absl::StrCat("of ", shape.ToString(), ", whose size along axis ",
                                         from.axis, " depends on data"));
  }
  dims[static_cast<size_t>(axis)] = block / behind;
  OnnxVar count = from.count;
  if (inner > behind) count = node.Product(count, node.Integer(inner / behind));
  if (behind > inner) {
    const OnnxVar whole = node.Integer(behind / inner);
    const OnnxVar part = node.Function(F::kTruncDiv, {count, whole});
    // A rest would be lost.
    count = node.Function(F::kTruncDiv, {Checked(node, node.Product(part, whole), count,
                                                 "a number of elements to reshape"),
                                         whole});
  }
  if (asked != kNoOnnxVar) count = Checked(node, count, asked, "a size to reshape to");
  if (node.num_inputs() > 1) node.SetInput(1, node.IntVector(dims));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], {count, axis})) : OnnxVars(kNoOnnxVar);
}

}  // namespace

OnnxVars CountedShape(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const std::vector<OnnxCount> counts = node.counts(x);
  const OnnxVar most = run(node)[0];
  if (!node.ok() || counts.empty()) return most;
  const int64_t rank = node.rank(x), length = node.shape(most)[0];
  int64_t start = node.Int("start", 0);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  const HostTensor known = *node.constant(most);
  std::vector<int64_t> least = IntegersOf(known);
  std::vector<OnnxVar> parts;
  for (int64_t i = 0; i < length; ++i) {
    OnnxVar size = node.IntVector({known.IntegerAt(i)});
    for (const OnnxCount& count : counts) {
      if (count.axis != start + i) continue;
      size = node.Reshaped(count.count, {1});
      least[static_cast<size_t>(i)] = 0;
    }
    parts.push_back(size);
  }
  if (least == IntegersOf(known)) return most;
  const OnnxVar shape = parts.size() == 1 ? parts[0] : node.Add<Concat>({0}, parts);
  node.SetRange(shape,
                {HostTensor::FromValues<int64_t>(DType::kInt64, known.shape(), least), known});
  return shape;
}

OnnxVars CountedSize(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  const OnnxVar most = run(node)[0];
  if (!node.ok() || count == nullptr) return most;
  const Shape& shape = node.shape(x);
  const int64_t others = ElementsBetween(shape, 0, count->axis) *
                         ElementsBetween(shape, count->axis + 1, shape.rank());
  const OnnxVar size = node.Product(count->count, node.Integer(others));
  if (node.ok() && node.constant(size) == nullptr) {
    node.SetRange(size, {HostTensor::Zeros(DType::kInt64, {}), *node.constant(most)});
  }
  return size;
}

OnnxVars CountedReshape(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  if (node.version() < 5) {
    RefuseCounts(node, 0);
    return run(node);
  }
  RefuseCounts(node, 1);
  if (!node.ok()) return kNoOnnxVar;
  AskedShape asked = AskedFor(node, 1, 1);
  const int open = asked.open.empty() ? -1 : asked.open[0].axis;
  const OnnxCount* const count = node.count(x);
  if (!node.ok()) return kNoOnnxVar;
  if (count == nullptr) {
    if (open >= 0) return node.Unsupported("to a size that depends on data");
    node.SetInput(1, node.IntVector(asked.dims));
    return run(node);
  }
  const bool allow_zero = node.Int("allowzero", 0) != 0;
  int axis = open, deduced = -1;
  for (size_t i = 0; i < asked.dims.size(); ++i) {
    const int at = static_cast<int>(i);
    if (asked.dims[i] == -1) deduced = at;
    if (asked.dims[i] != 0 || allow_zero || at == open) continue;
    if (at >= node.rank(x)) return node.Invalid("a dimension is to be copied that the input lacks");
    asked.dims[i] = node.shape(x)[at];
    if (at == count->axis) axis = at;
  }
  if (axis < 0) axis = deduced;
  if (axis < 0) return node.Unsupported("to a size that is known, of one that depends on data");
  if (deduced >= 0 && deduced != axis) {
    // The others are as they are with the most elements.
    int64_t known = 1;
    for (size_t i = 0; i < asked.dims.size(); ++i) {
      if (static_cast<int>(i) != deduced) known *= asked.dims[i];
    }
    const int64_t size = node.shape(x).num_elements();
    if (known < 1 || size % known != 0) return node.Unsupported("-1 cannot be deduced");
    asked.dims[static_cast<size_t>(deduced)] = size / known;
  }
  return ReshapedTo(node, run, std::move(asked.dims), axis,
                    open >= 0 ? asked.open[0].count : kNoOnnxVar);
}

OnnxVars CountedFlatten(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const Shape& shape = node.shape(x);
  int64_t at = node.Int("axis", 1);
  if (at < 0) at += shape.rank();
  if (at < 0 || at > shape.rank()) return run(node);  // reports it
  const int split = static_cast<int>(at);
  return ReshapedTo(node, run,
                    {ElementsBetween(shape, 0, split), ElementsBetween(shape, split, shape.rank())},
                    count->axis < split ? 0 : 1, kNoOnnxVar);
}

namespace {

// Returns the axes that Squeeze and Unsqueeze name; none if they are not given.
std::vector<int64_t> AxesOf(OnnxNode& node) {
  if (node.version() < 13) return node.Ints("axes");
  return node.has(1) ? node.KnownInts(1, "axes") : std::vector<int64_t>();
}

}  // namespace

OnnxVars CountedSqueeze(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const std::vector<int64_t> axes = AxesOf(node);
  int before = 0;  // axes that are dropped before the count's
  for (const int64_t axis : axes) {
    const int normal = node.Axis(axis, node.rank(x));
    if (normal == count->axis) return node.Unsupported("the size of the axis depends on data");
    before += normal < count->axis;
  }
  for (int axis = 0; axes.empty() && axis < node.rank(x); ++axis) {
    if (axis == count->axis && node.shape(x)[axis] == 1) {
      return node.Unsupported("the size of an axis depends on data");
    }
    before += axis < count->axis && node.shape(x)[axis] == 1;
  }
  return Moved(node, run, [&](int axis) { return axis - before; });
}

OnnxVars CountedUnsqueeze(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const std::vector<int64_t> axes = AxesOf(node);
  const int rank = node.rank(x) + static_cast<int>(std::min<size_t>(axes.size(), Shape::kMaxRank));
  std::vector<bool> added(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) added[static_cast<size_t>(node.Axis(axis, rank))] = true;
  if (!node.ok()) return kNoOnnxVar;
  return Moved(node, run, [&](int axis) {
    int place = 0;
    for (int left = axis; place < rank; ++place) {
      if (added[static_cast<size_t>(place)]) continue;
      if (left-- == 0) break;
    }
    return place;
  });
}

OnnxVars CountedTranspose(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const int rank = node.rank(x);
  std::vector<int64_t> perm = node.Ints("perm");
  if (perm.empty()) {
    for (int axis = rank - 1; axis >= 0; --axis) perm.push_back(axis);
  }
  std::vector<int> places(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < perm.size(); ++i) {
    const int64_t from = perm[i] < 0 ? perm[i] + rank : perm[i];
    if (from < 0 || from >= rank) return run(node);  // reports it
    places[static_cast<size_t>(from)] = static_cast<int>(i);
  }
  return Moved(node, run, [&](int axis) { return places[static_cast<size_t>(axis)]; });
}

OnnxVars CountedConcat(OnnxNode& node, OnnxImportFunction run) {
  const int given = static_cast<int>(node.num_inputs());
  std::vector<OnnxVar> inputs;
  for (int i = 0; i < given; ++i) inputs.push_back(node.input(i));
  if (!node.ok()) return kNoOnnxVar;
  int along = -1;
  for (const OnnxVar input : inputs) {
    const OnnxCount* const count = node.count(input);
    if (count == nullptr) continue;
    if (along >= 0 && count->axis != along) {
      return node.Unsupported("sizes of two axes depend on data");
    }
    along = count->axis;
  }
  if (along < 0) return run(node);
  const int axis = node.Axis(node.Int("axis", node.version() < 4 ? 1 : 0), node.rank(inputs[0]));
  if (!node.ok()) return kNoOnnxVar;
  if (axis != along) {  // the sizes along the other axis are one size
    OnnxVar agreed = CountAlong(node, inputs[0], along);
    int64_t size = node.shape(inputs[0])[along];
    for (const OnnxVar input : inputs) {
      agreed = Checked(node, agreed, CountAlong(node, input, along), "a size to join");
      size = std::min(size, node.shape(input)[along]);
    }
    for (int i = 0; i < given; ++i) node.SetInput(i, FirstPlaces(node, inputs[i], along, size));
    const OnnxVars outputs = run(node);
    return node.ok() ? OnnxVars(node.Counted(outputs[0], {agreed, along})) : OnnxVars(kNoOnnxVar);
  }
  if (given == 1) return run(node);
  // Takes the valid places of the whole.
  std::vector<OnnxVar> flags;
  int64_t size = 0;
  bool only_last = true;
  OnnxVar sum = node.Integer(0);
  for (int i = 0; i < given; ++i) {
    const OnnxVar input = inputs[i];
    const int64_t own = node.shape(input)[along];
    std::optional<HostTensor> ones = node.NewTensor(DType::kInt64, {own});
    if (!ones) return kNoOnnxVar;
    for (int64_t at = 0; at < own; ++at) ones->SetInteger(at, 1);
    OnnxVar flag = node.Constant(*std::move(ones));
    if (const OnnxCount* const count = node.count(input)) {
      only_last = only_last && i + 1 == given;
      flag = Filled(node, node.Counted(flag, {count->count, 0}), 0);
    }
    flags.push_back(flag);
    size += own;
    sum = node.Sum(sum, CountAlong(node, input, along));
  }
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  if (only_last || size == 0) return node.Counted(outputs[0], {sum, along});
  const OnnxVar places = PlacesOf(node, node.Add<Concat>({0}, flags), size);
  const OnnxVar row = node.Reshaped(places, {size});
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar count = CountAlong(node, places, 1);
  const OnnxVar indices = Within(node, node.Counted(row, {count, 0}), node.Integer(size));
  return node.Counted(node.Add<Gather>({along}, {outputs[0], indices}), {count, along});
}

OnnxVars CountedSplit(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.ok() ? node.count(x) : nullptr;
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(node.Int("axis", 0), node.rank(x));
  const bool one_part =
      node.has(1) && node.rank(node.input(1)) == 1 && node.shape(node.input(1))[0] == 1;
  if (node.ok() && one_part && node.range(node.input(1)) != nullptr) {
    // The whole, of a size that is checked.
    const OnnxVar size = Checked(node, CountAlong(node, x, axis), ElementOf(node, node.input(1), 0),
                                 "a size to split");
    return node.ok() ? OnnxVars(node.Counted(x, {size, axis})) : OnnxVars(kNoOnnxVar);
  }
  RefuseCounts(node, 1);
  if (!node.ok() || count == nullptr) return run(node);
  if (axis == count->axis) return node.Unsupported("the size to split depends on data");
  return Moved(node, run, [](int axis) { return axis; });
}

}  // namespace ashlar
