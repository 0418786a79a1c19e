// Col2Im: adds overlapping blocks that are a stride apart, axis by axis. The first `stride`
// elements of all blocks line up without gap or overlap; so do the next `stride` elements, and so
// on. An axis is therefore the sum of as many such rows as blocks overlap.
#include <algorithm>

#include "graph/region.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/windows.h"

namespace ashlar {
namespace {

constexpr int64_t kMostTerms = 1024;  // in one axis

// Converts [before, places, block, after] to [before, image, after].
OnnxVar AxisOfBlocks(OnnxNode& node, OnnxVar x, const OnnxWindow& axis) {
  const Shape shape = node.shape(x);
  const int64_t places = shape[1], block = shape[2], stride = axis.stride;
  const int64_t at_once = axis.dilation == 1 ? stride : 1;  // elements of a block per row
  if (CeilDivide(block, at_once) > kMostTerms) {
    return node.Unsupported(absl::StrCat("with ", CeilDivide(block, at_once),
                                         " blocks that overlap, at most ", kMostTerms));
  }
  OnnxVar sum = kNoOnnxVar;
  for (int64_t first = 0; first < block && node.ok(); first += at_once) {
    const int64_t end = std::min(first + at_once, block);
    OnnxVar part = x;
    if (end - first < block) {
      part = node.Add<Subtensor>({{2}, {1}, {1}, {0}, {0}},
                                 {x, node.IntVector({first}), node.IntVector({end})});
    }
    part = node.Reshaped(node.Padded(part, 2, 0, stride - (end - first)),
                         {shape[0], places * stride, shape[3]});
    const int64_t before = first * axis.dilation - axis.pad_begin;
    part = node.Padded(part, 1, before, axis.input - before - places * stride);
    sum = sum == kNoOnnxVar ? part : node.Sum(sum, part);
  }
  return sum;
}

OnnxVars Col2Im(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const std::vector<int64_t> image = node.KnownInts(1, "image_shape");
  const std::vector<int64_t> block = node.KnownInts(2, "block_shape");
  if (!node.ok()) return kNoOnnxVar;
  if (image.size() != block.size() || image.empty() || node.rank(x) != 3) {
    return node.Invalid("expected a tensor of rank 3, and sizes by axis");
  }
  const int axes = static_cast<int>(image.size());
  if (axes > 3) return node.Unsupported(absl::StrCat("in ", axes, " dimensions"));
  const int64_t batch = node.shape(x)[0], rows = node.shape(x)[1], blocks = node.shape(x)[2];
  if (batch < 1 || rows < 1 || blocks < 1) return node.Unsupported("of an empty tensor");
  // The blocks are the windows of a convolution over the image.
  Shape whole = {batch, 1};
  for (const int64_t size : image) whole.push_back(size);
  if (!Shape::Make(whole.dims()).ok()) return node.Invalid("image_shape is no shape");
  const std::vector<OnnxWindow> windows = OnnxWindows(node, whole, block, false);
  if (!node.ok()) return kNoOnnxVar;
  int64_t size = 1, all_places = 1;
  for (const OnnxWindow& window : windows) {
    size *= window.window;
    all_places *= window.output();
  }
  if (all_places != blocks || rows % size != 0) {
    return node.Invalid(absl::StrCat("a tensor of ", node.shape(x).ToString(), " for blocks of ",
                                     size, " elements at ", all_places, " places"));
  }
  // [N C, block, ..., places, ...] to [N C, places, block, places, block, ...]
  Shape apart = {batch * (rows / size)};
  for (const OnnxWindow& window : windows) apart.push_back(window.window);
  for (const OnnxWindow& window : windows) apart.push_back(window.output());
  std::vector<int64_t> pattern = {0};
  for (int i = 0; i < axes; ++i) {
    pattern.push_back(1 + axes + i);
    pattern.push_back(1 + i);
  }
  x = node.Permuted(node.Reshaped(x, apart), std::move(pattern));
  int64_t before = apart[0], behind = size * blocks;
  for (const OnnxWindow& window : windows) {
    behind /= window.output() * window.window;
    x = AxisOfBlocks(node, node.Reshaped(x, {before, window.output(), window.window, behind}),
                     window);
    if (!node.ok()) return kNoOnnxVar;
    before *= window.input;
  }
  whole = {batch, rows / size};
  for (const int64_t each : image) whole.push_back(each);
  return node.Reshaped(x, whole);
}

constexpr OnnxRow kBlockRows[] = {
    OnnxRow("Col2Im", 3, 3, Col2Im).Limits("1 to 3 dimensions, sizes known before the run"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxBlockRows() { return kBlockRows; }

}  // namespace ashlar
