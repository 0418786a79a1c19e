// Imports operators that give elements another shape or order, or repeat them.
#include <algorithm>

#include "opr/concat.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/pad.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using tflite::BuiltinOperator;

constexpr int64_t kMostPadding = 1 << 20;  // kernels have tables of that size

void ReshapeTo(TfliteNode& node) {
  std::vector<int64_t> dims;
  if (node.has(1)) {
    dims = node.Ints(1, "the shape");
  } else {
    const auto* const options = node.Options<tflite::ReshapeOptions>();
    if (node.ok()) dims = IntsOf(options->new_shape());
  }
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  int64_t known = 1, deduced = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && deduced < 0) {
      deduced = static_cast<int64_t>(i);
    } else if (dims[i] < 0 || dims[i] > Shape::kMaxBytes || known > Shape::kMaxBytes) {
      return void(node.Invalid("dimension ", i, " of the new shape is ", dims[i]));
    } else {
      known *= dims[i];
    }
  }
  const int64_t elements = node.shape(x).num_elements();
  if (deduced >= 0) dims[static_cast<size_t>(deduced)] = known > 0 ? elements / known : 0;
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return void(node.Fail(shape.status()));
  if (shape->num_elements() != elements) {
    return void(node.Invalid("the input is ", node.type(x).ToString(), ", the new shape ",
                             shape->ToString()));
  }
  node.Result(0, node.Reshaped(x, *shape));
}

void Squeeze(TfliteNode& node) {
  const auto* const options = node.Options<tflite::SqueezeOptions>();
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const int rank = node.rank(x);
  std::vector<bool> dropped(static_cast<size_t>(rank), false);
  const std::vector<int64_t> given = IntsOf(options->squeeze_dims());
  for (const int64_t axis : given) {
    const int at = node.Axis(axis, rank);
    if (!node.ok()) return;
    dropped[static_cast<size_t>(at)] = true;
  }
  Shape left;
  for (int i = 0; i < rank; ++i) {
    const bool drops = given.empty() ? node.shape(x)[i] == 1 : dropped[static_cast<size_t>(i)];
    if (!drops) left.push_back(node.shape(x)[i]);
  }
  if (left.num_elements() != node.shape(x).num_elements()) {
    return void(node.Invalid("dimensions of ", node.type(x).ToString(), " are not 1"));
  }
  node.Result(0, node.Reshaped(x, left));
}

void ExpandDims(TfliteNode& node) {
  const int64_t axis = node.Int(1, "the axis");
  const TfliteVar x = node.Input(0);
  const int at = node.Axis(axis, node.rank(x) + 1);
  if (!node.ok()) return;
  Shape shape;
  for (int i = 0; i <= node.rank(x); ++i) {
    if (i == at) shape.push_back(1);
    if (i < node.rank(x)) shape.push_back(node.shape(x)[i]);
  }
  node.Result(0, node.Reshaped(x, shape));
}

// Between {N,H,W,C} and {N,C,H,W} the tensor is at hand in the other layout.
void Transpose(TfliteNode& node) {
  const std::vector<int64_t> pattern = node.Ints(1, "the permutation");
  if (!node.ok()) return;
  if (pattern == TflitePattern(TfliteLayout::kImage)) {
    return node.Result(0, node.Image(0));
  }
  if (pattern == TflitePattern(TfliteLayout::kFile)) {
    return node.Result(0, node.Input(0), TfliteLayout::kImage);
  }
  node.Result(0, node.Permuted(node.Input(0), pattern));
}

void Pack(TfliteNode& node) {
  const auto* const options = node.Options<tflite::PackOptions>();
  std::vector<TfliteVar> parts;
  int at = 0;
  for (int i = 0; node.ok() && i < node.num_inputs(); ++i) {
    const TfliteVar x = node.Input(i);
    at = node.Axis(options->axis(), node.rank(x) + 1);
    if (!node.ok()) return;
    Shape shape;
    for (int d = 0; d <= node.rank(x); ++d) {
      if (d == at) shape.push_back(1);
      if (d < node.rank(x)) shape.push_back(node.shape(x)[d]);
    }
    parts.push_back(node.Reshaped(x, shape));
  }
  node.Result(0, node.Add<Concat>({at}, std::move(parts)));
}

// Parts of 8 bits get the type of the output first.
void Concatenation(TfliteNode& node) {
  const auto* const options = node.Options<tflite::ConcatenationOptions>();
  std::vector<int> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) inputs.push_back(i);
  const TfliteLayout layout = node.LayoutOf(inputs);
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  std::vector<TfliteVar> parts;
  for (const int i : inputs) {
    TfliteVar x = node.Input(i, layout);
    if (!node.ok()) return;
    if (IsQuantized(node.type(x).dtype)) {
      x = output ? node.Requantized(x, *output) : node.Converted(x, DType::kFloat32);
    }
    parts.push_back(x);
  }
  if (!node.ok() || parts.empty()) return;
  const int axis = node.Axis(options->axis(), node.rank(parts[0]), layout);
  const TfliteVar y = parts.size() == 1 ? parts[0] : node.Add<Concat>({axis}, std::move(parts));
  node.Result(0, node.Activated(y, options->activation()), layout);
}

// Returns pairs of numbers by dimension of x, in the order of the layout.
std::vector<std::pair<int64_t, int64_t>> PaddingOf(TfliteNode& node, int rank,
                                                   TfliteLayout layout) {
  const std::vector<int64_t> given = node.Ints(1, "the padding");
  std::vector<std::pair<int64_t, int64_t>> pads(static_cast<size_t>(rank));
  if (node.ok() && given.size() != 2 * pads.size()) {
    node.Invalid("the padding has ", given.size(), " numbers, expected ", 2 * pads.size());
  }
  for (int i = 0; node.ok() && i < rank; ++i) {
    const size_t at = 2 * static_cast<size_t>(i);
    pads[static_cast<size_t>(node.Axis(i, rank, layout))] = {given[at], given[at + 1]};
    if (std::min(given[at], given[at + 1]) < 0 ||
        std::max(given[at], given[at + 1]) > kMostPadding) {
      node.Invalid("the padding of dimension ", i, " is ", given[at], " and ", given[at + 1],
                   ", expected 0 to ", kMostPadding);
    }
  }
  return pads;
}

// Pads the bytes of quantised tensors with the integer of the value.
void PadAs(TfliteNode& node, PadMode mode) {
  const TfliteLayout layout = node.LayoutOf(0);
  const TfliteVar x = node.Input(0, layout);
  if (!node.ok()) return;
  const TensorType type = node.type(x);
  PadParam param;
  param.mode = mode;
  for (const auto& [before, after] : PaddingOf(node, node.rank(x), layout)) {
    param.begin.push_back(before);
    param.end.push_back(after);
  }
  if (IsQuantized(type.dtype)) param.value = type.quantization.zero_point();
  if (node.has(2)) {
    const TfliteVar value = node.Stored(node.Input(2));
    const HostTensor* const known = node.constant(value);
    if (!node.ok()) return;
    if (known == nullptr || known->num_elements() != 1) {
      return void(node.Invalid("the value is ", node.type(value).ToString(),
                               ", expected one known number"));
    }
    param.value = known->At(0);
  }
  node.Result(0, node.Reinterpreted(node.Add<Pad>(param, {node.Stored(x)}), type), layout);
  const double zero = IsQuantized(type.dtype) ? type.quantization.zero_point() : 0;
  const bool of_convolution = IsQuantized(type.dtype) || type.dtype == DType::kFloat32;
  if (!node.ok() || param.value != zero || !of_convolution || type.shape.rank() != 4) return;
  if (mode == PadMode::kConstant) node.NoteZeros(0, node.Image(0), layout, param.begin, param.end);
}

void PadConstant(TfliteNode& node) { PadAs(node, PadMode::kConstant); }

void MirrorPad(TfliteNode& node) {
  const auto* const options = node.Options<tflite::MirrorPadOptions>();
  if (!node.ok()) return;
  if (options->mode() != tflite::MirrorPadMode::REFLECT) {
    return void(node.Unsupported("mode ", static_cast<int>(options->mode())));
  }
  PadAs(node, PadMode::kReflect);
}

void BroadcastTo(TfliteNode& node) {
  const std::vector<int64_t> shape = node.Ints(1, "the shape");
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const TensorType type = node.type(x);
  node.Result(
      0, node.Reinterpreted(node.Add<Expand>({}, {node.Stored(x), node.IntVector(shape)}), type));
}

// Repeats along new dimensions before each one.
void Tile(TfliteNode& node) {
  const std::vector<int64_t> times = node.Ints(1, "the repetitions");
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const TensorType type = node.type(x);
  Shape apart, repeated, joined;
  for (size_t i = 0; i < times.size() && static_cast<int>(i) < type.shape.rank(); ++i) {
    const int64_t size = type.shape[static_cast<int>(i)];
    if (times[i] < 1 || times[i] > (1 << 20)) {
      return void(node.Unsupported(times[i], " repetitions"));
    }
    if (times[i] > 1) {
      apart.push_back(1);
      repeated.push_back(times[i]);
    }
    apart.push_back(size);
    repeated.push_back(size);
    joined.push_back(size * times[i]);
  }
  if (static_cast<int>(times.size()) != type.shape.rank() || apart.rank() > Shape::kMaxRank) {
    return void(node.Unsupported(times.size(), " repetitions of ", type.ToString()));
  }
  const TfliteVar spread =
      node.Add<Expand>({}, {node.Reshaped(node.Stored(x), apart), node.IntVector(repeated.dims())});
  node.Result(0, node.Reinterpreted(node.Reshaped(spread, joined), type));
}

void Fill(TfliteNode& node) {
  const std::vector<int64_t> shape = node.Ints(0, "the shape");
  node.Result(0, node.Add<Expand>({}, {node.Input(1), node.IntVector(shape)}));
}

void GatherOf(TfliteNode& node) {
  const auto* const options = node.Options<tflite::GatherOptions>();
  const TfliteVar x = node.Input(0), indices = node.Input(1);
  if (!node.ok()) return;
  if (options->batch_dims() != 0) {
    return void(node.Unsupported("batch_dims ", options->batch_dims()));
  }
  const TensorType type = node.type(x);
  const int axis = node.Axis(options->axis(), node.rank(x));
  node.Result(0, node.Reinterpreted(node.Add<Gather>({axis}, {node.Stored(x), indices}), type));
}

void GatherNd(TfliteNode& node) {
  const TfliteVar x = node.Input(0), indices = node.Input(1);
  if (!node.ok()) return;
  const TensorType type = node.type(x);
  node.Result(0, node.Reinterpreted(node.Add<GatherND>({}, {node.Stored(x), indices}), type));
}

void ShapeOf(TfliteNode& node) {
  // Either layout of the tensor will do, without a permutation.
  const TfliteLayout layout = node.LayoutOf(0);
  const Shape own = node.shape(node.Input(0, layout));
  if (!node.ok()) return;
  std::vector<int64_t> dims;
  for (int i = 0; i < own.rank(); ++i) dims.push_back(own[node.Axis(i, own.rank(), layout)]);
  node.Result(0, node.IntVector(dims));
}

void Rank(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  node.Result(0, node.Scalar(node.rank(node.Input(0, layout)), DType::kInt32));
}

// Exchanges blocks of pixels with channels, which are the last dimension of the file.
void MoveBlocks(TfliteNode& node, int64_t block, bool to_depth) {
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const Shape s = node.shape(x);
  const int64_t depth = block * block;
  const bool divides = s.rank() == 4 && block >= 1 && block <= (1 << 12) &&
                       (to_depth ? s[1] % block == 0 && s[2] % block == 0 : s[3] % depth == 0);
  if (!divides) {
    return void(node.Invalid("blocks of ", block, " for ", node.type(x).ToString()));
  }
  const std::vector<int64_t> pattern = {0, 1, 3, 2, 4, 5};
  const Shape apart = to_depth ? Shape{s[0], s[1] / block, block, s[2] / block, block, s[3]}
                               : Shape{s[0], s[1], s[2], block, block, s[3] / depth};
  const Shape joined = to_depth ? Shape{s[0], s[1] / block, s[2] / block, s[3] * depth}
                                : Shape{s[0], s[1] * block, s[2] * block, s[3] / depth};
  node.Result(0, node.Reshaped(node.Permuted(node.Reshaped(x, apart), pattern), joined));
}

void SpaceToDepth(TfliteNode& node) {
  const auto* const options = node.Options<tflite::SpaceToDepthOptions>();
  if (node.ok()) MoveBlocks(node, options->block_size(), true);
}
void DepthToSpace(TfliteNode& node) {
  const auto* const options = node.Options<tflite::DepthToSpaceOptions>();
  if (node.ok()) MoveBlocks(node, options->block_size(), false);
}

constexpr TfliteRow kShapeRows[] = {
    {BuiltinOperator::BROADCAST_TO, 2, 2, BroadcastTo},
    {BuiltinOperator::CONCATENATION, 1, TfliteRow::kAny, Concatenation},
    {BuiltinOperator::DEPTH_TO_SPACE, 1, 1, DepthToSpace},
    {BuiltinOperator::EXPAND_DIMS, 2, 2, ExpandDims},
    {BuiltinOperator::FILL, 2, 2, Fill},
    {BuiltinOperator::GATHER, 2, 2, GatherOf},
    {BuiltinOperator::GATHER_ND, 2, 2, GatherNd},
    {BuiltinOperator::MIRROR_PAD, 2, 2, MirrorPad},
    {BuiltinOperator::PACK, 1, TfliteRow::kAny, Pack},
    {BuiltinOperator::PAD, 2, 2, PadConstant},
    {BuiltinOperator::PADV2, 3, 3, PadConstant},
    {BuiltinOperator::RANK, 1, 1, Rank},
    {BuiltinOperator::RESHAPE, 1, 2, ReshapeTo},
    {BuiltinOperator::SHAPE, 1, 1, ShapeOf},
    {BuiltinOperator::SPACE_TO_DEPTH, 1, 1, SpaceToDepth},
    {BuiltinOperator::SQUEEZE, 1, 1, Squeeze},
    {BuiltinOperator::TILE, 2, 2, Tile},
    {BuiltinOperator::TRANSPOSE, 2, 2, Transpose},
};

}  // namespace

absl::Span<const TfliteRow> TfliteShapeRows() { return kShapeRows; }

}  // namespace ashlar
