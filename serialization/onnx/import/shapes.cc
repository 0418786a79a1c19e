// Imports operators that move elements and change shapes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "opr/concat.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

// Returns integers that are an attribute below operator set `since`, and input 1 from it on.
std::optional<std::vector<int64_t>> AttributeOrInput(OnnxNode& node, absl::string_view name,
                                                     int64_t since) {
  if (node.version() < since) {
    if (!node.has_attribute(name)) return std::nullopt;
    return node.Ints(name);
  }
  if (!node.has(1)) return std::nullopt;
  return node.KnownInts(1, name);
}

// Returns which axes of a tensor of this rank are listed; reports an error if one is listed twice.
std::vector<bool> Listed(OnnxNode& node, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> listed(rank, false);
  for (const int64_t given : axes) {
    const int axis = node.Axis(given, rank);
    if (!node.ok()) break;
    if (listed[axis]) node.Invalid(absl::StrCat("axis ", axis, " is listed twice"));
    listed[axis] = true;
  }
  return listed;
}

OnnxVars ImportReshape(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
  std::vector<int64_t> dims = AttributeOrInput(node, "shape", 5).value_or(std::vector<int64_t>());
  const bool allow_zero = node.Int("allowzero", 0) != 0;
  if (!node.ok()) return kNoOnnxVar;
  if (node.version() >= 5 && !node.has(1)) return node.Invalid("input 1 is missing");
  const Shape& from = node.shape(x);
  int64_t known = 1;
  int deduced = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (static_cast<int>(i) >= from.rank()) {
        return node.Invalid(absl::StrCat("dimension ", i, " is to be copied from ", from.ToString(),
                                         ", which lacks it"));
      }
      dims[i] = from[static_cast<int>(i)];
    }
    if (dims[i] == -1) {
      if (deduced >= 0) return node.Invalid("two dimensions are -1");
      deduced = static_cast<int>(i);
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      return node.Invalid(absl::StrCat("dimension ", i, " is ", dims[i]));
    }
  }
  if (deduced >= 0) {
    if (known == 0 || from.num_elements() % known != 0) {
      return node.Invalid(absl::StrCat("-1 cannot be deduced from shape ", from.ToString()));
    }
    dims[deduced] = from.num_elements() / known;
  }
  const absl::StatusOr<Shape> to = Shape::Make(dims);
  if (!to.ok()) return node.Fail(to.status());
  if (to->num_elements() != from.num_elements()) {
    return node.Invalid(absl::StrCat("from ", from.ToString(), " to ", to->ToString()));
  }
  // A first dimension follows the input's if the file copies it, or has its number (which Shape may
  // have computed).
  const bool follows = deduced != 0 && from.rank() > 0 && to->rank() > 0 && (*to)[0] == from[0];
  return follows ? node.Reshaped(x, *to) : node.ReshapedTo(x, *to, deduced);
}

// Reshapes to a matrix: dimensions before the axis by dimensions from it on.
OnnxVars Flatten(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const Shape& from = node.shape(x);
  int64_t axis = node.Int("axis", 1);
  if (axis < 0) axis += from.rank();
  if (axis < 0 || axis > from.rank()) {
    return node.Invalid(absl::StrCat("axis is ", axis, " for rank ", from.rank()));
  }
  Shape to = {1, 1};
  for (int i = 0; i < from.rank(); ++i) to[i < axis ? 0 : 1] *= from[i];
  return axis == 1 ? node.Reshaped(x, to) : node.ReshapedTo(x, to, axis == 0 ? 1 : 0);
}

OnnxVars Squeeze(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const Shape& from = node.shape(x);
  const std::optional<std::vector<int64_t>> axes = AttributeOrInput(node, "axes", 13);
  std::vector<bool> dropped(from.rank(), false);
  if (axes) {
    dropped = Listed(node, *axes, from.rank());
  } else {
    for (int i = 0; i < from.rank(); ++i) dropped[i] = from[i] == 1;
  }
  if (!node.ok()) return kNoOnnxVar;
  Shape to;
  for (int i = 0; i < from.rank(); ++i) {
    if (dropped[i] && from[i] != 1) {
      return node.Invalid(absl::StrCat("dimension ", i, " of ", from.ToString(), " is not 1"));
    }
    if (!dropped[i]) to.push_back(from[i]);
  }
  const bool follows = !dropped.empty() && !dropped[0];
  return follows ? node.Reshaped(x, to) : node.ReshapedTo(x, to, -1);
}

OnnxVars Unsqueeze(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const Shape& from = node.shape(x);
  const std::optional<std::vector<int64_t>> axes = AttributeOrInput(node, "axes", 13);
  if (!node.ok()) return kNoOnnxVar;
  if (!axes) return node.Invalid("axes are missing");
  const size_t grown = static_cast<size_t>(from.rank()) + axes->size();
  if (grown > Shape::kMaxRank) return node.Invalid(absl::StrCat("to a rank of ", grown));
  const int rank = static_cast<int>(grown);
  const std::vector<bool> added = Listed(node, *axes, rank);
  if (!node.ok()) return kNoOnnxVar;
  Shape to;
  int next = 0;
  for (int i = 0; i < rank; ++i) to.push_back(added[i] ? 1 : from[next++]);
  const auto first = std::find(added.begin(), added.end(), false);
  if (first == added.begin()) return node.Reshaped(x, to);
  // Infers the first dimension of x, which is at a later position now.
  const bool all = first == added.end();
  return node.ReshapedTo(x, to, all ? -1 : static_cast<int>(first - added.begin()));
}

OnnxVars Transpose(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int rank = node.rank(x);
  std::vector<int64_t> reversed(rank);
  for (int i = 0; i < rank; ++i) reversed[i] = rank - 1 - i;
  std::vector<int64_t> perm = node.Ints("perm", reversed);
  if (static_cast<int>(perm.size()) != rank) return node.Invalid("perm does not list every axis");
  Listed(node, perm, rank);
  for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
  if (!node.ok()) return kNoOnnxVar;
  return node.Permuted(x, std::move(perm));
}

OnnxVars ImportConcat(OnnxNode& node) {
  const int64_t axis = node.Int("axis", node.version() < 4 ? 1 : 0);
  if (node.version() >= 4 && !node.has_attribute("axis")) return node.Invalid("axis is missing");
  if (node.num_inputs() == 1) return node.input(0);
  for (int i = 0; i < node.num_inputs(); ++i) node.input(i);
  return node.Add<Concat>({axis}, node.inputs());
}

OnnxVars ImportSplit(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int axis = node.Axis(node.Int("axis", 0), node.rank(x));
  // In operator set 1 the sizes are an input or an attribute.
  std::optional<std::vector<int64_t>> sizes;
  if (node.version() < 13 && node.has_attribute("split")) sizes = node.Ints("split");
  if (!sizes && node.has(1)) sizes = node.KnownInts(1, "split");
  const int64_t outputs = node.Int("num_outputs", node.num_outputs());
  if (!node.ok()) return kNoOnnxVar;
  const int64_t size = node.shape(x)[axis];
  if (!sizes) {
    if (outputs < 1 || outputs > std::numeric_limits<int32_t>::max()) {
      return node.Invalid(absl::StrCat("num_outputs is ", outputs));
    }
    const int64_t each = (size + outputs - 1) / outputs;
    sizes.emplace();
    for (int64_t begin = 0, i = 0; i < std::min<int64_t>(outputs, node.num_outputs()); ++i) {
      sizes->push_back(std::clamp<int64_t>(size - begin, 0, each));
      begin += sizes->back();
    }
  } else if (std::any_of(sizes->begin(), sizes->end(),
                         [&](int64_t part) { return part < 0 || part > size; }) ||
             std::accumulate(sizes->begin(), sizes->end(), int64_t{0}) != size) {
    return node.Invalid(absl::StrCat("the sizes of split do not sum to ", size));
  }
  if (sizes->size() == 1) return x;
  return node.AddOperator(std::make_shared<const Split>(SplitParam{axis, *sizes}), {x});
}

OnnxVar Sliced(OnnxNode& node, OnnxVar x, const std::vector<int64_t>& starts,
               const std::vector<int64_t>& ends, const std::vector<int64_t>& given_axes,
               const std::vector<int64_t>& given_steps) {
  std::vector<int64_t> axes = given_axes, steps = given_steps;
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return node.Invalid("starts, ends, axes and steps differ in length");
  }
  const int rank = node.rank(x);
  Listed(node, axes, rank);
  if (!node.ok()) return kNoOnnxVar;
  SubtensorParam param;
  std::vector<OnnxVar> inputs = {x};
  for (size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) return node.Invalid("a step is 0");
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const int64_t size = node.shape(x)[static_cast<int>(axis)];
    const bool forward = steps[i] > 0;
    // Negative bounds count from the end. They are clipped to the last element, or to one before
    // the first. Adding a size to a negative bound cannot overflow.
    const auto bound = [&](int64_t value) {
      const int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
      return std::clamp(value < 0 ? value + size : value, low, std::max(high, low));
    };
    const int64_t begin = bound(starts[i]), end = bound(ends[i]);
    if (forward && begin == 0 && end == size && steps[i] == 1) continue;
    param.axis.push_back(axis);
    for (std::vector<int64_t>* there : {&param.begin, &param.end, &param.step}) {
      there->push_back(1);
    }
    param.idx.push_back(0);
    // -1 would mean the last element.
    inputs.push_back(node.IntVector({begin < 0 ? -size - 1 : begin}));
    inputs.push_back(node.IntVector({end < 0 ? -size - 1 : end}));
    inputs.push_back(node.IntVector({steps[i]}));
  }
  if (param.axis.empty()) return x;
  return node.Add<Subtensor>(std::move(param), std::move(inputs));
}

OnnxVars SliceByAttributes(OnnxNode& node) {
  return Sliced(node, node.input(0), node.Ints("starts"), node.Ints("ends"), node.Ints("axes"), {});
}

OnnxVars Slice(OnnxNode& node) {
  const std::vector<int64_t> starts = node.KnownInts(1, "starts"), ends = node.KnownInts(2, "ends");
  std::vector<int64_t> axes, steps;
  if (node.has(3)) axes = node.KnownInts(3, "axes");
  if (node.has(4)) steps = node.KnownInts(4, "steps");
  if (!node.ok()) return kNoOnnxVar;
  return Sliced(node, node.input(0), starts, ends, axes, steps);
}

OnnxVars ImportExpand(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const absl::StatusOr<Shape> to = Shape::Make(node.KnownInts(1, "the shape"));
  if (!node.ok()) return kNoOnnxVar;
  absl::StatusOr<Shape> both = to;
  if (to.ok()) both = Broadcast(node.shape(x), *to);
  if (!both.ok()) return node.Fail(both.status());
  return node.BroadcastTo(x, *both);
}

// Repeats a dimension by inserting one of size 1 before it, which then grows.
OnnxVar Repeated(OnnxNode& node, OnnxVar x, const std::vector<int64_t>& repeats) {
  const Shape from = node.shape(x);
  Shape split, grown, joined;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (repeats[axis] != 1) {
      split.push_back(1);
      grown.push_back(repeats[axis]);
    }
    split.push_back(from[axis]);
    grown.push_back(from[axis]);
    int64_t size = 0;
    if (__builtin_mul_overflow(from[axis], repeats[axis], &size)) {
      return node.Invalid(absl::StrCat("repeats of dimension ", axis, ": ", repeats[axis]));
    }
    joined.push_back(size);
  }
  for (const Shape* shape : {&split, &grown}) {
    const absl::StatusOr<Shape> checked = Shape::Make(shape->dims());
    if (!checked.ok()) return node.Fail(checked.status());
  }
  return node.Reshaped(node.BroadcastTo(node.Reshaped(x, split), grown), joined);
}

OnnxVars Tile(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  std::vector<int64_t> repeats = node.KnownInts(1, "repeats");
  if (node.version() < 6) {  // one axis
    const int axis = node.Axis(node.KnownInteger(2, "axis"), node.rank(x));
    const int64_t count = repeats.size() == 1 ? repeats[0] : -1;
    repeats.assign(node.rank(x), 1);
    if (node.ok() && !repeats.empty()) repeats[axis] = count;
  }
  if (!node.ok()) return kNoOnnxVar;
  const bool negative =
      std::any_of(repeats.begin(), repeats.end(), [](int64_t r) { return r < 0; });
  if (static_cast<int>(repeats.size()) != node.rank(x) || negative) {
    return node.Invalid("repeats has not one count for each axis");
  }
  return Repeated(node, x, repeats);
}

// Turns blocks of channels into blocks of pixels, or the reverse.
OnnxVars DepthToSpace(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int64_t block = node.Int("blocksize", 0);
  const std::string mode = node.Text("mode", "DCR");
  if (node.rank(x) != 4) return node.Invalid("expected rank 4 (N, C, H, W)");
  const Shape s = node.shape(x);
  if (block < 1 || block > (1 << 20) || s[1] % (block * block) != 0) {
    return node.Invalid(absl::StrCat("blocksize ", block, " for ", s[1], " channels"));
  }
  if (mode != "DCR" && mode != "CRD") {
    return node.Invalid(absl::StrCat("mode is '", mode.substr(0, 64), "'"));
  }
  const int64_t depth = s[1] / (block * block);
  const Shape to = {s[0], depth, s[2] * block, s[3] * block};
  if (mode == "DCR") {
    const OnnxVar split = node.Reshaped(x, {s[0], block, block, depth, s[2], s[3]});
    return node.Reshaped(node.Permuted(split, {0, 3, 4, 1, 5, 2}), to);
  }
  const OnnxVar split = node.Reshaped(x, {s[0], depth, block, block, s[2], s[3]});
  return node.Reshaped(node.Permuted(split, {0, 1, 4, 2, 5, 3}), to);
}

OnnxVars SpaceToDepth(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int64_t block = node.Int("blocksize", 0);
  const bool depth_first = node.Text("mode", "DCR") == "CRD";
  if (node.rank(x) != 4) return node.Invalid("expected rank 4 (N, C, H, W)");
  const Shape s = node.shape(x);
  if (block < 1 || block > (1 << 20) || s[2] % block != 0 || s[3] % block != 0) {
    return node.Invalid(absl::StrCat("blocksize ", block, " for ", s.ToString()));
  }
  const OnnxVar split = node.Reshaped(x, {s[0], s[1], s[2] / block, block, s[3] / block, block});
  const std::vector<int64_t> pattern =
      depth_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  return node.Reshaped(node.Permuted(split, pattern),
                       {s[0], s[1] * block * block, s[2] / block, s[3] / block});
}

constexpr OnnxRow kShapeRows[] = {
    OnnxRow("Concat", 1, OnnxRow::kAny, ImportConcat).Counted(CountedConcat).Rising(),
    OnnxRow("DepthToSpace", 1, 1, DepthToSpace),
    OnnxRow("Expand", 2, 2, ImportExpand)
        .CountedTwice(CountedExpand)
        .Bounded()
        .Rising()
        .Limits("to a shape known, of counts, or bounded"),
    OnnxRow("Flatten", 1, 1, Flatten).Counted(CountedFlatten).Rising(),
    OnnxRow("Reshape", 1, 2, ImportReshape)
        .Counted(CountedReshape)
        .Rising()
        .Limits("to a shape known before the run"),
    OnnxRow("Slice", 1, 1, SliceByAttributes).Until(9).Counted(CountedSlice).Rising(),
    OnnxRow("Slice", 3, 5, Slice)
        .Since(10)
        .Counted(CountedSlice)
        .Rising()
        .Limits("bounds known, or of counts"),
    OnnxRow("SpaceToDepth", 1, 1, SpaceToDepth),
    OnnxRow("Split", 1, 2, ImportSplit)
        .Counted(CountedSplit)
        .Rising()
        .Limits("sizes known before the run"),
    OnnxRow("Squeeze", 1, 2, Squeeze).Counted(CountedSqueeze).Rising(),
    OnnxRow("Tile", 2, 3, Tile).Counted(CountedTile).Bounded().Limits("counts known, or bounded"),
    OnnxRow("Transpose", 1, 1, Transpose).CountedTwice(CountedTranspose).Rising(),
    OnnxRow("Unsqueeze", 1, 2, Unsqueeze).CountedTwice(CountedUnsqueeze).Rising(),
};

}  // namespace

absl::Span<const OnnxRow> OnnxShapeRows() { return kShapeRows; }

}  // namespace ashlar
