// Imports sequences of tensors, which exporters write for lists. Their contents are known by
// position before the run, so that nothing of them remains in the graph.
#include "opr/concat.h"
#include "opr/split.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

// Converts the position in input i, in [-size, size), to one in [0, size).
size_t PlaceIn(OnnxNode& node, int i, int64_t size) {
  const int64_t place = node.KnownInteger(i, "position");
  if (!node.ok()) return 0;
  if (place >= -size && place < size) return static_cast<size_t>(place < 0 ? place + size : place);
  node.Invalid(absl::StrCat("position ", place, " in a sequence of ", size));
  return 0;
}

OnnxVars SequenceEmpty(OnnxNode& node) {
  node.Ignore({"dtype"});
  return node.AddSequence({});
}

OnnxVars SequenceConstruct(OnnxNode& node) { return node.AddSequence(node.inputs()); }

OnnxVars SequenceInsert(OnnxNode& node) {
  std::vector<OnnxVar> elements = node.Sequence(0);
  const auto size = static_cast<int64_t>(elements.size());
  // One more position than there are tensors: the end.
  const int64_t place = node.has(2) ? node.KnownInteger(2, "position") : size;
  if (!node.ok()) return kNoOnnxVar;
  if (place < -size || place > size) {
    return node.Invalid(absl::StrCat("position ", place, " in a sequence of ", size));
  }
  elements.insert(elements.begin() + (place < 0 ? place + size : place), node.input(1));
  return node.AddSequence(std::move(elements));
}

OnnxVars SequenceErase(OnnxNode& node) {
  std::vector<OnnxVar> elements = node.Sequence(0);
  const auto size = static_cast<int64_t>(elements.size());
  if (node.ok() && size == 0) return node.Invalid("of an empty sequence");
  const size_t place = node.has(1) ? PlaceIn(node, 1, size) : static_cast<size_t>(size - 1);
  if (!node.ok()) return kNoOnnxVar;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  return node.AddSequence(std::move(elements));
}

OnnxVars SequenceAt(OnnxNode& node) {
  const std::vector<OnnxVar> elements = node.Sequence(0);
  const size_t place = PlaceIn(node, 1, static_cast<int64_t>(elements.size()));
  return node.ok() ? elements[place] : kNoOnnxVar;
}

OnnxVars SequenceLength(OnnxNode& node) {
  const auto size = static_cast<int64_t>(node.Sequence(0).size());
  return node.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {}, {&size, 1}));
}

OnnxVars ConcatFromSequence(OnnxNode& node) {
  std::vector<OnnxVar> elements = node.Sequence(0);
  const bool new_axis = node.Int("new_axis", 0) != 0;
  const int64_t given = node.Int("axis", 0);
  if (node.ok() && elements.empty()) return node.Invalid("of an empty sequence");
  if (!node.ok()) return kNoOnnxVar;
  const int rank = node.rank(elements[0]);
  if (new_axis && rank == Shape::kMaxRank) {
    return node.Unsupported(absl::StrCat("results of ", rank + 1, " dimensions"));
  }
  const int axis = node.Axis(given, rank + (new_axis ? 1 : 0));
  for (OnnxVar& element : elements) {
    if (!new_axis || !node.ok()) continue;
    if (node.rank(element) != rank) {
      return node.Invalid(absl::StrCat("tensors of ranks ", rank, " and ", node.rank(element)));
    }
    std::vector<int64_t> dims(node.shape(element).dims().begin(), node.shape(element).dims().end());
    dims.insert(dims.begin() + axis, 1);
    element = node.Reshaped(element, Shape(dims));
  }
  return elements.size() == 1 ? elements[0] : node.Add<Concat>({axis}, std::move(elements));
}

// Splits into pieces of given sizes, of one size (the last may be smaller), or of size 1. The axis
// of pieces of size 1 is removed unless keepdims is set.
OnnxVars SplitToSequence(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int axis = node.Axis(node.Int("axis", 0), node.rank(x));
  const bool keeps = node.Int("keepdims", 1) != 0 || node.has(1);
  std::vector<int64_t> sizes = node.has(1) ? node.KnownInts(1, "split") : std::vector<int64_t>{1};
  if (!node.ok()) return kNoOnnxVar;
  constexpr int64_t kMostPieces = 10000;
  const int64_t size = node.shape(x)[axis];
  if (!node.has(1) || node.rank(node.input(1)) == 0) {
    const int64_t each = sizes[0];
    if (each < 1 || size / each >= kMostPieces) {
      return node.Invalid(absl::StrCat("pieces of ", each, " along an axis of ", size));
    }
    sizes.assign(static_cast<size_t>(CeilDivide(size, each)), each);
    if (size % each != 0) sizes.back() = size % each;
  }
  OnnxVars pieces;
  if (sizes.size() == 1 && sizes[0] == size) {
    pieces = x;
  } else if (!sizes.empty()) {
    pieces = node.AddOperator(std::make_shared<const Split>(SplitParam{axis, sizes}), {x});
  }
  if (!node.ok()) return kNoOnnxVar;
  for (OnnxVar& piece : pieces) {
    if (keeps) break;
    std::vector<int64_t> dims(node.shape(x).dims().begin(), node.shape(x).dims().end());
    dims.erase(dims.begin() + axis);
    piece = node.Reshaped(piece, Shape(dims));
  }
  return node.AddSequence(std::move(pieces));
}

// An optional value is there, or the name of the input is empty.
OnnxVars OptionalHasElement(OnnxNode& node) {
  return node.Scalar(node.has(0) ? 1 : 0, DType::kBool);
}

OnnxVars Itself(OnnxNode& node) {
  node.Ignore({"type"});
  return node.input(0);
}

constexpr char kKnown[] = "places and sizes known before the run";
constexpr OnnxRow kTensorSequenceRows[] = {
    OnnxRow("ConcatFromSequence", 1, 1, ConcatFromSequence).OfSequence(),
    OnnxRow("Optional", 1, 1, Itself)
        .OfSequence()
        .CountedTwice(CountedByItself)
        .Limits("with an element"),
    OnnxRow("OptionalGetElement", 1, 1, Itself).OfSequence().CountedTwice(CountedByItself),
    OnnxRow("OptionalHasElement", 0, 1, OptionalHasElement)
        .OfSequence()
        .OfShapes()
        .CountedTwice(CountedByItself),
    OnnxRow("SequenceAt", 2, 2, SequenceAt).OfSequence().Limits(kKnown),
    OnnxRow("SequenceConstruct", 1, OnnxRow::kAny, SequenceConstruct),
    OnnxRow("SequenceEmpty", 0, 0, SequenceEmpty),
    OnnxRow("SequenceErase", 1, 2, SequenceErase).OfSequence().Limits(kKnown),
    OnnxRow("SequenceInsert", 2, 3, SequenceInsert).OfSequence().Limits(kKnown),
    OnnxRow("SequenceLength", 1, 1, SequenceLength).OfSequence(),
    OnnxRow("SplitToSequence", 1, 2, SplitToSequence).Limits(kKnown),
};

}  // namespace

absl::Span<const OnnxRow> OnnxTensorSequenceRows() { return kTensorSequenceRows; }

}  // namespace ashlar
