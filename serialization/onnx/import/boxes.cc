// Imports RoiAlign and MaxRoiPool.
#include <algorithm>

#include "opr/concat.h"
#include "opr/gather.h"
#include "opr/grid_sample.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/split.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

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

// Returns the weight of each pixel of an axis in the mean of each bin, [boxes, bins, size]. A bin
// has one sample for each pixel that it covers, rounded up, so samples are at most a pixel apart
// and more than half a pixel if there are several. A pixel takes part in the samples less than a
// pixel away: at most five in a row, found from the first one.
OnnxVar WeightsInMeans(OnnxNode& node, OnnxVar begin, OnnxVar end, int64_t bins, int64_t size,
                       double scale, bool half_pixel) {
  constexpr int64_t kCandidates = 5;
  // Starts a little before the first sample, so that rounding excludes none.
  constexpr double kMargin = 0.01, kLeastStep = 1e-6;
  const int64_t boxes = node.shape(begin)[0];
  const DType dtype = node.dtype(begin);
  const auto counting = [&](const Shape& shape, double from) {
    std::optional<HostTensor> numbers = node.NewTensor(dtype, shape.dims());
    if (!numbers) return kNoOnnxVar;
    for (int64_t i = 0; i < numbers->num_elements(); ++i) {
      numbers->Set(i, static_cast<double>(i) + from);
    }
    return node.Constant(*std::move(numbers));
  };
  const auto at_most = [&](OnnxVar a, OnnxVar b) { return node.Function(F::kLessOrEqual, {a, b}); };
  const auto scaled = [&](OnnxVar corner) {
    return node.Reshaped(node.Sum(node.Product(corner, scale), half_pixel ? -0.5 : 0),
                         {boxes, 1, 1, 1});
  };
  const auto pixels = static_cast<double>(size);
  const OnnxVar first = scaled(begin);
  OnnxVar length = node.Difference(scaled(end), first);
  if (!half_pixel) length = node.Greatest(length, 1);
  const OnnxVar bin = node.Quotient(length, node.Scalar(static_cast<double>(bins), dtype));
  const OnnxVar samples = node.Function(F::kCeil, {bin});  // none in an empty box
  const OnnxVar divisor = node.Greatest(samples, 1);
  const OnnxVar step = node.Quotient(bin, divisor);
  const OnnxVar start = node.Sum(first, node.Product(bin, counting({1, bins, 1, 1}, 0)));
  const OnnxVar pixel = counting({1, 1, size, 1}, 0);
  const OnnxVar before =
      node.Quotient(node.Difference(node.Sum(pixel, -1), start), node.Greatest(step, kLeastStep));
  const OnnxVar sample =
      node.Sum(node.Greatest(node.Function(F::kCeil, {node.Sum(before, -0.5 - kMargin)}), 0),
               counting({1, 1, 1, kCandidates}, 0));
  const OnnxVar place = node.Sum(start, node.Product(node.Sum(sample, 0.5), step));
  const OnnxVar distance = node.Function(
      F::kAbs, {node.Difference(node.Least(node.Greatest(place, 0), pixels - 1), pixel)});
  const OnnxVar near = node.Greatest(node.Difference(node.Scalar(1, dtype), distance), 0);
  const OnnxVar exists = node.Product(node.Function(F::kLess, {sample, samples}),
                                      node.Product(at_most(node.Scalar(-1, dtype), place),
                                                   at_most(place, node.Scalar(pixels, dtype))));
  const OnnxVar sum = node.Add<Reduce>({ReduceMode::kSum, 3}, {node.Product(near, exists)});
  return node.Reshaped(node.Quotient(sum, divisor), {boxes, bins, size});
}

// Sums the pixels of each box's image, times their weights by row [boxes, rows, H] and by column
// [boxes, columns, W].
OnnxVar MeansOfPixels(OnnxNode& node, OnnxVar x, OnnxVar images, OnnxVar by_row,
                      OnnxVar by_column) {
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(x);
  const int64_t channels = shape[1], height = shape[2], width = shape[3];
  const int64_t boxes = node.shape(by_row)[0], rows = node.shape(by_row)[1],
                columns = node.shape(by_column)[1];
  MatrixMulParam transposed;
  transposed.transposeB = true;
  OnnxVar along_rows;  // [boxes, H, C, columns]
  if (shape[0] == 1) {
    const OnnxVar product =
        node.Add<MatrixMul>(transposed, {node.Reshaped(x, {channels * height, width}),
                                         node.Reshaped(by_column, {boxes * columns, width})});
    along_rows =
        node.Permuted(node.Reshaped(product, {channels, height, boxes, columns}), {2, 1, 0, 3});
  } else {
    const OnnxVar of =
        node.Reshaped(node.Add<Gather>({0}, {x, images}), {boxes, channels * height, width});
    const OnnxVar product = node.Add<MatrixMul>(transposed, {of, by_column});
    along_rows =
        node.Permuted(node.Reshaped(product, {boxes, channels, height, columns}), {0, 2, 1, 3});
  }
  const OnnxVar means = node.Add<MatrixMul>(
      {}, {by_row, node.Reshaped(along_rows, {boxes, height, channels * columns})});
  return node.Permuted(node.Reshaped(means, {boxes, rows, channels, columns}), {0, 2, 1, 3});
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
  if (samples < 1 && greatest) {
    return node.Unsupported("mode 'max' with as many samples as boxes are large");
  }
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
  if (samples < 1) {
    return MeansOfPixels(
        node, x, images,
        WeightsInMeans(node, corners[1], corners[3], rows, shape[2], scale, half_pixel),
        WeightsInMeans(node, corners[0], corners[2], columns, shape[3], scale, half_pixel));
  }
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
  const OnnxVar pooled = node.Add<PoolingForward>(pool, {samples_of_boxes});
  if (!one_image) return pooled;
  return node.Permuted(node.Reshaped(pooled, {shape[1], boxes, rows, columns}), {1, 0, 2, 3});
}

// Returns x rounded to whole numbers, halves away from 0.
OnnxVar Rounded(OnnxNode& node, OnnxVar x) {
  return node.Product(node.Function(F::kSign, {x}),
                      node.Function(F::kFloor, {node.Sum(node.Function(F::kAbs, {x}), 0.5)}));
}

// The pixels of an axis that each bin covers: their maximum is the larger one of two of the maxima
// that MaximaOfPowers returns.
struct BoxRanges {
  OnnxVar first, second;  // indices of these two, [boxes, bins]
  OnnxVar filled;         // 1, or 0 if there are no pixels
};

int PowersWithin(int64_t size) {
  int powers = 1;
  while ((int64_t{1} << powers) <= size) ++powers;
  return powers;
}

BoxRanges RangesOfBoxes(OnnxNode& node, OnnxVar begin, OnnxVar end, int64_t bins, int64_t size,
                        double scale) {
  const DType dtype = node.dtype(begin);
  std::optional<HostTensor> numbers = node.NewTensor(dtype, {1, bins});
  if (!numbers) return {kNoOnnxVar, kNoOnnxVar, kNoOnnxVar};
  for (int64_t i = 0; i < bins; ++i) numbers->Set(i, static_cast<double>(i));
  const OnnxVar number = node.Constant(*std::move(numbers));
  const auto pixels = static_cast<double>(size);
  const OnnxVar from = Rounded(node, node.Product(begin, scale));
  const OnnxVar length =
      node.Greatest(node.Sum(node.Difference(Rounded(node, node.Product(end, scale)), from), 1), 1);
  const OnnxVar bin = node.Quotient(length, node.Scalar(static_cast<double>(bins), dtype));
  const auto limited = [&](OnnxVar pixel) {
    return node.Least(node.Greatest(node.Sum(pixel, from), 0), pixels);
  };
  const OnnxVar low = limited(node.Function(F::kFloor, {node.Product(bin, number)}));
  const OnnxVar high = limited(node.Function(F::kCeil, {node.Product(bin, node.Sum(number, 1))}));
  const OnnxVar count = node.Difference(high, low);
  const OnnxVar filled = node.Function(F::kLess, {node.Scalar(0, dtype), count});
  // The largest power of 2 that is at most the count, and its exponent.
  OnnxVar exponent = node.Scalar(0, dtype), power = node.Scalar(1, dtype);
  for (int k = 1; k < PowersWithin(size); ++k) {
    const auto next = static_cast<double>(int64_t{1} << k);
    const OnnxVar reached = node.Function(F::kLessOrEqual, {node.Scalar(next, dtype), count});
    exponent = node.Sum(exponent, reached);
    power = node.Sum(power, node.Product(reached, next / 2));
  }
  const OnnxVar row = node.Product(exponent, pixels);
  const auto index = [&](OnnxVar pixel) { return node.Product(node.Sum(row, pixel), filled); };
  return {index(low), index(node.Difference(high, power)), filled};
}

// Concatenates, along axis 1, the maxima of 1, 2, 4, ... pixels from each pixel on.
OnnxVar MaximaOfPowers(OnnxNode& node, OnnxVar x) {
  const int64_t size = node.shape(x)[1];
  std::vector<OnnxVar> maxima = {x};
  for (int k = 1; node.ok() && k < PowersWithin(size); ++k) {
    const int64_t half = int64_t{1} << (k - 1);
    maxima.push_back(node.Function(
        F::kMax, {maxima.back(), node.Padded(maxima.back(), 1, -half, half, -kInfinity)}));
  }
  return maxima.size() == 1 ? x : node.Add<Concat>({1}, maxima);
}

// Returns the maximum of each range: from maxima [groups, pixels, ...] and ranges [boxes, bins] of
// the group of each box, [boxes * bins, ...].
OnnxVar MaximaOfRanges(OnnxNode& node, OnnxVar x, const BoxRanges& ranges, OnnxVar groups) {
  const OnnxVar maxima = MaximaOfPowers(node, x);
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(maxima);
  const OnnxVar rows =
      node.Reshaped(maxima, {shape[0] * shape[1], shape.num_elements() / (shape[0] * shape[1])});
  const OnnxVar offset = node.Product(groups, node.Integer(shape[1]));
  const auto gathered = [&](OnnxVar index) {
    const OnnxVar at = node.Sum(node.Converted(index, DType::kInt64), offset);
    return node.Add<Gather>({0}, {rows, node.Reshaped(at, {node.shape(at).num_elements()})});
  };
  return node.Function(F::kMax, {gathered(ranges.first), gathered(ranges.second)});
}

// Takes the maximum of the pixels in each bin of each box, or 0 if there are none. Rows [image, x1,
// y1, x2, y2] describe the boxes. Any range is the union of two ranges whose length is a power
// of 2.
OnnxVars MaxRoiPool(OnnxNode& node) {
  const OnnxVar x = node.input(0), rois = node.input(1);
  const std::vector<int64_t> pooled = node.Ints("pooled_shape");
  const double scale = node.Float("spatial_scale", 1);
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(x);
  if (shape.rank() != 4 || shape.num_elements() == 0 || node.rank(rois) != 2 ||
      node.shape(rois)[1] != 5 || pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 ||
      pooled[0] > 4096 || pooled[1] > 4096) {
    return node.Invalid(absl::StrCat("an image ", shape.ToString(), ", boxes ",
                                     node.shape(rois).ToString(), " and an output of ",
                                     pooled.size(), " axes"));
  }
  const int64_t channels = shape[1], width = shape[3], boxes = node.shape(rois)[0];
  const int64_t rows = pooled[0], columns = pooled[1];
  if (boxes == 0) {  // else rows of no maxima would be divided by their number
    std::optional<HostTensor> none =
        node.NewTensor(node.dtype(x), {boxes, channels, rows, columns});
    return none ? node.Constant(*std::move(none)) : kNoOnnxVar;
  }
  const OnnxVars parts =
      node.AddOperator(std::make_shared<const Split>(SplitParam{1, {1, 1, 1, 1, 1}}), {rois});
  std::optional<HostTensor> numbers = node.NewTensor(DType::kInt64, {boxes, 1});
  if (!numbers || !node.ok()) return kNoOnnxVar;
  for (int64_t i = 0; i < boxes; ++i) numbers->SetInteger(i, i);
  const BoxRanges down = RangesOfBoxes(node, parts[2], parts[4], rows, shape[2], scale);
  const BoxRanges across = RangesOfBoxes(node, parts[1], parts[3], columns, width, scale);
  const OnnxVar of_rows = MaximaOfRanges(node, node.Permuted(x, {0, 2, 1, 3}), down,
                                         node.Converted(parts[0], DType::kInt64));
  const OnnxVar turned =
      node.Permuted(node.Reshaped(of_rows, {boxes, rows, channels, width}), {0, 3, 1, 2});
  const OnnxVar of_boxes = MaximaOfRanges(node, turned, across, node.Constant(*std::move(numbers)));
  const OnnxVar y =
      node.Permuted(node.Reshaped(of_boxes, {boxes, columns, rows, channels}), {0, 3, 2, 1});
  const OnnxVar filled = node.Product(node.Reshaped(down.filled, {boxes, 1, rows, 1}),
                                      node.Reshaped(across.filled, {boxes, 1, 1, columns}));
  return node.Function(F::kSelect, {filled, y, node.Scalar(0, node.dtype(y))});
}

constexpr OnnxRow kBoxRows[] = {OnnxRow("MaxRoiPool", 2, 2, MaxRoiPool),
                                OnnxRow("RoiAlign", 3, 3, RoiAlign)
                                    .Counted(CountedBoxes)
                                    .Limits("mode max with a given number of samples")};

}  // namespace

absl::Span<const OnnxRow> OnnxBoxRows() { return kBoxRows; }

}  // namespace ashlar
