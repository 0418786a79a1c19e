// Imports GridSample and AffineGrid.

#include "opr/grid_sample.h"
#include "opr/matrix_mul.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

OnnxVars GridSampleOf(OnnxNode& node) {
  const OnnxVar x = node.input(0), grid = node.input(1);
  using Mode = GridSampleMode;
  using Padding = GridSamplePadding;
  GridSampleParam param;
  param.mode = OnnxNamed<Mode>(node, "mode", node.version() < 20 ? "bilinear" : "linear",
                               {{"linear", Mode::kLinear},
                                {"bilinear", Mode::kLinear},
                                {"nearest", Mode::kNearest},
                                {"cubic", Mode::kCubic},
                                {"bicubic", Mode::kCubic}});
  param.padding = OnnxNamed<Padding>(node, "padding_mode", "zeros",
                                     {{"zeros", Padding::kZeros},
                                      {"border", Padding::kBorder},
                                      {"reflection", Padding::kReflection}});
  param.align_corners = node.Int("align_corners", 0) != 0;
  const bool volume = node.rank(x) == 5 && param.mode != Mode::kCubic;
  if (node.rank(x) != 4 && !volume) {
    return node.Unsupported("in other than two dimensions, or three unless it is cubic");
  }
  return node.Add<GridSample>(param, {x, grid});
}

// Multiplies the points of a grid in [-1, 1] (last axis first, with a 1 appended) by theta [N, D, D
// + 1].
OnnxVars AffineGrid(OnnxNode& node) {
  const OnnxVar theta = node.input(0);
  const std::vector<int64_t> size = node.KnownInts(1, "size");
  const bool align_corners = node.Int("align_corners", 0) != 0;
  if (!node.ok()) return kNoOnnxVar;
  const int axes = static_cast<int>(size.size()) - 2;
  if (axes < 2 || axes > 3 || node.shape(theta) != Shape{size[0], axes, axes + 1}) {
    return node.Invalid(absl::StrCat("theta is ", node.shape(theta).ToString(), " for a size of ",
                                     size.size(), " axes"));
  }
  std::vector<int64_t> dims = {1};
  dims.insert(dims.end(), size.begin() + 2, size.end());
  dims.push_back(axes + 1);
  std::optional<HostTensor> grid = node.NewTensor(node.dtype(theta), dims);
  if (!grid) return kNoOnnxVar;
  const int64_t points = grid->num_elements() / (axes + 1);
  for (int64_t i = 0; i < points; ++i) {
    int64_t rest = i;
    for (int axis = 0; axis < axes; ++axis) {
      const int64_t length = dims[static_cast<size_t>(axes - axis)];
      const auto at = static_cast<double>(rest % length), whole = static_cast<double>(length);
      rest /= length;
      // A single point is in the middle, as in PyTorch and ONNX Runtime.
      const double place =
          align_corners && length > 1 ? 2 * at / (whole - 1) - 1 : (2 * at + 1) / whole - 1;
      grid->Set(i * (axes + 1) + axis, place);
    }
    grid->Set(i * (axes + 1) + axes, 1);
  }
  MatrixMulParam param;
  param.transposeB = true;
  const OnnxVar rows = node.Reshaped(node.Constant(*std::move(grid)), {1, points, axes + 1});
  std::vector<int64_t> shape = dims;
  shape.front() = size[0];
  shape.back() = axes;
  return node.Reshaped(node.Add<MatrixMul>(param, {rows, theta}), Shape(shape));
}

constexpr OnnxRow kSamplingRows[] = {
    OnnxRow("AffineGrid", 2, 2, AffineGrid).OfDoubles().Limits("to a size known before the run"),
    OnnxRow("GridSample", 2, 2, GridSampleOf)
        .Counted(CountedPoints)
        .Limits("2 dimensions, or 3 unless it is cubic")};

}  // namespace

absl::Span<const OnnxRow> OnnxSamplingRows() { return kSamplingRows; }

}  // namespace ashlar
