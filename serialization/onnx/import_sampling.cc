// GridSample of ONNX.
#include "opr/grid_sample.h"
#include "serialization/onnx/import_names.h"
#include "serialization/onnx/import_table.h"

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
  if (node.rank(x) != 4) return node.Unsupported("in other than two dimensions");
  return node.Add<GridSample>(param, {x, grid});
}

constexpr OnnxRow kSamplingRows[] = {
    OnnxRow("GridSample", 2, 2, GridSampleOf).Limits("2 dimensions")};

}  // namespace

absl::Span<const OnnxRow> OnnxSamplingRows() { return kSamplingRows; }

}  // namespace ashlar
