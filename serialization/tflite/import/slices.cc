// Imports operators that take parts of a tensor.
#include <algorithm>

#include "opr/split.h"
#include "opr/subtensor.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using tflite::BuiltinOperator;

constexpr int64_t kMostPieces = 1 << 16;

// The bounds of a Subtensor, axis by axis.
struct Box {
  SubtensorParam param;
  std::vector<int64_t> bounds;

  void Cut(int axis, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step) {
    param.axis.push_back(axis);
    param.idx.push_back(0);
    param.begin.push_back(begin ? 1 : 0);
    param.end.push_back(end ? 1 : 0);
    param.step.push_back(1);
    if (begin) bounds.push_back(*begin);
    if (end) bounds.push_back(*end);
    bounds.push_back(step);
  }
};

TfliteVar Cut(TfliteNode& node, TfliteVar x, const Box& box) {
  std::vector<TfliteVar> inputs = {x};
  for (const int64_t bound : box.bounds) inputs.push_back(node.IntVector({bound}));
  return box.param.axis.empty() ? x : node.Add<Subtensor>(box.param, std::move(inputs));
}

void Slice(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  const std::vector<int64_t> begin = node.Ints(1, "begin"), size = node.Ints(2, "the size");
  const TfliteVar x = node.Input(0, layout);
  if (!node.ok()) return;
  const Shape& shape = node.shape(x);
  const auto rank = static_cast<size_t>(shape.rank());
  if (begin.size() != rank || size.size() != rank) {
    return void(node.Invalid("begin and size have ", begin.size(), " and ", size.size(),
                             " numbers, expected ", rank));
  }
  Box box;
  for (size_t i = 0; i < rank; ++i) {
    const int axis = node.Axis(static_cast<int64_t>(i), shape.rank(), layout);
    const int64_t count = size[i] == -1 ? shape[axis] - begin[i] : size[i];
    if (begin[i] < 0 || count < 0 || begin[i] > shape[axis] || count > shape[axis] - begin[i]) {
      return void(node.Invalid("dimension ", i, " of size ", shape[axis], " from ", begin[i],
                               ", of ", size[i], " elements"));
    }
    if (count != shape[axis]) box.Cut(axis, begin[i], begin[i] + count, 1);
  }
  node.Result(0, Cut(node, x, box), layout);
}

// Masks have a bit for each row of begin, end and strides: rows of an ellipsis stand for all axes
// that have none, rows of new axes for none.
void StridedSlice(TfliteNode& node) {
  const auto* const options = node.Options<tflite::StridedSliceOptions>();
  const std::vector<int64_t> begin = node.Ints(1, "begin"), end = node.Ints(2, "end"),
                             steps = node.Ints(3, "the strides");
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const Shape from = node.shape(x);
  const size_t rows = begin.size();
  if (end.size() != rows || steps.size() != rows || rows > 2 * Shape::kMaxRank) {
    return void(node.Invalid("begin, end and strides have ", rows, ", ", end.size(), " and ",
                             steps.size(), " numbers"));
  }
  const auto has = [](int32_t mask, size_t bit) { return ((mask >> bit) & 1) != 0; };
  int used = 0;  // axes that have a row
  for (size_t row = 0; row < rows; ++row) {
    used += !has(options->new_axis_mask(), row) && !has(options->ellipsis_mask(), row);
  }
  int ellipses = 0;
  for (size_t row = 0; row < rows; ++row) ellipses += has(options->ellipsis_mask(), row);
  if (used > from.rank() || ellipses > 1 || options->offset()) {
    return void(node.Unsupported(used, " rows for ", node.type(x).ToString(),
                                 options->offset() ? ", by offsets" : ""));
  }
  Box box;
  std::vector<int64_t> order;  // axes of x in the result; -1: a new one
  int axis = 0;
  const auto keep = [&](int count) {
    for (int i = 0; i < count; ++i) order.push_back(axis++);
  };
  for (size_t row = 0; row < rows; ++row) {
    if (has(options->ellipsis_mask(), row)) {
      keep(from.rank() - used);
      continue;
    }
    if (has(options->new_axis_mask(), row)) {
      order.push_back(-1);
      continue;
    }
    if (steps[row] == 0) return void(node.Invalid("stride ", row, " is 0"));
    if (has(options->shrink_axis_mask(), row)) {
      const int64_t at = begin[row] < 0 ? begin[row] + from[axis] : begin[row];
      if (at < 0 || at >= from[axis]) {
        return void(
            node.Invalid("index ", begin[row], " of dimension ", axis, " of size ", from[axis]));
      }
      box.Cut(axis, at, at + 1, 1);
      ++axis;
      continue;
    }
    const bool whole =
        has(options->begin_mask(), row) && has(options->end_mask(), row) && steps[row] == 1;
    if (!whole) {
      box.Cut(axis, has(options->begin_mask(), row) ? std::nullopt : std::optional(begin[row]),
              has(options->end_mask(), row) ? std::nullopt : std::optional(end[row]), steps[row]);
    }
    keep(1);
  }
  keep(from.rank() - axis);
  const TfliteVar cut = Cut(node, x, box);
  if (!node.ok()) return;
  Shape shape;
  for (const int64_t of : order) {
    shape.push_back(of < 0 ? 1 : node.shape(cut)[static_cast<int>(of)]);
  }
  node.Result(0, node.Reshaped(cut, shape));
}

// Sets the outputs to the pieces of x along an axis of the file.
void SplitInto(TfliteNode& node, int input, int64_t given, const std::vector<int64_t>& sizes,
               bool squeezed = false) {
  const TfliteLayout layout = squeezed ? TfliteLayout::kFile : node.LayoutOf(input);
  const TfliteVar x = node.Input(input, layout);
  if (!node.ok()) return;
  const TensorType type = node.type(x);
  const int axis = node.Axis(given, node.rank(x), layout);
  if (!node.ok()) return;
  if (static_cast<int>(sizes.size()) != node.num_outputs()) {
    return void(node.Invalid(sizes.size(), " pieces for ", node.num_outputs(), " outputs"));
  }
  const std::vector<TfliteVar> pieces =
      node.AddOperator(std::make_shared<const Split>(SplitParam{axis, sizes}), {node.Stored(x)});
  Shape left;
  for (int i = 0; i < type.shape.rank(); ++i) {
    if (i != axis) left.push_back(type.shape[i]);
  }
  for (size_t i = 0; node.ok() && i < pieces.size(); ++i) {
    const TfliteVar piece = node.Reinterpreted(pieces[i], type);
    node.Result(static_cast<int>(i), squeezed ? node.Reshaped(piece, left) : piece, layout);
  }
}

// Returns `count` equal pieces of the axis of an input.
std::vector<int64_t> Equal(TfliteNode& node, int input, int64_t given, int64_t count) {
  const TfliteLayout layout = node.LayoutOf(input);
  const Shape shape = node.shape(node.Input(input, layout));
  const int axis = node.Axis(given, shape.rank(), layout);
  const int64_t size = node.ok() ? shape[axis] : 0;
  if (node.ok() && (count < 1 || count > kMostPieces || size % count != 0)) {
    node.Invalid(count, " pieces of ", size, " elements");
  }
  if (!node.ok()) return {};
  return std::vector<int64_t>(static_cast<size_t>(count), size / count);
}

void SplitEqually(TfliteNode& node) {
  const auto* const options = node.Options<tflite::SplitOptions>();
  const int64_t axis = node.Int(0, "the axis");
  if (node.ok()) SplitInto(node, 1, axis, Equal(node, 1, axis, options->num_splits()));
}

void SplitBySizes(TfliteNode& node) {
  std::vector<int64_t> sizes = node.Ints(1, "the sizes");
  const int64_t given = node.Int(2, "the axis");
  const TfliteLayout layout = node.LayoutOf(0);
  const Shape shape = node.shape(node.Input(0, layout));
  const int axis = node.Axis(given, shape.rank(), layout);
  if (!node.ok()) return;
  int64_t rest = shape[axis];
  for (const int64_t size : sizes) rest -= std::clamp<int64_t>(size, 0, shape[axis]);
  for (int64_t& size : sizes) {
    if (size == -1) size = std::exchange(rest, 0);
  }
  SplitInto(node, 0, given, sizes);
}

void Unpack(TfliteNode& node) {
  const auto* const options = node.Options<tflite::UnpackOptions>();
  const TfliteVar x = node.Input(0);
  if (!node.ok()) return;
  const int axis = node.Axis(options->axis(), node.rank(x));
  if (!node.ok()) return;
  if (node.shape(x)[axis] != options->num() || options->num() > kMostPieces) {
    return void(node.Invalid(options->num(), " outputs of dimension ", axis, " of ",
                             node.type(x).ToString()));
  }
  SplitInto(node, 0, axis, std::vector<int64_t>(static_cast<size_t>(options->num()), 1), true);
}

void ReverseV2(TfliteNode& node) {
  const std::vector<int64_t> axes = node.Ints(1, "the axes");
  const TfliteVar x = node.Input(0);
  Box box;
  for (const int64_t given : axes) {
    box.Cut(node.Axis(given, node.rank(x)), std::nullopt, std::nullopt, -1);
  }
  node.Result(0, Cut(node, x, box));
}

constexpr TfliteRow kSliceRows[] = {
    {BuiltinOperator::REVERSE_V2, 2, 2, ReverseV2},
    {BuiltinOperator::SLICE, 3, 3, Slice},
    {BuiltinOperator::SPLIT, 2, 2, SplitEqually},
    {BuiltinOperator::SPLIT_V, 3, 3, SplitBySizes},
    {BuiltinOperator::STRIDED_SLICE, 4, 4, StridedSlice},
    {BuiltinOperator::UNPACK, 1, 1, Unpack},
};

}  // namespace

absl::Span<const TfliteRow> TfliteSliceRows() { return kSliceRows; }

}  // namespace ashlar
