// Imports GridSample, AffineGrid and RoiAlign.
#include <algorithm>

#include "opr/concat.h"
#include "opr/gather.h"
#include "opr/grid_sample.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/split.h"
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

// The sampling points of boxes along an axis of `size` pixels, [boxes, points] each.
struct BoxPoints {
  OnnxVar grid;    // in GridSample's coordinates
  OnnxVar inside;  // 1, or 0 for a point more than a pixel outside
  OnnxVar pixel;   // in pixels
};

// The pixel before or after each point, and its weight by distance.
struct BoxNeighbours {
  OnnxVar grid, weight;
};

BoxPoints PointsOfBoxes(OnnxNode& node, OnnxVar begin, OnnxVar end, int64_t points, int64_t size,
                        double scale, bool half_pixel) {
  std::optional<HostTensor> places = node.NewTensor(DType::kFloat32, {1, points});
  if (!places) return {kNoOnnxVar, kNoOnnxVar, kNoOnnxVar};
  for (int64_t i = 0; i < points; ++i) {
    places->Set(i, (static_cast<double>(i) + 0.5) / static_cast<double>(points));
  }
  OnnxVar length = node.Product(node.Difference(end, begin), scale);
  if (!half_pixel) length = node.Greatest(length, 1);
  const OnnxVar first = node.Sum(node.Product(begin, scale), half_pixel ? -0.5 : 0);
  const OnnxVar pixel = node.Sum(node.Product(length, node.Constant(*std::move(places))), first);
  const auto pixels = static_cast<double>(size);
  const auto ordered = [&](OnnxVar a, OnnxVar b) {
    return node.Function(ScalarFunction::kLessOrEqual, {a, b});
  };
  const DType dtype = node.dtype(pixel);
  return {node.Sum(node.Product(pixel, 2 / pixels), 1 / pixels - 1),
          node.Product(ordered(node.Scalar(-1, dtype), pixel),
                       ordered(pixel, node.Scalar(pixels, dtype))),
          pixel};
}

BoxNeighbours NeighboursOf(OnnxNode& node, const BoxPoints& points, int64_t size, bool after) {
  const auto last = static_cast<double>(size - 1);
  const OnnxVar pixel = node.Least(node.Greatest(points.pixel, 0), last);
  const OnnxVar before = node.Function(ScalarFunction::kFloor, {pixel});
  const OnnxVar beyond = node.Difference(pixel, before);
  const OnnxVar weight =
      after ? beyond : node.Difference(node.Scalar(1, node.dtype(pixel)), beyond);
  const OnnxVar at = after ? node.Least(node.Sum(before, 1), last) : before;
  const auto pixels = static_cast<double>(size);
  return {node.Sum(node.Product(at, 2 / pixels), 1 / pixels - 1),
          node.Product(weight, points.inside)};
}

// Averages samples at regular points of each box, or takes the greatest. A sample is the sum of its
// four pixels, each times its weight; in mode "max" it is the greatest of these, as ONNX defines.
OnnxVars RoiAlign(OnnxNode& node) {
  const OnnxVar x = node.input(0), rois = node.input(1), images = node.input(2);
  const bool half_pixel = OnnxNamed<bool>(node, "coordinate_transformation_mode",
                                          node.version() < 16 ? "output_half_pixel" : "half_pixel",
                                          {{"half_pixel", true}, {"output_half_pixel", false}});
  const std::string mode = node.Text("mode", "avg");
  const int64_t rows = node.Int("output_height", 1), columns = node.Int("output_width", 1);
  const int64_t samples = node.Int("sampling_ratio", 0);
  const double scale = node.Float("spatial_scale", 1);
  if (!node.ok()) return kNoOnnxVar;
  const bool greatest = mode == "max";
  if (mode != "avg" && !greatest) {
    return node.Unsupported(absl::StrCat("mode '", mode.substr(0, 64), "'"));
  }
  if (samples < 1) return node.Unsupported("sampling_ratio 0: as many samples as boxes are large");
  if (node.rank(x) != 4 || node.rank(rois) != 2 || node.shape(rois)[1] != 4 || rows < 1 ||
      columns < 1 || samples > 64 || rows > 4096 || columns > 4096) {
    return node.Invalid(absl::StrCat("an image ", node.shape(x).ToString(), ", boxes ",
                                     node.shape(rois).ToString(), " and outputs of ", rows, "x",
                                     columns));
  }
  const Shape shape = node.shape(x);
  const int64_t boxes = node.shape(rois)[0], high = rows * samples, wide = columns * samples;
  const OnnxVars corners =
      node.AddOperator(std::make_shared<const Split>(SplitParam{1, {1, 1, 1, 1}}), {rois});
  if (!node.ok()) return kNoOnnxVar;
  const BoxPoints across =
      PointsOfBoxes(node, corners[0], corners[2], wide, shape[3], scale, half_pixel);
  const BoxPoints down =
      PointsOfBoxes(node, corners[1], corners[3], high, shape[2], scale, half_pixel);
  const auto coordinates = [&](OnnxVar points, const Shape& along) {
    return node.Reshaped(node.BroadcastTo(node.Reshaped(points, along), {boxes, high, wide}),
                         {boxes, high, wide, 1});
  };
  const bool one_image = shape[0] == 1;  // all boxes then form one grid, one below the other
  const OnnxVar of = one_image ? x : node.Add<Gather>({0}, {x, images});
  GridSampleParam param;
  param.padding = GridSamplePadding::kBorder;
  const auto sampled = [&](OnnxVar grid_x, OnnxVar grid_y, OnnxVar weight_x, OnnxVar weight_y) {
    OnnxVar grid = node.Add<Concat>(
        {3}, {coordinates(grid_x, {boxes, 1, wide}), coordinates(grid_y, {boxes, high, 1})});
    OnnxVar weight = node.Product(node.Reshaped(weight_y, {boxes, 1, high, 1}),
                                  node.Reshaped(weight_x, {boxes, 1, 1, wide}));
    if (one_image) {
      grid = node.Reshaped(grid, {1, boxes * high, wide, 2});
      weight = node.Reshaped(weight, {1, 1, boxes * high, wide});
    }
    return node.Product(node.Add<GridSample>(param, {of, grid}), weight);
  };
  OnnxVar samples_of_boxes = kNoOnnxVar;
  if (greatest) {
    param.mode = GridSampleMode::kNearest;
    for (const bool below : {false, true}) {
      const BoxNeighbours y = NeighboursOf(node, down, shape[2], below);
      for (const bool right : {false, true}) {
        const BoxNeighbours x_of = NeighboursOf(node, across, shape[3], right);
        const OnnxVar pixel = sampled(x_of.grid, y.grid, x_of.weight, y.weight);
        samples_of_boxes = samples_of_boxes == kNoOnnxVar
                               ? pixel
                               : node.Function(ScalarFunction::kMax, {samples_of_boxes, pixel});
      }
    }
  } else {
    samples_of_boxes = sampled(across.grid, down.grid, across.inside, down.inside);
  }
  PoolingParam pool;
  pool.mode = greatest ? PoolingMode::kMax : PoolingMode::kAverage;
  pool.window_h = pool.window_w = pool.stride_h = pool.stride_w = samples;
  const OnnxVar planning = node.Add<PoolingForward>(pool, {samples_of_boxes});
  if (!one_image) return planning;
  return node.Permuted(node.Reshaped(planning, {shape[1], boxes, rows, columns}), {1, 0, 2, 3});
}

constexpr OnnxRow kSamplingRows[] = {
    OnnxRow("AffineGrid", 2, 2, AffineGrid).OfDoubles().Limits("to a size known before the run"),
    OnnxRow("GridSample", 2, 2, GridSampleOf).Limits("2 dimensions, or 3 unless it is cubic"),
    OnnxRow("RoiAlign", 3, 3, RoiAlign).Counted(CountedBoxes).Limits("a given number of samples")};

}  // namespace

absl::Span<const OnnxRow> OnnxSamplingRows() { return kSamplingRows; }

}  // namespace ashlar
