// How counts pass through operators that move elements, and that read or give shapes.
#include <algorithm>

#include "opr/concat.h"
#include "opr/counted.h"
#include "opr/gather.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// Runs a node that keeps the axis of input 0's count, or moves it.
OnnxVars Moved(OnnxNode& node, OnnxImportFunction run, int axis) {
  const OnnxCount count = *node.count(node.input(0));
  OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  for (OnnxVar& output : outputs) output = node.Counted(output, {count.count, axis});
  return outputs;
}

// The only element of a range that is not known; -1 if all are, nullopt if there are several.
std::optional<int> OpenElement(const OnnxRange& range) {
  int open = -1;
  for (int64_t i = 0; i < range.most.num_elements(); ++i) {
    if (range.least.IntegerAt(i) == range.most.IntegerAt(i)) continue;
    if (open >= 0) return std::nullopt;
    open = static_cast<int>(i);
  }
  return open;
}

std::vector<int64_t> IntegersOf(const HostTensor& tensor) {
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) integers.push_back(tensor.IntegerAt(i));
  return integers;
}

// The shape that input i asks for: the most of each dimension, and the one that depends on data.
struct AskedShape {
  std::vector<int64_t> dims;
  int open = -1;               // -1: none
  OnnxVar count = kNoOnnxVar;  // of `open`
};

AskedShape AskedFor(OnnxNode& node, int i) {
  AskedShape asked;
  const OnnxVar var = node.input(i);
  const OnnxRange* const range = node.ok() ? node.range(var) : nullptr;
  if (range == nullptr) {
    asked.dims = node.KnownInts(i, "the shape");
    return asked;
  }
  const std::optional<int> open = OpenElement(*range);
  if (!open) {
    node.Unsupported("several sizes of its shape depend on data");
    return asked;
  }
  asked.dims = IntegersOf(range->most);
  asked.open = *open;
  if (asked.open >= 0) asked.count = ElementOf(node, var, asked.open);
  return asked;
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
  const OnnxCount* const count = node.count(x);
  const OnnxVar most = run(node)[0];
  if (!node.ok() || count == nullptr) return most;
  const int64_t rank = node.rank(x), length = node.shape(most)[0];
  int64_t start = node.Int("start", 0);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  const int64_t at = count->axis - start;
  if (at < 0 || at >= length) return most;
  const HostTensor known = *node.constant(most);
  const auto part = [&](int64_t begin, int64_t end) {
    return node.IntVector(known.data<int64_t>().subspan(static_cast<size_t>(begin),
                                                        static_cast<size_t>(end - begin)));
  };
  std::vector<OnnxVar> parts;
  if (at > 0) parts.push_back(part(0, at));
  parts.push_back(node.Reshaped(count->count, {1}));
  if (at + 1 < length) parts.push_back(part(at + 1, length));
  const OnnxVar shape = parts.size() == 1 ? parts[0] : node.Add<Concat>({0}, parts);
  std::vector<int64_t> dims = IntegersOf(known);
  dims[static_cast<size_t>(at)] = 0;
  node.SetRange(shape,
                {HostTensor::FromValues<int64_t>(DType::kInt64, known.shape(), dims), known});
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
  AskedShape asked = AskedFor(node, 1);
  const OnnxCount* const count = node.count(x);
  if (!node.ok()) return kNoOnnxVar;
  if (count == nullptr) {
    if (asked.open >= 0) return node.Unsupported("to a size that depends on data");
    node.SetInput(1, node.IntVector(asked.dims));
    return run(node);
  }
  const bool allow_zero = node.Int("allowzero", 0) != 0;
  int axis = asked.open, deduced = -1;
  for (size_t i = 0; i < asked.dims.size(); ++i) {
    const int at = static_cast<int>(i);
    if (asked.dims[i] == -1) deduced = at;
    if (asked.dims[i] != 0 || allow_zero || at == asked.open) continue;
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
  return ReshapedTo(node, run, std::move(asked.dims), axis, asked.count);
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
  return Moved(node, run, count->axis - before);
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
  int place = 0;
  for (int left = count->axis; place < rank; ++place) {
    if (added[static_cast<size_t>(place)]) continue;
    if (left-- == 0) break;
  }
  return Moved(node, run, place);
}

OnnxVars CountedTranspose(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar x = node.input(0);
  const OnnxCount* const count = node.count(x);
  if (!node.ok() || count == nullptr) return run(node);
  const int rank = node.rank(x);
  const std::vector<int64_t> perm = node.Ints("perm");
  int place = perm.empty() ? rank - 1 - count->axis : -1;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] == count->axis || perm[i] + rank == count->axis) place = static_cast<int>(i);
  }
  return place < 0 ? run(node) : Moved(node, run, place);
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
  return Moved(node, run, count->axis);
}

OnnxVars CountedExpand(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  AskedShape asked = AskedFor(node, 1);
  const OnnxCount* const count = node.count(x);
  if (!node.ok()) return kNoOnnxVar;
  const int rank = std::max(node.rank(x), static_cast<int>(asked.dims.size()));
  const int shift = rank - node.rank(x), moved = rank - static_cast<int>(asked.dims.size());
  std::optional<OnnxCount> result;
  if (count != nullptr) {
    result = OnnxCount{count->count, count->axis + shift};
    const int at = result->axis - moved;  // of the shape
    const bool fixed = at >= 0 && at != asked.open && asked.dims[static_cast<size_t>(at)] != 1;
    if (fixed || (asked.open >= 0 && at != asked.open)) {
      return node.Unsupported("sizes that depend on data meet other ones");
    }
    if (asked.open >= 0) {
      result->count = Checked(node, count->count, asked.count, "a size to expand");
      const int64_t size =
          std::min(node.shape(x)[count->axis], asked.dims[static_cast<size_t>(at)]);
      node.SetInput(0, FirstPlaces(node, x, count->axis, size));
      asked.dims[static_cast<size_t>(at)] = size;
    }
  } else if (asked.open >= 0) {
    const int own = asked.open + moved - shift;
    if (own >= 0 && node.shape(x)[own] != 1) {
      return node.Unsupported("a size that depends on data meets one that does not");
    }
    result = OnnxCount{asked.count, asked.open + moved};
  }
  node.SetInput(1, node.IntVector(asked.dims));
  const OnnxVars outputs = run(node);
  if (!node.ok() || !result) return node.ok() ? outputs : OnnxVars(kNoOnnxVar);
  return node.Counted(outputs[0], *result);
}

OnnxVars CountedFilling(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 0);
  if (!node.ok()) return kNoOnnxVar;
  const AskedShape asked = AskedFor(node, 0);
  node.SetInput(0, node.IntVector(asked.dims));
  const OnnxVars outputs = run(node);
  if (!node.ok() || asked.open < 0) return node.ok() ? outputs : OnnxVars(kNoOnnxVar);
  return node.Counted(outputs[0], {asked.count, asked.open});
}

OnnxVars CountedNumbers(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 0);
  const double start = node.KnownNumber(0, "start"), delta = node.KnownNumber(2, "delta");
  const OnnxVar limit = node.input(1);
  const OnnxRange* const range = node.ok() ? node.range(limit) : nullptr;
  if (!node.ok()) return kNoOnnxVar;
  if (range == nullptr || IsFloat(node.dtype(limit)) || delta != 1 ||
      range->most.num_elements() != 1) {
    return node.Unsupported("a limit that depends on data, of a step other than 1");
  }
  const OnnxVar end = ElementOf(node, limit, 0);
  const OnnxVar from = node.Integer(static_cast<int64_t>(start));
  const OnnxVar count = node.Function(F::kMax, {node.Difference(end, from), node.Integer(0)});
  node.SetInput(1, node.Constant(range->most));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.Counted(outputs[0], {count, 0})) : OnnxVars(kNoOnnxVar);
}

}  // namespace ashlar
